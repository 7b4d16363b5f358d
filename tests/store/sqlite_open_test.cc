// Opening a file: new, old, newer, damaged, somebody else's, locked, read-only.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/packed.h"
#include "store/plan_shelf.h"
#include "store/sqlite/check.h"
#include "store/sqlite/file.h"
#include "tests/store/bed.h"
#include "tests/store/rows.h"
#include "tests/store/shell.h"

namespace vortex::store::testing {
namespace {

Result<std::unique_ptr<Store>> open_at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  return open_sqlite(options);
}

std::string newest_layout() { return fmt::format("{}\n", sqlite::known_version()); }

Fault fault_at(const std::string& path) {
  const auto opened = open_at(path);
  EXPECT_FALSE(opened);
  return opened ? Fault::kUnknown : opened.error().fault;
}

TEST(SqliteOpen, EmptyFileIsMigratedToTheNewestLayout) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  std::ofstream(path).close();
  ASSERT_TRUE(open_at(path));
  EXPECT_EQ(sqlite3_shell(path, "PRAGMA user_version;"), newest_layout());
  EXPECT_EQ(sqlite3_shell(path, "PRAGMA journal_mode;"), "wal\n");
  ASSERT_TRUE(open_at(path)) << "and opened as it is the next time";
}

TEST(SqliteOpen, ADatabaseKeepsTheKeyOfAttemptsThatNoOtherHas) {
  const TempFolder folder;
  const auto key_of_file = [&](const char* name) {
    const auto store = open_at(folder.file(name));
    if (!store) return std::string();
    const auto reader = (*store)->reader();
    return reader ? (*reader)->attempt_key().value_or("") : std::string();
  };
  const std::string key = key_of_file("a.db");
  EXPECT_EQ(key.size(), 64U);
  EXPECT_EQ(key_of_file("a.db"), key);
  EXPECT_NE(key_of_file("b.db"), key);
}

TEST(SqliteOpen, FileOfTheFirstLayoutIsBroughtToTheNewestWithAllThatIsInIt) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  sqlite3_shell(path, fmt::format("{} PRAGMA application_id = {}; PRAGMA user_version = 1;"
                                  "INSERT INTO queues VALUES ('slow', 1);"
                                  "INSERT INTO task_data VALUES (16777216, 1, 'saved', NULL);",
                                  sqlite::migration(1), 0x56525458));
  const auto store = open_at(path);
  ASSERT_TRUE(store);
  EXPECT_EQ(sqlite3_shell(path, "PRAGMA user_version;"), newest_layout());
  const auto reader = (*store)->reader();
  ASSERT_TRUE(reader);
  EXPECT_TRUE((*reader)->webhooks().has_value());
  ASSERT_EQ((*reader)->queues()->size(), 1U);
  EXPECT_EQ((*reader)->queues()->front().name, "slow");
  const auto data = (*reader)->task_data({.run = {1}, .index = 0});
  ASSERT_TRUE(data && *data);
  EXPECT_EQ((*data)->checkpoint, "saved");
  EXPECT_FALSE((*data)->uploaded);
}

// What an earlier version called `attempts` in the stored definition is `max` today.
TEST(SqliteOpen, LiveRunsOfAnEarlierVersionGoOnWithTheirRetries) {
  DagSpec spec;
  spec.name = "old";
  NodeSpec& node = spec.nodes.emplace_back();
  node.name = "fetch";
  node.command.argv = {"true"};
  node.retry.emplace().max_retries = 5;
  const auto plan = compile(spec, {});
  ASSERT_TRUE(plan);
  Bed bed(Backend::kSqlite);
  Commit made;
  made.term = bed.term();
  made.now = kT0;
  add_run(made.rows, run_row(1, *plan));
  ASSERT_TRUE(bed.writer().commit(made));
  bed.close();

  std::string json = plan_json(**plan);
  const std::size_t at = json.find("\"max\":5");
  ASSERT_NE(at, std::string::npos) << json;
  json.replace(at, 5, "\"attempts\"");
  std::string hex;
  Packer packer;
  for (const char byte : packer.pack(json))
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  EXPECT_EQ(sqlite3_shell(bed.path(), fmt::format("UPDATE dag_specs SET spec = x'{}';"
                                                  "SELECT count(*) FROM dag_specs;",
                                                  hex)),
            "1\n");

  bed.reopen();
  const auto image = bed.writer().image();
  ASSERT_TRUE(image) << image.error().detail;
  ASSERT_EQ(image->runs.size(), 1U);
  EXPECT_EQ(image->runs[0].run.plan->node_spec(0).retry->max_retries, 5);
}

TEST(SqliteOpen, NewerLayoutIsRefusedAndLeftAlone) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  ASSERT_TRUE(open_at(path));
  sqlite3_shell(path, "PRAGMA user_version = 999; CREATE TABLE of_the_future (x);");
  EXPECT_EQ(fault_at(path), Fault::kNewer);
  EXPECT_EQ(sqlite3_shell(path, "PRAGMA user_version;"), "999\n");
}

TEST(SqliteOpen, DatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  sqlite3_shell(path, "CREATE TABLE bookmarks (url);");
  EXPECT_EQ(fault_at(path), Fault::kDamaged);
  EXPECT_EQ(sqlite3_shell(path, "SELECT name FROM sqlite_schema;"), "bookmarks\n");
  EXPECT_EQ(sqlite3_shell(path, "PRAGMA journal_mode;"), "delete\n");
}

TEST(SqliteOpen, GarbageIsDamaged) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  std::ofstream(path) << std::string(8'192, 'x');
  EXPECT_EQ(fault_at(path), Fault::kDamaged);
}

TEST(SqliteOpen, MissingFolderIsSaidSo) {
  const TempFolder folder;
  const auto opened = open_at(folder.file("nowhere/v.db"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().fault, Fault::kUnavailable);
  EXPECT_NE(opened.error().detail.find("directory does not exist"), std::string::npos);
}

TEST(SqliteOpen, SecondControllerInOneProcessIsLockedOutAlsoUnderAnotherName) {
  const TempFolder folder;
  const auto first = open_at(folder.file("v.db"));
  ASSERT_TRUE(first);
  EXPECT_EQ(fault_at(folder.file("v.db")), Fault::kLocked);
  ASSERT_EQ(::symlink(folder.file("v.db").c_str(), folder.file("link.db").c_str()), 0);
  EXPECT_EQ(fault_at(folder.file("link.db")), Fault::kLocked);
}

// Runs `body` in a child process; it says one line on the pipe and stays until it is killed.
struct Child {
  template <class Body>
  explicit Child(Body body) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      const std::string word = body();
      (void)!::write(ends[1], word.data(), word.size());
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char buffer[256];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
      said.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void kill() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid = 0;
  std::string said;
};

TEST(SqliteOpen, LockNamesItsProcessAndEndsWithIt) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  std::unique_ptr<Store> held;
  Child child([&] {
    auto opened = open_at(path);
    if (!opened) return opened.error().detail;
    held = *std::move(opened);
    return std::string("open");
  });
  ASSERT_EQ(child.said, "open");
  const auto refused = open_at(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kLocked);
  EXPECT_NE(refused.error().detail.find(fmt::format("process {}", child.pid)), std::string::npos)
      << refused.error().detail;
  child.kill();
  EXPECT_TRUE(open_at(path));
}

TEST(SqliteOpen, FileThatCanOnlyBeReadIsSaidSo) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  ASSERT_TRUE(open_at(path));
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.file("").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(folder.file("v.db.lock").c_str(), 0666), 0);
  Child child([&]() -> std::string {
    // Modes do not bind the superuser; any other user will do.
    if (::geteuid() == 0 && ::setuid(65'534) != 0) return "no other user";
    const auto opened = open_at(path);
    if (opened) return "opened";
    return opened.error().fault == Fault::kUnavailable ? "unavailable" : opened.error().detail;
  });
  EXPECT_EQ(child.said, "unavailable");
}

// Opens it, and collects what it was told about the files.
std::string notices_at(const std::string& path, std::unique_ptr<Store>* keep = nullptr) {
  std::string told;
  SqliteOptions options;
  options.path = path;
  options.notice = [&told](const std::string& notice) { told += notice + "\n"; };
  auto opened = open_sqlite(options);
  EXPECT_TRUE(opened) << opened.error().detail;
  if (keep != nullptr && opened) *keep = *std::move(opened);
  return told;
}

// A leader that makes some commits and is killed; its write-ahead log stays.
void commit_and_die(const std::string& path, int commits) {
  std::unique_ptr<Store> held;
  Child child([&]() -> std::string {
    notices_at(path, &held);
    const auto won = held->writer().acquire({ControllerId("c"), {}}, seconds(10));
    if (!won) return won.error().detail;
    Commit commit;
    commit.term = std::get<Won>(*won).term;
    commit.now = std::get<Won>(*won).database_now;
    for (int i = 0; i < commits; ++i) {
      commit.now = commit.now + micros(1);
      if (const auto done = held->writer().commit(commit); !done) return done.error().detail;
    }
    return "committed";
  });
  EXPECT_EQ(child.said, "committed");
}

TEST(SqliteMark, NothingIsSaidAfterAKillOrACleanStop) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  EXPECT_EQ(notices_at(path), "");
  for (int i = 0; i < 3; ++i) {
    commit_and_die(path, 5);
    EXPECT_EQ(notices_at(path), "") << "killed";
    EXPECT_EQ(notices_at(path), "") << "stopped";
  }
}

TEST(SqliteMark, ADeletedLogIsSaidOnce) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  EXPECT_EQ(notices_at(path), "");
  commit_and_die(path, 5);
  ASSERT_EQ(::unlink((path + "-wal").c_str()), 0);
  EXPECT_NE(notices_at(path).find("has lost commits"), std::string::npos);
  EXPECT_EQ(notices_at(path), "");
}

TEST(SqliteMark, ACutLogIsSaid) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  EXPECT_EQ(notices_at(path), "");
  commit_and_die(path, 5);
  struct stat info{};
  ASSERT_EQ(::stat((path + "-wal").c_str(), &info), 0);
  ASSERT_EQ(::truncate((path + "-wal").c_str(), info.st_size - 100), 0);
  EXPECT_NE(notices_at(path).find("has lost commits"), std::string::npos);
}

TEST(SqliteMark, AnOlderCopyInItsPlaceIsSaidAndANewDatabaseToo) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  EXPECT_EQ(notices_at(path), "");
  commit_and_die(path, 1);
  EXPECT_EQ(notices_at(path), "");  // everything is in the file itself now
  std::filesystem::copy_file(path, folder.file("copy"));
  commit_and_die(path, 1);
  EXPECT_EQ(notices_at(path), "");
  std::filesystem::copy_file(folder.file("copy"), path,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(notices_at(path).find("has lost commits"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(notices_at(path).find("is new: the database that was there"), std::string::npos);
}

TEST(SqliteMark, ADamagedMarkIsNoAlarm) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  commit_and_die(path, 2);
  std::ofstream(path + ".mark") << "garbage that is long enough to be read as a mark";
  EXPECT_EQ(notices_at(path), "");
}

TEST(SqliteOpen, ADatabaseWithTwoNamesIsRefused) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  ASSERT_TRUE(open_at(path));
  ASSERT_EQ(::link(path.c_str(), folder.file("other.db").c_str()), 0);
  for (const char* name : {"v.db", "other.db"}) {
    const auto refused = open_at(folder.file(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().fault, Fault::kUnavailable);
    EXPECT_NE(refused.error().detail.find("2 names (hard links)"), std::string::npos);
  }
  ASSERT_EQ(::unlink(folder.file("other.db").c_str()), 0);
  EXPECT_TRUE(open_at(path));
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

TEST(SqliteOpen, FilesAreTheirOwnersAlone) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  const mode_t before = ::umask(0);
  std::unique_ptr<Store> store;
  EXPECT_EQ(notices_at(path, &store), "");
  const auto backed = backup_sqlite(path, folder.file("backup.db"));
  ::umask(before);
  ASSERT_TRUE(backed) << backed.error().detail;
  for (const char* name : {"v.db", "v.db-wal", "v.db-shm", "v.db.lock", "v.db.mark", "backup.db"}) {
    EXPECT_EQ(mode_of(folder.file(name)), 0600U) << name;
  }
}

TEST(SqliteOpen, AFileThatIsOpenToEverybodyIsClosedAndThatIsSaid) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  ASSERT_TRUE(open_at(path));
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_NE(notices_at(path).find("its mode is now 0640"), std::string::npos);
  EXPECT_EQ(mode_of(path), 0640U);
  EXPECT_EQ(notices_at(path), "");
}

TEST(SqliteOpen, NoLinkIsFollowedForWhatLiesBesideIt) {
  const TempFolder folder;
  for (const char* name : {".lock", ".mark"}) {
    const std::string path = folder.file("v.db");
    std::filesystem::remove(path + name);
    ASSERT_EQ(::symlink(folder.file("elsewhere").c_str(), (path + name).c_str()), 0);
    EXPECT_EQ(fault_at(path), Fault::kUnavailable) << name;
    EXPECT_FALSE(std::filesystem::exists(folder.file("elsewhere")));
    std::filesystem::remove(path + name);
  }
}

}  // namespace
}  // namespace vortex::store::testing
