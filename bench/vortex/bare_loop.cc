#include "bench/vortex/bare_loop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/open.h"
#include "store/sqlite/sql.gen.h"
#include "store/sqlite/statement.h"

namespace vortex::store {
namespace sqlite {
namespace {

// The yardstick: plain SQL, as anybody would write it first, with the seed's three indexes.

constexpr std::string_view kBareSchema = R"sql(
CREATE TABLE workers (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, last_heartbeat TEXT,
  created_at TEXT);
CREATE INDEX idx_workers_state_heartbeat ON workers(state, last_heartbeat);
CREATE TABLE task_instances (
  task_key INTEGER PRIMARY KEY, state TEXT NOT NULL, worker_id TEXT, epoch INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL, updated_at TEXT, incarnation INTEGER NOT NULL,
  ready_us INTEGER, started_us INTEGER, percent INTEGER NOT NULL, exit_code INTEGER NOT NULL,
  stop INTEGER NOT NULL, failure_count INTEGER NOT NULL, crash_count INTEGER NOT NULL,
  stall_count INTEGER NOT NULL, release_count INTEGER NOT NULL, unstarted_count INTEGER NOT NULL,
  recovery INTEGER NOT NULL, level INTEGER, node INTEGER NOT NULL, id TEXT NOT NULL,
  name TEXT NOT NULL, created_at TEXT, previous_worker TEXT, step TEXT, error_message TEXT);
CREATE INDEX idx_tasks_worker_state ON task_instances(worker_id, state);
CREATE INDEX idx_tasks_state ON task_instances(state);
)sql";

constexpr std::string_view kBareInsert = R"sql(
INSERT INTO task_instances (task_key, state, epoch, attempt_count, updated_at, incarnation,
  ready_us, percent, exit_code, stop, failure_count, crash_count, stall_count, release_count,
  unstarted_count, recovery, level, node, id, name, created_at)
VALUES (?1, 'Queued', 0, 0, ?2, 0, ?3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?4, ?5, ?2);
)sql";

constexpr std::string_view kBareClaim = R"sql(
UPDATE task_instances SET state = 'Scheduled', worker_id = ?2, epoch = 1, attempt_count = 1,
  incarnation = 1, ready_us = 0, updated_at = ?3
WHERE task_key = ?1;
)sql";

constexpr std::string_view kBareComplete = R"sql(
UPDATE task_instances SET state = 'Completed', exit_code = 0, updated_at = ?2 WHERE task_key = ?1;
)sql";

constexpr Instant kStart{1'771'800'000'000'000};
constexpr std::array<std::string_view, 4> kWorkers{"worker-000001", "worker-000002",
                                                   "worker-000003", "worker-000004"};
constexpr std::string_view kName = "resize-image";

class BareLoop {
 public:
  explicit BareLoop(Connection& db)
      : session_(db),
        insert_(db, kBareInsert),
        claim_(db, kBareClaim),
        complete_(db, kBareComplete) {}

  Result<void> run_set(std::uint32_t first, std::uint32_t end) {
    if (auto done = insert_set(first, end); !done) return done;
    if (auto done = claim_set(first, end); !done) return done;
    return complete_set(first, end);
  }

 private:
  static std::int64_t key(std::uint32_t index) {
    return *key_of(TaskId{.run = {1}, .index = index, .level = 0});
  }
  Instant tick() { return now_ = now_ + millis(1); }

  Result<void> insert_set(std::uint32_t first, std::uint32_t end) {
    const Instant now = tick();
    store::sql::Transaction tx(session_);
    for (std::uint32_t index = first; index < end && tx.ok(); ++index) {
      const std::string id = to_text(TaskId{.run = {1}, .index = index, .level = 0});
      tx.run(insert_.start().number(key(index)).time(now).micros(now).text(id).literal(kName));
    }
    return tx.commit();
  }

  Result<void> claim_set(std::uint32_t first, std::uint32_t end) {
    const Instant now = tick();
    store::sql::Transaction tx(session_);
    for (std::uint32_t index = first; index < end && tx.ok(); ++index) {
      tx.run(claim_.start().number(key(index)).text(kWorkers[index % 4]).time(now));
    }
    return tx.commit();
  }

  Result<void> complete_set(std::uint32_t first, std::uint32_t end) {
    const Instant now = tick();
    store::sql::Transaction tx(session_);
    for (std::uint32_t index = first; index < end && tx.ok(); ++index) {
      tx.run(complete_.start().number(key(index)).time(now));
    }
    return tx.commit();
  }

  Session session_;
  Statement insert_;
  Statement claim_;
  Statement complete_;
  Instant now_ = kStart;
};

Result<std::unique_ptr<Connection>> open_bare(const std::string& path) {
  const SqliteOptions usual;  // the same settings as the store's, so that only the work differs
  auto db = Connection::open(
      {.path = path, .use = Use::kWrite, .cache_bytes = usual.writer_cache_bytes, .vfs = {}});
  if (!db) return db;
  for (const std::string& step :
       {fmt::format(sql::kSetPageSize, usual.page_bytes), std::string(sql::kUseWal),
        fmt::format(sql::kSetUpWriter, usual.checkpoint_pages), std::string(kBareSchema)}) {
    if (auto done = (*db)->exec(step); !done) return std::unexpected(done.error());
  }
  return db;
}

}  // namespace
}  // namespace sqlite

Result<BareResult> run_bare_loop(const std::string& path, std::uint64_t tasks,
                                 std::uint32_t set_size) {
  using namespace sqlite;
  const auto count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(tasks, (std::uint64_t{1} << kIndexBits) - 1));
  const std::uint32_t set = std::max(set_size, std::uint32_t{1});
  if (std::filesystem::exists(path)) {
    return std::unexpected(Error{Fault::kBadRequest, fmt::format("{} exists", path)});
  }
  auto db = open_bare(path);
  if (!db) return std::unexpected(db.error());
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  {
    BareLoop loop(**db);
    for (std::uint32_t first = 0; first < count; first += set) {
      if (auto done = loop.run_set(first, std::min(count, first + set)); !done) {
        return std::unexpected(done.error());
      }
    }
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  const std::clock_t cpu = std::clock() - cpu_begin;
  db->reset();  // moves the log into the file
  std::error_code ignored;
  BareResult result;
  result.tasks = count;
  result.took = {std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
  result.cpu = {static_cast<std::int64_t>(cpu) * 1'000'000 / CLOCKS_PER_SEC};
  result.file_bytes = std::filesystem::file_size(path, ignored);
  return result;
}

}  // namespace vortex::store
