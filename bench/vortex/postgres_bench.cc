#include "bench/vortex/postgres_bench.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include "base/text.h"
#include "store/keys.h"
#include "store/postgres/connection.h"

namespace vortex::store {
namespace {

constexpr std::string_view kBareTables = R"sql(
CREATE TABLE task_instances (
  task_key BIGINT PRIMARY KEY, state TEXT COLLATE "C" NOT NULL, worker_id TEXT COLLATE "C",
  epoch BIGINT NOT NULL, attempt_count BIGINT NOT NULL, updated_at TEXT COLLATE "C",
  incarnation BIGINT NOT NULL, ready_us BIGINT, started_us BIGINT, percent BIGINT NOT NULL,
  exit_code BIGINT NOT NULL, stop BIGINT NOT NULL, failure_count BIGINT NOT NULL,
  crash_count BIGINT NOT NULL, stall_count BIGINT NOT NULL, release_count BIGINT NOT NULL,
  unstarted_count BIGINT NOT NULL, recovery BIGINT NOT NULL, level BIGINT, node BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, created_at TEXT COLLATE "C",
  previous_worker TEXT, step TEXT, error_message TEXT);
CREATE INDEX idx_tasks_worker_state ON task_instances(worker_id, state);
CREATE INDEX idx_tasks_state ON task_instances(state);
)sql";

// The parameters are arrays as text, as anybody would write it first.
constexpr const char* kBareInsertSet = R"sql(
INSERT INTO task_instances (task_key, state, epoch, attempt_count, updated_at, incarnation,
  ready_us, percent, exit_code, stop, failure_count, crash_count, stall_count, release_count,
  unstarted_count, recovery, level, node, id, name, created_at)
SELECT k, 'Queued', 0, 0, $3, 0, $4::bigint, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, i, 'resize-image', $3
FROM unnest($1::bigint[], $2::text[]) AS n(k, i);
)sql";
constexpr const char* kBareClaimSet = R"sql(
UPDATE task_instances t SET state = 'Scheduled', worker_id = n.w, epoch = 1, attempt_count = 1,
  incarnation = 1, ready_us = 0, updated_at = $3
FROM unnest($1::bigint[], $2::text[]) AS n(k, w) WHERE t.task_key = n.k;
)sql";
constexpr const char* kBareCompleteSet = R"sql(
UPDATE task_instances t SET state = 'Completed', exit_code = 0, updated_at = $2
FROM unnest($1::bigint[]) AS n(k) WHERE t.task_key = n.k;
)sql";

// One statement and one transaction each, which PostgreSQL makes of it by itself.
class BareSets {
 public:
  explicit BareSets(PGconn* db) : db_(db) {}

  bool run_set(std::uint32_t first, std::uint32_t end) {
    std::string keys;
    std::string ids;
    std::string workers;
    for (std::uint32_t index = first; index < end; ++index) {
      const TaskId id{.run = {1}, .index = index, .level = 0};
      const char* comma = index == first ? "{" : ",";
      keys += fmt::format("{}{}", comma, *key_of(id));
      ids += fmt::format("{}{}", comma, to_text(id));
      workers += fmt::format("{}worker-{:06}", comma, index % 4);
    }
    for (std::string* list : {&keys, &ids, &workers}) *list += '}';
    return run(kBareInsertSet, {&keys, &ids, &tick(), &ready_}) &&
           run(kBareClaimSet, {&keys, &workers, &tick()}) &&
           run(kBareCompleteSet, {&keys, &tick()});
  }

 private:
  const std::string& tick() {
    now_ = now_ + millis(1);
    const TimeText text = time_text(now_);
    shown_.assign(text.data(), text.size());
    return shown_;
  }
  bool run(const char* sql, std::initializer_list<const std::string*> values) {
    std::vector<const char*> given;
    for (const std::string* value : values) given.push_back(value->c_str());
    PGresult* result = PQexecParams(db_, sql, static_cast<int>(given.size()), nullptr, given.data(),
                                    nullptr, nullptr, 0);
    const bool ran = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return ran;
  }

  PGconn* db_;
  Instant now_{1'771'800'000'000'000};
  std::string shown_;
  std::string ready_ = "1771800000000000";
};

}  // namespace

BenchSchema::BenchSchema(std::string url, std::string_view name)
    : base_(std::move(url)), name_(fmt::format("vortex_bench_{}_{}", ::getpid(), name)) {}

Result<void> BenchSchema::make() {
  auto db = postgres::Connection::open({.url = base_, .use = postgres::Use::kTool});
  if (!db) return std::unexpected(db.error());
  if (auto done = (*db)->exec("CREATE SCHEMA " + name_); !done)
    return std::unexpected(done.error());
  return {};
}

BenchSchema::~BenchSchema() {
  if (base_.empty()) return;
  const auto db = postgres::Connection::open({.url = base_, .use = postgres::Use::kTool});
  if (db) static_cast<void>((*db)->exec(fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", name_)));
}

std::string BenchSchema::url() const {
  if (base_.find("://") == std::string::npos) {
    return fmt::format("{} options=-csearch_path={}", base_, name_);
  }
  const char mark = base_.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}options=-csearch_path%3D{}", base_, mark, name_);
}

Result<BareResult> run_bare_postgres(const std::string& url, std::uint64_t tasks,
                                     std::uint32_t set_size) {
  auto db = postgres::Connection::open({.url = url, .use = postgres::Use::kTool});
  if (!db) return std::unexpected(db.error());
  if (auto done = (*db)->exec(std::string(kBareTables)); !done) {
    return std::unexpected(done.error());
  }
  PQsetnonblocking((*db)->handle(), 0);
  const auto count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(tasks, (std::uint64_t{1} << kIndexBits) - 1));
  const std::uint32_t set = std::max(set_size, std::uint32_t{1});
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  BareSets sets((*db)->handle());
  for (std::uint32_t first = 0; first < count; first += set) {
    if (!sets.run_set(first, std::min(count, first + set))) {
      return std::unexpected((*db)->lost("the bare loop"));
    }
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  BareResult result;
  result.tasks = count;
  result.took = {std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
  result.cpu = {static_cast<std::int64_t>(std::clock() - cpu_begin) * 1'000'000 / CLOCKS_PER_SEC};
  return result;
}

}  // namespace vortex::store
