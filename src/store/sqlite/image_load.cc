#include "store/sqlite/image_load.h"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sqlite/row_decode.h"
#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

// All rows of a statement without values, one `take` each.
template <class Row, class Take>
Result<void> load_all(Statement& statement, std::vector<Row>& into, Take take) {
  statement.start();
  Rows rows(statement);
  while (rows.next()) into.push_back(take(rows));
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

KeyRow take_key(Rows& rows) {
  KeyRow row;
  row.key = rows.text();
  row.run = {rows.unsigned_number()};
  row.digest = rows.unsigned_number();
  return row;
}

}  // namespace

ImageLoad::ImageLoad(Connection& db, Known& known)
    : known_(known),
      live_runs_(db, sql::kLiveRuns),
      one_run_(db, sql::kOneRunRow),
      tasks_(db, sql::kTasksOfRun),
      checkpoints_(db, sql::kCheckpointsOfRun),
      counters_(db, sql::kReadCounters),
      workers_(db, sql::kAllWorkers),
      machines_(db, sql::kAllMachines),
      leases_(db, sql::kAllLeases),
      queues_(db, sql::kAllQueues),
      keys_(db, sql::kAllKeys),
      dead_letters_(db, sql::kOpenDeadLetters) {}

Result<StoreImage> ImageLoad::image() {
  StoreImage image;
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  // No transaction around it: nobody else writes, and this connection is busy reading.
  if (auto done = load_rest(image); !done) return std::unexpected(done.error());
  if (auto done = load_runs(image); !done) return std::unexpected(done.error());
  return image;
}

Result<void> ImageLoad::load_runs(StoreImage& image) {
  live_runs_.start();
  Rows rows(live_runs_);
  while (rows.next()) {
    StoredRun stored = take_run(rows);
    RunImage& run = image.runs.emplace_back();
    run.run = std::move(stored.row);
    if (auto done = fill(run, stored.digest); !done) return done;
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> ImageLoad::load_rest(StoreImage& image) {
  std::vector<CounterRow> counters;
  for (const auto& done :
       {load_all(counters_, counters, take_counters),
        load_all(workers_, image.workers, take_worker),
        load_all(machines_, image.machines, take_machine),
        load_all(leases_, image.leases, take_lease), load_all(queues_, image.queues, take_queue),
        load_all(keys_, image.keys, take_key),
        load_all(dead_letters_, image.dead_letters, take_dead_letter)}) {
    if (!done) return done;
  }
  if (counters.size() != 1) {
    return std::unexpected(Error{Fault::kDamaged, "the row of counters is missing"});
  }
  image.counters = counters.front();
  return {};
}

Result<void> ImageLoad::fill(RunImage& image, std::uint64_t digest) {
  auto plan = known_.plan(digest);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan) {
    return std::unexpected(Error{
        Fault::kDamaged, fmt::format("the definition of {} is missing", to_text(image.run.id))});
  }
  image.run.plan = *plan;
  const auto live = known_.live.find(image.run.id.value);
  if (live != known_.live.end()) live->second.plan = *plan;

  const KeyRange keys = keys_of(image.run.id);
  image.tasks.reserve(
      std::accumulate(image.run.made.begin(), image.run.made.end(), std::size_t{0}));
  tasks_.start().number(keys.first).number(keys.end);
  Rows tasks(tasks_);
  while (tasks.next()) image.tasks.push_back(take_task(tasks));
  if (tasks.failed()) return std::unexpected(tasks.error());

  checkpoints_.start().number(keys.first).number(keys.end);
  Rows data(checkpoints_);
  while (data.next()) {
    TaskDataRow& row = image.data.emplace_back();
    const std::int64_t key = data.number();
    row.id = task_of(key, take_level(data));
    row.epoch = {data.unsigned_number()};
    row.checkpoint = data.text();
  }
  if (data.failed()) return std::unexpected(data.error());
  return {};
}

Result<std::optional<RunImage>> ImageLoad::run_image(RunId run) {
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  one_run_.start().unsigned_number(run.value);
  Rows rows(one_run_);
  if (!rows.next()) {
    if (rows.failed()) return std::unexpected(rows.error());
    return std::optional<RunImage>{};
  }
  StoredRun stored = take_run(rows);
  if (rows.failed()) return std::unexpected(rows.error());
  RunImage image;
  image.run = std::move(stored.row);
  if (auto done = fill(image, stored.digest); !done) return std::unexpected(done.error());
  return image;
}

}  // namespace vortex::store::sqlite
