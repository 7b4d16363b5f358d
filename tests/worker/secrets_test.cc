// Secrets of a task: what it finds, what it prints, and what is left of them.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/executing.h"
#include "worker/slot/slot_secrets.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kValue = "correct-horse+battery/staple";

SecretsPtr secrets_of(std::vector<std::pair<std::string, std::string>> variables,
                      std::vector<std::pair<std::string, std::string>> files = {}) {
  auto set = std::make_shared<SecretSet>();
  for (const auto& [name, value] : variables) {
    set->values.push_back({name, false, SecretText(std::string_view(value))});
  }
  for (const auto& [name, value] : files) {
    set->values.push_back({name, true, SecretText(std::string_view(value))});
  }
  return set;
}

// Folders of this user's workers that are left in memory.
std::size_t left_in_memory() {
  std::size_t files = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(secret_base(), ignored)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

TEST(Secrets, V16_ATaskFindsThemAndItsOutputDoesNotShowThem) {
  Executing on;
  const SecretsPtr set = secrets_of({{"PASSWORD", kValue}});
  const Told& told = on.run(
      shell(
          "test \"$PASSWORD\" = 'correct-horse+battery/staple' && echo \"pw: $PASSWORD.\" && "
          "printf %s \"$PASSWORD\" | base64 && echo correct-horse && printf 'correct-horse+batt'"),
      [&](Launch& launch) { launch.secrets = set; });
  EXPECT_EQ(summary(told), "completed ");
  EXPECT_EQ(on.text(on.last), "pw: ***.\n***\ncorrect-horse\ncorrect-horse+batt");
  EXPECT_TRUE(set->values.empty()) << "wiped once it was started";
}

TEST(Secrets, V16_FilesAreInMemoryClosedToOthersAndGoWithTheAttempt) {
  Executing on;
  const std::string key = "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n-----END KEY-----\n";
  const Told& told =
      on.run(shell("stat -c '%a %n' $VORTEX_SECRETS/tls.key | sed 's/ .*//'; "
                   "stat -c %a $VORTEX_SECRETS; stat -f -c %T $VORTEX_SECRETS; "
                   "sha256sum < $VORTEX_SECRETS/tls.key; cat $VORTEX_SECRETS/tls.key"),
             [&](Launch& launch) { launch.secrets = secrets_of({}, {{"tls.key", key}}); });
  EXPECT_EQ(summary(told), "completed ");
  const std::string& text = on.text(on.last);
  EXPECT_THAT(text, HasSubstr("400\n700\ntmpfs\n"));
  EXPECT_THAT(text, Not(HasSubstr("abcdefgh")));
  EXPECT_THAT(text, Not(HasSubstr("ijklmnop")));
  EXPECT_EQ(left_in_memory(), 0U);
}

TEST(Secrets, V16_WhatATaskHidesInTheFolderGoesToo) {
  Executing on;
  on.run(shell("mkdir $VORTEX_SECRETS/more && echo x > $VORTEX_SECRETS/more/x"),
         [&](Launch& launch) { launch.secrets = secrets_of({}, {{"a", kValue}}); });
  EXPECT_TRUE(on.wait([] { return left_in_memory() == 0; }));
}

TEST(Secrets, V16_NothingIsLeftWhenATaskIsKilledOrCannotStart) {
  Executing on;
  const auto with_file = [](Launch& launch) {
    launch.secrets = secrets_of({{"A", kValue}}, {{"a", kValue}});
  };
  const Attempt attempt = on.start({"sleep", "1000"}, with_file);
  EXPECT_TRUE(on.wait([&] { return on.told[attempt].started; }));
  EXPECT_EQ(left_in_memory(), 1U);
  on.executor->kill(attempt);
  on.wait_over(attempt);
  EXPECT_EQ(left_in_memory(), 0U);
  EXPECT_THAT(summary(on.run({"no-such-program"}, with_file)), HasSubstr("could not start"));
  EXPECT_EQ(left_in_memory(), 0U);
}

TEST(Secrets, V16_ProgressIsMaskedAndOutputsWithAValueFailTheAttempt) {
  Executing on;
  const auto with = [](Launch& launch) { launch.secrets = secrets_of({{"PW", kValue}}); };
  const Told& told = on.run(shell("echo \"50 using $PW\" > $VORTEX_PROGRESS"), with);
  ASSERT_FALSE(told.progress.empty());
  EXPECT_EQ(told.progress.back().step, "using ***");
  const Told& leaks = on.run(shell("echo \"{\\\"pw\\\": \\\"$PW\\\"}\" > $VORTEX_OUTPUTS"), with);
  EXPECT_THAT(summary(leaks), HasSubstr("failed: its outputs contain the value of a secret"));
  const Told& fine = on.run(shell("echo '{\"pw\": \"ok\"}' > $VORTEX_OUTPUTS"), with);
  EXPECT_EQ(summary(fine), "completed {\"pw\":\"ok\"}");
}

TEST(Secrets, V16_ACheckpointWithAValueIsNotSaved) {
  Executing on;
  const Told& told = on.run(shell("echo \"$PW\" > $VORTEX_CHECKPOINT"),
                            [](Launch& launch) { launch.secrets = secrets_of({{"PW", kValue}}); });
  EXPECT_TRUE(told.checkpoints.empty());
  EXPECT_THAT(on.text(on.last), HasSubstr("it contains the value of a secret"));
}

}  // namespace
}  // namespace vortex::worker
