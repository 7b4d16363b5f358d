// Folders that nobody else may have prepared, and the removal of any tree.

#include "worker/own_folder.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/worker/executing.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uid_t kSomebody = 12345;

std::string fault_of(const std::string& path) {
  const auto opened = open_own_folder(path);
  return opened ? std::string() : opened.error();
}

unsigned mode_of(const std::string& path) {
  struct stat seen{};
  return ::stat(path.c_str(), &seen) == 0 ? seen.st_mode & 07777U : 0;
}

TEST(OwnFolder, IsMadeForThisUserAlone) {
  const TempFolder temp;
  const mode_t before = ::umask(0);
  EXPECT_EQ(fault_of(temp.path() + "/a/b/"), "");
  ::umask(before);
  EXPECT_EQ(mode_of(temp.path() + "/a"), 0700U);
  EXPECT_EQ(mode_of(temp.path() + "/a/b"), 0700U);
  EXPECT_EQ(fault_of(temp.path() + "/a/b"), "") << "the second time";
}

TEST(OwnFolder, IsRefusedAsALink) {
  const TempFolder temp;
  fs::create_directory(temp.path() + "/real");
  fs::create_directory_symlink(temp.path() + "/real", temp.path() + "/link");
  EXPECT_THAT(fault_of(temp.path() + "/link"), HasSubstr("is a symbolic link; remove it"));
  EXPECT_THAT(fault_of(temp.path() + "/link/"), HasSubstr("is a symbolic link"));
  EXPECT_EQ(fault_of(temp.path() + "/link/below"), "") << "a link of our own on the way";
}

TEST(OwnFolder, IsRefusedAsAFile) {
  const TempFolder temp;
  std::ofstream(temp.path() + "/file") << "x";
  EXPECT_THAT(fault_of(temp.path() + "/file"), HasSubstr("Not a directory"));
}

TEST(OwnFolder, IsRefusedWhenOthersCanWriteToIt) {
  const TempFolder temp;
  const std::string open = temp.path() + "/open";
  fs::create_directory(open);
  ::chmod(open.c_str(), 0770);
  EXPECT_THAT(fault_of(open), HasSubstr("mode 0770"));
  EXPECT_THAT(fault_of(open), HasSubstr("chmod 700 " + open));
  ::chmod(open.c_str(), 0755);
  EXPECT_EQ(fault_of(open), "");
}

TEST(OwnFolder, IsRefusedBelowAFolderThatEverybodyCanWriteTo) {
  const TempFolder temp;
  const std::string open = temp.path() + "/open";
  fs::create_directory(open);
  ::chmod(open.c_str(), 0777);
  EXPECT_THAT(fault_of(open + "/own"), HasSubstr("could replace " + open + "/own"));
  ::chmod(open.c_str(), 01777);
  EXPECT_EQ(fault_of(open + "/own"), "") << "as in /tmp";
}

TEST(OwnFolder, IsRefusedWhenSomebodyElseHasPreparedIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const TempFolder temp;
  const std::string theirs = temp.path() + "/theirs";
  fs::create_directories(theirs + "/deep");
  ASSERT_EQ(::chown(theirs.c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(fault_of(theirs), HasSubstr("belongs to user 12345, but vortex runs as root"));
  EXPECT_THAT(fault_of(theirs + "/deep"), HasSubstr("belongs to user 12345, who could replace"));
  fs::create_directory_symlink(temp.path(), temp.path() + "/link");
  ASSERT_EQ(::lchown((temp.path() + "/link").c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(fault_of(temp.path() + "/link/x"), HasSubstr("is a symbolic link of user 12345"));
}

TEST(OwnFile, OfOthersOrByALinkOrAPipeSaysNothing) {
  const TempFolder temp;
  const std::string file = temp.path() + "/file";
  std::ofstream(file) << "words";
  EXPECT_EQ(read_own_file(file), "words");
  fs::create_symlink(file, temp.path() + "/link");
  EXPECT_EQ(read_own_file(temp.path() + "/link"), "");
  EXPECT_FALSE(open_own_file(temp.path() + "/link", O_WRONLY));
  ASSERT_EQ(::mkfifo((temp.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_own_file(temp.path() + "/pipe"), "");
  EXPECT_FALSE(open_own_file(temp.path() + "/pipe", O_RDWR));
  ::chmod(file.c_str(), 0622);
  EXPECT_EQ(read_own_file(file), "");
  if (::geteuid() != 0) return;
  ::chmod(file.c_str(), 0600);
  ASSERT_EQ(::chown(file.c_str(), kSomebody, kSomebody), 0);
  EXPECT_EQ(read_own_file(file), "");
  EXPECT_FALSE(open_own_file(file, O_WRONLY));
}

TEST(RemoveTree, IsDoneWithFewDescriptorsHoweverDeepItIs) {
  const TempFolder temp;
  const Fd base(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto at = make_folder_in(base.get(), "deep");
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(at) << at.error();
    const Fd file(::openat(at->get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(make_folder_in(at->get(), ".vortex-removed-0")) << "a name that is used there";
    at = make_folder_in(at->get(), "d");
  }
  at = {};
  const int room = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(room);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = static_cast<rlim_t>(room) + 5, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto done = remove_tree(base.get(), "deep");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(done) << done.error();
  EXPECT_TRUE(fs::is_empty(temp.path()));
}

TEST(RemoveTree, StopsWhenItIsEnough) {
  const TempFolder temp;
  const Fd base(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  fs::create_directories(temp.path() + "/t/a");
  for (int i = 0; i < 100; ++i) std::ofstream(temp.path() + "/t/a/" + std::to_string(i)) << "x";
  int asked = 0;
  const auto stopped = remove_tree(base.get(), "t", [&] { return ++asked > 10; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error(), ECANCELED);
  EXPECT_LT(asked, 100);
  EXPECT_TRUE(remove_tree(base.get(), "t"));
  EXPECT_TRUE(remove_tree(base.get(), "t")) << "it is gone";
}

TEST(WorkFolders, AreRemovedOnlyWhenNobodyHoldsThem) {
  const TempFolder temp;
  const std::string base = temp.path() + "/work";
  WorkFolder held(base, work_folder_name("w-1", new_life()));
  ASSERT_TRUE(held.ensure());
  const std::string free = base + "/" + work_folder_name("w-2", new_life());
  fs::create_directories(free + "/slot-0/tmp");
  fs::create_directories(base + "/of.others");
  EXPECT_EQ(remove_all_work(base, {}), 1U);
  EXPECT_FALSE(fs::exists(free));
  EXPECT_TRUE(fs::exists(held.path()));
  EXPECT_TRUE(fs::exists(base + "/of.others")) << "not a name that we give";
  EXPECT_FALSE(remove_work(held.path(), {}));
  held = WorkFolder();
  EXPECT_EQ(remove_all_work(base, {}), 1U);
}

}  // namespace
}  // namespace vortex::worker
