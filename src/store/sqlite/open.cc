#include "store/sqlite/open.h"

#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/random.h>

#include "base/text.h"
#include "store/plan_shelf.h"
#include "store/sql/reader.h"
#include "store/sqlite/file.h"
#include "store/sqlite/mark.h"
#include "store/sqlite/sql.gen.h"
#include "store/sqlite/writer.h"

namespace vortex::store {
namespace sqlite {
namespace {

Instant system_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

// The order of the members is that in which they may be made and, backwards, ended: the lock goes
// last, after the connection has closed the file.
struct Parts {
  FileLock lock;
  std::unique_ptr<Connection> db;
  CommitMark mark;
};

class SqliteStore final : public Store {
 public:
  bool is_ours_alone() const override { return true; }  // the lock on the file says so

  SqliteStore(SqliteOptions options, Parts parts)
      : options_(std::move(options)),
        parts_(std::move(parts)),
        writer_(*parts_.db, parts_.mark, shelf_, options_.logs,
                options_.wall_clock ? options_.wall_clock : system_clock) {}

  Writer& writer() override { return writer_; }

  Result<std::unique_ptr<Reader>> reader() override {
    auto db = Connection::open({.path = options_.path,
                                .use = Use::kRead,
                                .cache_bytes = options_.reader_cache_bytes,
                                .map_bytes = options_.reader_map_bytes,
                                .busy_timeout_ms = options_.busy_timeout_ms,
                                .vfs = {}});
    if (!db) return std::unexpected(db.error());
    return store::sql::make_reader(std::make_unique<Session>(*std::move(db)), shelf_);
  }

 private:
  SqliteOptions options_;
  PlanShelf shelf_;
  Parts parts_;
  SqliteWriter writer_;
};

// Once for a database: all controllers that will ever be on it share the key.
Result<void> make_attempt_key(Connection& db) {
  const auto known = db.ask(sql::kHasAttemptKey);
  if (!known) return std::unexpected(known.error());
  if (*known != "0") return {};
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) {
    return std::unexpected(Error{Fault::kUnavailable, "the system has no random bytes"});
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return db.exec(fmt::format(sql::kAddAttemptKey, text));
}

Result<void> set_up_writer(Connection& db, const SqliteOptions& options) {
  if (sqlite3_db_readonly(db.handle(), "main") != 0) {
    return std::unexpected(
        Error{Fault::kUnavailable,
              fmt::format("{} is read-only: check its owner and mode, and those of its directory",
                          options.path)});
  }
  // Before anything is changed: a file of a newer version or another program stays as it is.
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  if (auto done = db.exec(fmt::format(sql::kSetPageSize, options.page_bytes)); !done) return done;
  const auto mode = db.ask(sql::kUseWal);
  if (!mode) return std::unexpected(mode.error());
  if (*mode != "wal") {
    return std::unexpected(
        Error{Fault::kUnavailable, fmt::format("{} cannot use a write-ahead log: the file system "
                                               "has no shared memory (is it a network share?)",
                                               options.path)});
  }
  if (auto done = db.exec(fmt::format(sql::kSetUpWriter, options.checkpoint_pages)); !done) {
    return done;
  }
  if (auto done = migrate(db); !done) return done;
  if (!options.takes_copies) {
    const auto mark = db.ask(sql::kCopyMark);
    if (!mark) return std::unexpected(mark.error());
    if (!mark->empty()) {
      return std::unexpected(
          Error{Fault::kBadRequest,
                fmt::format("{} is an unfinished copy: run `vortex db copy` again", options.path)});
    }
  }
  return make_attempt_key(db);
}

Result<CommitMark::Point> point_of(Connection& db) {
  const auto term = db.ask(sql::kReadTerm);
  if (!term) return std::unexpected(term.error());
  const auto clock = db.ask(sql::kReadClock);
  if (!clock) return std::unexpected(clock.error());
  CommitMark::Point point;
  std::from_chars(term->data(), term->data() + term->size(), point.term);
  std::from_chars(clock->data(), clock->data() + clock->size(), point.clock_us);
  return point;
}

std::string time_of(const CommitMark::Point& point) {
  const Instant at{point.clock_us};
  if (!has_time_text(at)) return std::to_string(point.clock_us);
  const TimeText text = time_text(at);
  return std::string(text.data(), text.size());
}

// A database that is older than its mark has lost what was acknowledged in between.
struct Opened {
  CommitMark& mark;
  bool is_new = false;
};
Result<void> compare_with_mark(Connection& db, const Opened& opened, const SqliteOptions& options) {
  const auto now = point_of(db);
  if (!now) return std::unexpected(now.error());
  const auto marked = opened.mark.point();
  const bool behind = marked && *now < *marked;
  if (behind && opened.is_new && options.notice) {
    options.notice(
        fmt::format("{} is new: the database that was there, with a last commit of {}, "
                    "is gone",
                    options.path, time_of(*marked)));
  } else if (behind && options.notice) {
    options.notice(fmt::format(
        "{} has lost commits: its last one is of {} (term {}), but there was one of {} (term {}). "
        "Its write-ahead log was deleted or cut, or an older copy was put in its place. What was "
        "acknowledged in between is gone",
        options.path, time_of(*now), now->term, time_of(*marked), marked->term));
  }
  opened.mark.set(*now);
  return {};
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& given) {
  using namespace sqlite;
  SqliteOptions options = given;
  auto path = real_path(options.path);
  if (!path) return std::unexpected(path.error());
  options.path = *std::move(path);
  auto lock = FileLock::take(options.path + ".lock");
  if (!lock) return std::unexpected(lock.error());
  const auto made = prepare_file(options.path, options.notice);
  if (!made) return std::unexpected(made.error());
  auto mark = CommitMark::open(options.path + ".mark");
  if (!mark) return std::unexpected(mark.error());
  auto db = Connection::open({.path = options.path,
                              .use = Use::kWrite,
                              .cache_bytes = options.writer_cache_bytes,
                              .map_bytes = 0,
                              .busy_timeout_ms = options.busy_timeout_ms,
                              .vfs = options.vfs});
  if (!db) return std::unexpected(db.error());
  if (auto done = set_up_writer(**db, options); !done) return std::unexpected(done.error());
  if (auto done = compare_with_mark(**db, {*mark, *made}, options); !done) {
    return std::unexpected(done.error());
  }
  return std::make_unique<SqliteStore>(std::move(options),
                                       Parts{*std::move(lock), *std::move(db), *std::move(mark)});
}

}  // namespace vortex::store
