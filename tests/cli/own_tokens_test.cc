// The tokens of a controller for its own user: made once, kept from others, found by port.
#include "cli/local/own_tokens.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/local/folder.h"

namespace vortex::cli::local {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A port on which this test listens.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
  }
  ~Listening() { close(); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  std::uint16_t port = 0;

 private:
  int fd_;
};

mode_t mode_of(const std::string& path) {
  struct stat seen{};
  return ::lstat(path.c_str(), &seen) == 0 ? seen.st_mode & 07777U : 0;
}

class OwnTokensTest : public testing::Test {
 protected:
  TempFolder folder_;
  std::string database_ = folder_.path() + "/vortex.db";
  std::string admin_ = token_path(database_, TokenFor::kCommands);
};

TEST_F(OwnTokensTest, AreMadeOnceAndForTheirUserAlone) {
  const auto first = own_tokens(database_);
  ASSERT_TRUE(first) << first.error();
  EXPECT_THAT(first->admin, StartsWith("vx_"));
  EXPECT_NE(first->admin, first->worker);
  EXPECT_EQ(mode_of(admin_), 0600U);
  EXPECT_EQ(mode_of(token_path(database_, TokenFor::kWorkers)), 0600U);
  const auto second = own_tokens(database_);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->admin, first->admin);
  EXPECT_EQ(second->worker, first->worker);
}

TEST_F(OwnTokensTest, AnEmptyFileOfACrashIsReplaced) {
  std::ofstream(admin_).close();
  ::chmod(admin_.c_str(), 0600);
  const auto made = own_tokens(database_);
  ASSERT_TRUE(made) << made.error();
  EXPECT_THAT(made->admin, StartsWith("vx_"));
}

TEST_F(OwnTokensTest, WhatOthersCouldReadIsRefused) {
  ASSERT_TRUE(own_tokens(database_));
  ::chmod(admin_.c_str(), 0640);
  EXPECT_THAT(own_tokens(database_).error(), HasSubstr("other users can read"));
}

TEST_F(OwnTokensTest, LinksAreNotFollowed) {
  const std::string elsewhere = folder_.path() + "/elsewhere";
  ASSERT_EQ(::symlink(elsewhere.c_str(), admin_.c_str()), 0);
  EXPECT_THAT(own_tokens(database_).error(), HasSubstr("symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST_F(OwnTokensTest, AHardLinkIsRefused) {
  ASSERT_TRUE(own_tokens(database_));
  ASSERT_EQ(::link(admin_.c_str(), (admin_ + ".copy").c_str()), 0);
  EXPECT_THAT(own_tokens(database_).error(), HasSubstr("not a file of this user alone"));
}

TEST_F(OwnTokensTest, AreFoundByThePortOnWhichWeListen) {
  Listening here;
  const auto made = own_tokens(database_);
  {
    const auto published = PublishedTokens::publish(here.port, *made);
    ASSERT_TRUE(published) << published.error();
    EXPECT_EQ(find_token(here.port, TokenFor::kCommands), made->admin);
    EXPECT_EQ(find_token(here.port, TokenFor::kWorkers), made->worker);
    EXPECT_EQ(find_token(static_cast<std::uint16_t>(here.port + 1), TokenFor::kCommands), "");
    here.close();
    EXPECT_EQ(find_token(here.port, TokenFor::kCommands), "") << "nobody listens there";
  }
  const Listening again;
  EXPECT_EQ(find_token(here.port, TokenFor::kCommands), "") << "they go with the controller";
}

TEST_F(OwnTokensTest, ANewControllerOnAPortReplacesWhatAKilledOneLeft) {
  const Listening here;
  const auto old = PublishedTokens::publish(here.port, {"vx_old", "vx_oldworker"});
  ASSERT_TRUE(old);
  {
    const auto fresh = PublishedTokens::publish(here.port, {"vx_new", "vx_newworker"});
    ASSERT_TRUE(fresh);
    EXPECT_EQ(find_token(here.port, TokenFor::kCommands), "vx_new");
  }
  EXPECT_EQ(find_token(here.port, TokenFor::kCommands), "");
}

}  // namespace
}  // namespace vortex::cli::local
