#include "vault/key_source.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace vortex::vault {
namespace {

class KeySourceTest : public testing::Test {
 protected:
  KeySourceTest() {
    std::string pattern = testing::TempDir() + "/vxkeysXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~KeySourceTest() override {
    std::filesystem::remove_all(folder_);
    ::unsetenv(kKeyVariable);
    ::unsetenv("CREDENTIALS_DIRECTORY");
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string made(const std::string& name) const {
    const auto key = make_key_file(path(name));
    EXPECT_TRUE(key) << key.error();
    return path(name);
  }
  static std::string text_in(const std::string& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
  }

  SecretsSettings settings{.master_key_file = {},
                           .previous_master_key_file = {},
                           .master_key_command = {},
                           .master_key_command_timeout = seconds(10)};

 private:
  std::string folder_;
};

TEST_F(KeySourceTest, V16_AMadeKeyFileIsClosedToOthersAndNeverOverwritten) {
  const std::string file = made("key");
  struct stat about{};
  ASSERT_EQ(::stat(file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0600U);
  const std::string before = text_in(file);
  const auto again = make_key_file(file);
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().contains("already exists")) << again.error();
  EXPECT_EQ(text_in(file), before);
}

TEST_F(KeySourceTest, V16_AFileThatOthersCanReadIsRefusedWithTheFix) {
  settings.master_key_file = made("key");
  ASSERT_TRUE(KeySource(settings).read());
  ::chmod(settings.master_key_file.c_str(), 0640);
  const auto keys = KeySource(settings).read();
  ASSERT_FALSE(keys);
  EXPECT_TRUE(keys.error().contains("chmod 600")) << keys.error();
}

TEST_F(KeySourceTest, V16_WhatIsNoKeyIsRefusedWithoutShowingIt) {
  settings.master_key_file = path("bad");
  std::ofstream(settings.master_key_file) << "hunter2-is-no-key\n";
  ::chmod(settings.master_key_file.c_str(), 0600);
  const auto keys = KeySource(settings).read();
  ASSERT_FALSE(keys);
  EXPECT_TRUE(keys.error().contains("does not contain a master key"));
  EXPECT_FALSE(keys.error().contains("hunter2"));
  settings.master_key_file = path("none");
  EXPECT_TRUE(KeySource(settings).read().error().contains("No such file"));
}

TEST_F(KeySourceTest, V16_WithoutAnySourceThereIsNoKey) {
  const auto keys = KeySource(settings).read();
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->current, nullptr);
}

TEST_F(KeySourceTest, V16_TheVariableIsTakenOutOfTheEnvironment) {
  const std::string text = text_in(made("key"));
  ::setenv(kKeyVariable, text.c_str(), 1);
  KeySource source(settings);
  const auto first = source.read();
  ASSERT_TRUE(first && first->current);
  EXPECT_EQ(std::getenv(kKeyVariable), nullptr);
  const auto again = source.read();
  ASSERT_TRUE(again && again->current);
  EXPECT_EQ(again->current->id(), first->current->id());
}

TEST_F(KeySourceTest, V16_ASystemdCredentialIsFound) {
  made(kCredentialName);
  ::setenv("CREDENTIALS_DIRECTORY", path("").c_str(), 1);
  const auto keys = KeySource(settings).read();
  ASSERT_TRUE(keys);
  EXPECT_NE(keys->current, nullptr);
}

TEST_F(KeySourceTest, V16_ACommandPrintsTheKeyWithinItsTime) {
  const std::string file = made("key");
  settings.master_key_command = "cat " + file;
  const auto keys = KeySource(settings).read();
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(keys->current->id(), (*read_key_file(file))->id());
  settings.master_key_command = "echo oops >&2; exit 3";
  EXPECT_TRUE(KeySource(settings).read().error().contains("exit code 3"));
  settings.master_key_command = "yes";
  EXPECT_TRUE(KeySource(settings).read().error().contains("more than"));
  settings.master_key_command = "sleep 600";
  settings.master_key_command_timeout = millis(50);
  EXPECT_TRUE(KeySource(settings).read().error().contains("did not print the key"));
}

TEST_F(KeySourceTest, V16_APreviousKeyNeedsACurrentOne) {
  settings.previous_master_key_file = made("old");
  EXPECT_FALSE(KeySource(settings).read());
  settings.master_key_file = made("new");
  const auto keys = KeySource(settings).read();
  ASSERT_TRUE(keys);
  EXPECT_NE(keys->current->id(), keys->previous->id());
}

}  // namespace
}  // namespace vortex::vault
