#include "store/sqlite/check.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "store/sql/check.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/file.h"
#include "store/sqlite/sql.gen.h"
#include "store/sqlite/statement.h"

namespace vortex::store {

namespace sqlite {
namespace {

struct Repair {
  std::string_view sql;
  std::string_view what;  // the number of rows follows
};
constexpr Repair kRepairs[] = {
    {sql::kRepairTaskStates, "tasks in an unknown state"},
    {sql::kRepairTaskLevels, "tasks with a missing or wrong level"},
    {sql::kRepairHeld, "tasks on workers that are gone, queued again"},
    {sql::kRepairEndedRuns, "runs marked ended with open tasks, reopened"},
    {sql::kRepairRunStates, "runs in an unknown state"},
    {sql::kRepairLevelsPassed, "runs with passed levels that have open tasks"},
    {sql::kRepairRunCounts, "runs with wrong counts of tasks"},
    {sql::kRepairLostTasks, "runs without a row, deleted with their tasks"},
    {sql::kRepairDoomed, "runs both deleted and kept; they are kept"},
    {sql::kRepairMissingCounters, "missing row of counters"},
    {sql::kRepairCounters, "wrong totals by state"},
    {sql::kRepairNextNumbers, "next numbers that were already in use"},
    {sql::kRepairUses, "definitions with a wrong number of runs"},
};

std::string_view repair_for(std::string_view table) {
  if (table == "workers") return sql::kRepairWorker;
  if (table == "partition_leases") return sql::kRepairLease;
  if (table == "machines") return sql::kRepairMachine;
  return {};
}

// Rows that cannot be read and that come back by themselves.
Result<void> repair_rows(Connection& db, std::vector<std::string>& did) {
  Session session(db);
  const auto damaged = store::sql::find_unreadable(session);
  if (!damaged) return std::unexpected(damaged.error());
  for (const store::sql::UnreadableRow& row : *damaged) {
    const std::string_view sql = repair_for(row.table);
    if (sql.empty()) continue;
    Statement statement(db, sql);
    statement.start().text(row.id);
    if (!statement.run()) return std::unexpected(db.error("repairing the database"));
    did.push_back(fmt::format("reset or removed {}", row.text));
  }
  return {};
}

Result<void> repair_all(Connection& db, std::vector<std::string>& did) {
  if (auto done = db.exec(sql::kBegin); !done) return done;
  if (auto done = repair_rows(db, did); !done) return done;
  for (const Repair& repair : kRepairs) {
    Statement statement(db, repair.sql);
    statement.start();
    if (!statement.run()) return std::unexpected(db.error("repairing the database"));
    if (statement.changes() > 0)
      did.push_back(fmt::format("{}: {}", repair.what, statement.changes()));
  }
  return db.exec(sql::kCommit);
}

Result<void> may_repair(Connection& db) {
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  if (*version != known_version()) {
    return std::unexpected(
        Error{Fault::kBadRequest, "the file has an older layout: start a controller on it first"});
  }
  std::vector<std::string> pages;
  Session session(db);
  if (auto done = store::sql::collect(session, "check_integrity", pages); !done) return done;
  if (pages.empty()) return {};
  return std::unexpected(
      Error{Fault::kBadRequest, "the pages of the file are damaged (" + pages.front() +
                                    "): restore a backup, or use `.recover` in the sqlite3 shell"});
}

}  // namespace
}  // namespace sqlite

Result<CheckReport> check_sqlite(const std::string& path) {
  using namespace sqlite;
  auto db = Connection::open(
      {.path = path, .use = Use::kRead, .cache_bytes = std::uint64_t{64} << 20, .vfs = {}});
  if (!db) return std::unexpected(db.error());
  const auto version = version_of(**db);
  if (!version) return std::unexpected(version.error());
  CheckReport report;
  report.version = *version;
  report.known_version = known_version();
  Session session(**db);
  if (auto done = store::sql::collect(session, "check_integrity", report.problems); !done) {
    return std::unexpected(done.error());
  }
  if (report.version < report.known_version) {
    report.problems.push_back(
        fmt::format("the file has layout {}, this version needs {}: migrate it", report.version,
                    report.known_version));
    return report;
  }
  if (auto done = store::sql::check(session, report); !done) return std::unexpected(done.error());
  return report;
}

Result<std::vector<std::string>> repair_sqlite(const std::string& given) {
  using namespace sqlite;
  const auto path = real_path(given);
  if (!path) return std::unexpected(path.error());
  const auto lock = FileLock::take(*path + ".lock");
  if (!lock) return std::unexpected(lock.error());
  // A reader first: it does not make a file where there is none.
  if (auto there = Connection::open({.path = *path, .use = Use::kRead, .vfs = {}}); !there) {
    return std::unexpected(there.error());
  }
  auto db = Connection::open({.path = *path, .use = Use::kWrite, .vfs = {}});
  if (!db) return std::unexpected(db.error());
  if (auto may = may_repair(**db); !may) return std::unexpected(may.error());
  std::vector<std::string> did;
  auto done = repair_all(**db, did);
  if (done) return did;
  if ((*db)->in_transaction()) {
    if (auto undone = (*db)->exec(sqlite::sql::kRollback); !undone)
      return std::unexpected(undone.error());
  }
  return std::unexpected(done.error());
}

namespace sqlite {
namespace {

Error system_failure(std::string_view doing, const std::string& path) {
  const int code = errno;
  const Fault fault = code == ENOSPC || code == EDQUOT ? Fault::kFull : Fault::kUnavailable;
  return {fault, fmt::format("{} {}: {}", doing, path, std::strerror(code))};
}

Result<void> sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return std::unexpected(system_failure("opening", path));
  const bool synced = ::fsync(fd) == 0;
  Error failure = synced ? Error{} : system_failure("syncing", path);
  ::close(fd);
  if (!synced) return std::unexpected(std::move(failure));
  return {};
}

// One step, one read transaction: the copy is one committed state and the writer is not held up.
Result<void> copy_pages(const std::string& path, const std::string& partial) {
  auto from = Connection::open({.path = path, .use = Use::kRead, .vfs = {}});
  if (!from) return std::unexpected(from.error());
  if (auto version = version_of(**from); !version) return std::unexpected(version.error());
  auto to = Connection::open({.path = partial, .use = Use::kWrite, .vfs = {}});
  if (!to) return std::unexpected(to.error());
  sqlite3_backup* copy = sqlite3_backup_init((*to)->handle(), "main", (*from)->handle(), "main");
  if (copy == nullptr) return std::unexpected((*to)->error("starting the copy"));
  const int rc = sqlite3_backup_step(copy, -1);
  sqlite3_backup_finish(copy);
  if (rc == SQLITE_DONE) return {};
  return std::unexpected((*to)->error("copying the database"));
}

Result<void> give_name(const std::string& partial, const std::string& to) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    Error failure = system_failure("naming the copy", to);
    if (errno == EEXIST) failure.fault = Fault::kBadRequest;
    return std::unexpected(std::move(failure));
  }
  const auto folder = std::filesystem::absolute(to).parent_path();
  return sync_path(folder.string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace
}  // namespace sqlite

namespace sqlite {
namespace {

// A copy holds what the database does: only its owner may read it.
Result<void> make_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    ::close(fd);
    return {};
  }
  const int code = errno;
  return std::unexpected(Error{code == ENOSPC ? Fault::kFull : Fault::kUnavailable,
                               fmt::format("cannot create {}: {}", path, std::strerror(code))});
}

}  // namespace
}  // namespace sqlite

Result<void> backup_sqlite(const std::string& path, const std::string& to) {
  using namespace sqlite;
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(to, ignored))) {
    return std::unexpected(
        Error{Fault::kBadRequest, fmt::format("{} exists; a backup never overwrites a file", to)});
  }
  const std::string partial = fmt::format("{}.partial-{}", to, ::getpid());
  std::filesystem::remove(partial, ignored);
  auto done = make_private(partial);
  if (done) done = copy_pages(path, partial);
  if (done) done = sync_path(partial, O_RDWR);
  if (done) done = give_name(partial, to);
  if (!done) std::filesystem::remove(partial, ignored);
  return done;
}

namespace sqlite {
namespace {

Result<void> must_be_sound(const std::string& backup) {
  const auto report = check_sqlite(backup);
  if (!report) return std::unexpected(report.error());
  if (report->version == 0) {
    return std::unexpected(Error{Fault::kDamaged, fmt::format("{} is empty", backup)});
  }
  // An older layout is no damage: the next controller migrates it.
  if (report->problems.empty() || report->version < report->known_version) return {};
  return std::unexpected(
      Error{Fault::kDamaged, fmt::format("{} is damaged: {}", backup, report->problems.front())});
}

// The file and what belongs to it, under another name.
Result<std::string> set_aside(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::string();
  std::string aside;
  for (int i = 1; aside.empty() || std::filesystem::exists(aside, error); ++i) {
    aside = fmt::format("{}.replaced-{}", path, i);
  }
  for (const char* suffix : {"-wal", "-shm", ".mark", ""}) {
    if (!std::filesystem::exists(path + suffix, error)) continue;
    std::filesystem::rename(path + suffix, aside + suffix, error);
    if (error) {
      return std::unexpected(
          Error{Fault::kUnavailable,
                fmt::format("cannot rename {}: {}", path + suffix, error.message())});
    }
  }
  return aside;
}

}  // namespace
}  // namespace sqlite

Result<std::string> restore_sqlite(const std::string& backup, const std::string& given) {
  using namespace sqlite;
  const auto path = real_path(given);
  if (!path) return std::unexpected(path.error());
  const auto lock = FileLock::take(*path + ".lock");
  if (!lock) return std::unexpected(lock.error());
  if (auto sound = must_be_sound(backup); !sound) return std::unexpected(sound.error());
  const std::string partial = fmt::format("{}.partial-{}", *path, ::getpid());
  std::error_code ignored;
  std::filesystem::remove(partial, ignored);
  auto done = make_private(partial);
  if (done) done = copy_pages(backup, partial);
  if (done) done = sync_path(partial, O_RDWR);
  Result<std::string> aside;
  if (done) aside = set_aside(*path);
  if (done && !aside) done = std::unexpected(aside.error());
  if (done) done = give_name(partial, *path);
  if (!done) {
    std::filesystem::remove(partial, ignored);
    return std::unexpected(done.error());
  }
  return aside;
}

}  // namespace vortex::store
