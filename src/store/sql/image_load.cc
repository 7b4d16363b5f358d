#include "store/sql/image_load.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sql/record_io.h"

namespace vortex::store::sql {
namespace {

DamagedRow named(const Rows::Damage& damage, std::string id, RunId run = {}) {
  return {damage.table, std::move(id), damage.column, damage.what, run};
}

// All rows of a statement without values, one `take` each. A row that cannot be read is named by
// `name` and left out.
template <class Row, class Take, class Name>
Result<void> load_all(Statement& statement, std::vector<Row>& into,
                      std::vector<DamagedRow>& damaged, Take take, Name name) {
  statement.start();
  Rows rows(statement);
  while (rows.next()) {
    Row row = take(rows);
    if (const auto damage = rows.take_damage()) {
      damaged.push_back(named(*damage, name(row)));
    } else {
      into.push_back(std::move(row));
    }
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

// An epoch that no holder can have reached, for a lease whose own cannot be read.
constexpr std::uint64_t kEpochJump = 1'000'000;

constexpr std::int64_t kTaskSlice = 65'536;
constexpr std::uint32_t kOutputsGap = 16;

KeyRow take_key(Rows& rows) {
  KeyRow row;
  row.key = rows.text();
  row.run = {rows.unsigned_number()};
  row.digest = rows.unsigned_number();
  return row;
}

}  // namespace

ImageLoad::ImageLoad(Session& db, Known& known)
    : known_(known),
      live_runs_(db.prepare("live_runs")),
      one_run_(db.prepare("one_run_row")),
      open_elsewhere_(db.prepare("open_tasks_elsewhere")),
      odd_runs_(db.prepare("odd_runs")),
      tasks_(db.prepare("tasks_of_run")),
      checkpoints_(db.prepare("checkpoints_of_run")),
      outputs_(db.prepare("outputs_of_tasks")),
      signals_(db.prepare("signals_of_run")),
      counters_(db.prepare("read_counters")),
      workers_(db.prepare("all_workers")),
      machines_(db.prepare("all_machines")),
      leases_(db.prepare("all_leases")),
      queues_(db.prepare("all_queues")),
      limits_(db.prepare("all_limits")),
      journals_(db.prepare("all_journals")),
      schedules_(db.prepare("all_schedules")),
      keys_(db.prepare("all_keys")),
      dead_letters_(db.prepare("open_dead_letters")) {}

Result<StoreImage> ImageLoad::image() {
  StoreImage image;
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  // No transaction around it: nobody else writes, and this connection is busy reading.
  if (auto done = load_rest(image); !done) return std::unexpected(done.error());
  if (auto done = load_leases(image); !done) return std::unexpected(done.error());
  if (auto done = load_schedules(image); !done) return std::unexpected(done.error());
  if (auto done = load_runs(image); !done) return std::unexpected(done.error());
  if (auto done = load_open_runs(image); !done) return std::unexpected(done.error());
  if (auto done = name_odd_runs(image); !done) return std::unexpected(done.error());
  return image;
}

Result<void> ImageLoad::load_runs(StoreImage& image) {
  live_runs_.start();
  Rows rows(live_runs_);
  while (rows.next()) {
    if (auto done = add_run(image, rows); !done) return done;
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> ImageLoad::add_run(StoreImage& image, Rows& rows) {
  StoredRun stored = take_run(rows);
  RunImage run;
  run.run = std::move(stored.row);
  std::vector<DamagedRow> damaged;
  if (const auto damage = rows.take_damage()) {
    damaged.push_back(named(*damage, to_text(run.run.id), run.run.id));
  } else if (auto done = fill(run, stored.digest, damaged); !done) {
    return done;
  }
  if (damaged.empty()) image.runs.push_back(std::move(run));
  for (DamagedRow& row : damaged) image.damaged.push_back(std::move(row));
  return {};
}

Result<void> ImageLoad::load_open_runs(StoreImage& image) {
  std::vector<std::pair<RunId, std::uint64_t>> found;
  open_elsewhere_.start();
  {
    Rows rows(open_elsewhere_);
    while (rows.next()) {
      const RunId run{rows.unsigned_number()};
      found.emplace_back(run, rows.unsigned_number());
    }
    if (rows.failed()) return std::unexpected(rows.error());
  }
  for (const auto& [run, tasks] : found) {
    const std::size_t before = image.runs.size() + image.damaged.size();
    if (auto done = load_one(image, run); !done) return done;
    if (image.runs.size() + image.damaged.size() > before) continue;
    image.damaged.push_back(
        {"runs", to_text(run), "", fmt::format("is missing, but has {} open tasks", tasks), run});
  }
  if (!found.empty()) {
    std::ranges::sort(image.runs, {}, [](const RunImage& run) { return run.run.id; });
  }
  return {};
}

Result<void> ImageLoad::load_one(StoreImage& image, RunId run) {
  one_run_.start().unsigned_number(run.value);
  Rows rows(one_run_);
  if (rows.next()) return add_run(image, rows);
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> ImageLoad::name_odd_runs(StoreImage& image) {
  odd_runs_.start();
  Rows rows(odd_runs_);
  while (rows.next()) {
    const RunId run{rows.unsigned_number()};
    const std::string state = rows.text();
    const auto known = [run](const DamagedRow& row) { return row.run == run; };
    if (std::any_of(image.damaged.begin(), image.damaged.end(), known)) continue;
    image.damaged.push_back({"runs", to_text(run), "state",
                             fmt::format("contains '{}', which is not valid", state), run});
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> ImageLoad::load_rest(StoreImage& image) {
  std::vector<CounterRow> counters;
  std::vector<DamagedRow>& damaged = image.damaged;
  std::vector<DamagedRow> broken;  // the one row that nothing works without
  const auto nameless = [](const CounterRow&) { return std::string("1"); };
  const auto worker = [](const WorkerRow& row) { return row.info->id.text; };
  const auto machine = [](const MachineRow& row) { return row.id.text; };
  const auto queue = [](const QueueRow& row) { return row.name; };
  const auto limit = [](const LimitRow& row) { return row.name; };
  const auto journal = [](const JournalRow& row) { return row.supervisor; };
  const auto key = [](const KeyRow& row) { return to_text(row.run); };
  const auto letter = [](const DeadLetterRow& row) { return to_text(row.attempt.task); };
  for (const auto& done :
       {load_all(counters_, counters, broken, take_row<CounterRow>, nameless),
        load_all(workers_, image.workers, damaged, take_row<WorkerRow>, worker),
        load_all(machines_, image.machines, damaged, take_row<MachineRow>, machine),
        load_all(queues_, image.queues, damaged, take_row<QueueRow>, queue),
        load_all(limits_, image.limits, damaged, take_row<LimitRow>, limit),
        load_all(journals_, image.journals, damaged, take_row<JournalRow>, journal),
        load_all(keys_, image.keys, damaged, take_key, key),
        load_all(dead_letters_, image.dead_letters, damaged, take_row_of_task<DeadLetterRow>,
                 letter)}) {
    if (!done) return done;
  }
  if (counters.size() != 1) {
    const std::string what =
        broken.empty() ? "table counters: its only row is missing" : to_text(broken.front());
    return std::unexpected(
        Error{Fault::kDamaged, what + "; stop the controller and run `vortex db check --repair`"});
  }
  image.counters = counters.front();
  return {};
}

// The epoch of a partition never goes back, not even when its row cannot be read: the floor for
// new leases is raised above whatever it can have been.
Result<void> ImageLoad::load_leases(StoreImage& image) {
  Epoch& floor = image.counters.lease_floor;
  std::uint64_t highest = floor.value;
  bool unreadable = false;
  leases_.start();
  Rows rows(leases_);
  while (rows.next()) {
    PartitionLeaseRow row = take_row<PartitionLeaseRow>(rows);
    highest = std::max(highest, row.epoch.value);
    const auto damage = rows.take_damage();
    if (!damage) {
      image.leases.push_back(std::move(row));
      continue;
    }
    image.damaged.push_back(
        named(*damage, fmt::format("{}/{}", row.partition.topic, row.partition.partition)));
    unreadable = unreadable || damage->column == "lease_epoch";
    floor.value = std::max(floor.value, row.epoch.value);
  }
  if (rows.failed()) return std::unexpected(rows.error());
  if (unreadable) floor.value = highest + kEpochJump;
  return {};
}

Result<void> ImageLoad::load_schedules(StoreImage& image) {
  std::vector<StoredSchedule> found;
  const auto name = [](const StoredSchedule& stored) { return stored.row.dag; };
  if (auto done = load_all(schedules_, found, image.damaged, take_schedule, name); !done) {
    return done;
  }
  for (StoredSchedule& stored : found) {
    auto plan = known_.plan(stored.digest);
    if (!plan && plan.error().fault != Fault::kDamaged) return std::unexpected(plan.error());
    if (plan && *plan && (*plan)->spec.schedule) {
      stored.row.plan = *std::move(plan);
      image.schedules.push_back(std::move(stored.row));
    } else {
      image.damaged.push_back(
          {"schedules", stored.row.dag, "digest", "does not refer to a DAG with a schedule", {}});
    }
  }
  return {};
}

Result<void> ImageLoad::fill(RunImage& image, std::uint64_t digest, Damaged& damaged) {
  if (auto done = fill_plan(image, digest, damaged); !done || !damaged.empty()) return done;
  if (auto done = fill_tasks(image, damaged); !done || !damaged.empty()) return done;
  const KeyRange keys = keys_of(image.run.id);
  checkpoints_.start().number(keys.first).number(keys.end);
  Rows data(checkpoints_);
  while (data.next()) {
    TaskDataRow& row = image.data.emplace_back(take_row_of_task<TaskDataRow>(data));
    row.outputs.reset();  // only of use to readers
    if (const auto damage = data.take_damage()) {
      damaged.push_back(named(*damage, to_text(row.id), image.run.id));
    }
  }
  if (data.failed()) return std::unexpected(data.error());
  if (auto done = fill_signals(image, damaged); !done) return done;
  return fill_outputs(image, damaged);
}

Result<void> ImageLoad::fill_signals(RunImage& image, Damaged& damaged) {
  if (image.run.plan->asking.empty()) return {};
  signals_.start().unsigned_number(image.run.id.value);
  Rows rows(signals_);
  while (rows.next()) {
    image.signals.push_back(take_row<SignalRow>(rows));
    if (const auto damage = rows.take_damage()) {
      damaged.push_back(
          named(*damage, fmt::format("{}/{}", to_text(image.run.id), image.signals.back().number),
                image.run.id));
    }
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

// Neighbours are asked for together; those in a gap of a few tasks between them are left out.
Result<void> ImageLoad::fill_outputs(RunImage& image, Damaged& damaged) {
  const DagPlan& plan = *image.run.plan;
  const auto is_read = [](const PlanNode& node) {
    return node.reads > 0 || node.lists.count > 0 || node.passes.count > 0;
  };
  const bool none = plan.reads.size() == plan.param_reads &&
                    plan.lists.size() == plan.param_lists &&
                    plan.base->passes.size() == plan.base->param_passes;
  if (none) return {};
  const std::int64_t base = keys_of(image.run.id).first;
  for (std::uint32_t first = 0; first < plan.nodes.size();) {
    if (!is_read(plan.nodes[first++])) continue;
    std::uint32_t last = first - 1;
    const std::uint32_t begin = plan.nodes[last].planned_first;
    for (; first < plan.nodes.size(); ++first) {
      if (plan.nodes[first].planned_first > plan.nodes[last].planned_first + kOutputsGap) break;
      if (is_read(plan.nodes[first])) last = first;
    }
    outputs_.start().number(base + begin).number(base + plan.nodes[last].planned_first + 1);
    Rows rows(outputs_);
    while (rows.next()) {
      TaskDataRow row = take_row_of_task<TaskDataRow>(rows);
      if (const auto damage = rows.take_damage()) {
        damaged.push_back(named(*damage, to_text(row.id), image.run.id));
      } else if (row.id.index < plan.tasks && plan.is_read(row.id.index)) {
        row.checkpoint.reset();
        row.uploaded.reset();
        image.data.push_back(std::move(row));
      }
    }
    if (rows.failed()) return std::unexpected(rows.error());
  }
  return {};
}

Result<void> ImageLoad::fill_plan(RunImage& image, std::uint64_t digest, Damaged& damaged) {
  const RunId run = image.run.id;
  const auto spec_is = [&](std::string column, std::string what) {
    damaged.push_back(
        {"dag_specs", std::to_string(static_cast<std::int64_t>(digest)), column, what, run});
  };
  auto plan = known_.plan(digest);
  if (!plan) {
    if (plan.error().fault != Fault::kDamaged) return std::unexpected(plan.error());
    spec_is("spec", plan.error().detail);
    return {};
  }
  if (!*plan) {
    spec_is("", fmt::format("is missing, but {} uses it", to_text(run)));
    return {};
  }
  image.run.plan = *plan;
  const auto live = known_.live.find(run.value);
  if (live != known_.live.end()) live->second.plan = *plan;
  if (auto laid_out = laid_out_again(*plan, image.run.late)) {
    image.run.plan = *std::move(laid_out);
  } else {
    damaged.push_back({"runs", to_text(run), "late_maps", std::move(laid_out.error()), run});
  }
  for (const std::uint32_t node : image.run.stopped) {
    if (node < (*plan)->nodes.size()) continue;
    damaged.push_back({"runs", to_text(run), "stopped",
                       fmt::format("refers to node {}, which the DAG does not have", node), run});
    break;
  }
  return {};
}

Result<void> ImageLoad::fill_tasks(RunImage& image, Damaged& damaged) {
  const KeyRange keys = keys_of(image.run.id);
  image.tasks.reserve(std::min<std::size_t>(
      std::accumulate(image.run.made.begin(), image.run.made.end(), std::size_t{0}),
      image.run.plan->tasks));
  // In slices: a server hands over the rows of a statement as a whole.
  const std::int64_t planned = keys.first + image.run.plan->tasks;
  for (std::int64_t first = keys.first, end = first; end < keys.end; first = end) {
    end = first + kTaskSlice < planned ? first + kTaskSlice : keys.end;
    tasks_.start().number(first).number(end);
    Rows tasks(tasks_);
    while (tasks.next()) {
      image.tasks.push_back(take_task(tasks));
      if (const auto damage = tasks.take_damage()) {
        damaged.push_back(named(*damage, to_text(image.tasks.back().id), image.run.id));
      }
    }
    if (tasks.failed()) return std::unexpected(tasks.error());
  }
  return {};
}

Result<std::optional<RunImage>> ImageLoad::run_image(RunId run) {
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  StoreImage image;
  if (auto done = load_one(image, run); !done) return std::unexpected(done.error());
  if (!image.damaged.empty()) {
    return std::unexpected(Error{Fault::kDamaged, to_text(image.damaged.front())});
  }
  if (image.runs.empty()) return std::optional<RunImage>{};
  return std::move(image.runs.front());
}

}  // namespace vortex::store::sql
