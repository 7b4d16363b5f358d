// bench_audit: what a thorough check costs a controller, over N live tasks in a SQLite file.
//
// Every slice of a pass is taken and compared as the engine does it, beside a bare loop that steps
// over the same rows and reads the same four columns. Live tasks are half queued, half held. Three
// shapes: one map over all tasks, runs of 1,000 plain tasks, and maps of ten, where runs cost most.

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/store/lives.h"
#include "controller/audit.h"
#include "core/load.h"
#include "store/sqlite/open.h"

namespace vortex::bench {
namespace {

constexpr std::uint32_t kWorkers = 50;
constexpr std::uint32_t kTasksPerCommit = 10'000;
const Instant kBegin{1'771'800'000'000'000};

struct Sizes {
  std::uint32_t tasks = 100'000;
  std::uint32_t rounds = 9;
  std::string folder;
};

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "bench_audit: {}\n", what);
  std::exit(1);
}

template <class T>
T must(store::Result<T> result) {
  if (!result) give_up(result.error().detail);
  return *std::move(result);
}
void must(store::Result<void> result) {
  if (!result) give_up(result.error().detail);
}

WorkerId worker_of(std::uint32_t index) {
  return WorkerId(fmt::format("worker-{:06}", index % kWorkers));
}

void add_workers(Commit& commit, std::uint32_t slots) {
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    auto info = std::make_shared<WorkerInfo>();
    info->id = worker_of(i);
    info->name = info->id.text;
    info->machine = MachineId("machine");
    info->slots = slots;
    WorkerRow& row = commit.rows.workers.emplace_back();
    row.info = std::move(info);
    row.incarnation = {1};
    row.state = WorkerState::kRunning;
    row.registered_at = row.last_heartbeat = kBegin;
  }
  commit.rows.machines.push_back({.id = MachineId("machine"), .online = true, .since = kBegin});
}

TaskRow live_task(RunId run, const DagPlan& plan, std::uint32_t index) {
  TaskRow row;
  row.id = {.run = run, .index = index, .level = 0};
  row.level = 0;
  row.node = plan.node_of_task(index);
  row.state = index % 2 == 0 ? TaskState::kQueued : TaskState::kScheduled;
  row.created_at = row.updated_at = row.ready_at = kBegin;
  if (row.state == TaskState::kQueued) return row;
  row.worker = worker_of(static_cast<std::uint32_t>(run.value) + index / 2);
  row.incarnation = {1};
  row.epoch = {1};
  row.granted_at = kBegin;
  row.counters.attempts = 1;
  return row;
}

RunRow live_run(RunId id, const PlanPtr& plan) {
  RunRow run;
  run.id = id;
  run.plan = plan;
  run.request = std::make_shared<RunRequest>();
  run.created_at = kBegin;
  run.finished_at = kNever;
  run.made[number_of(TaskState::kScheduled)] = plan->tasks / 2;
  run.made[number_of(TaskState::kQueued)] = plan->tasks - plan->tasks / 2;
  return run;
}

// Each task a node of its own.
PlanPtr flat_plan(std::uint32_t tasks) {
  DagSpec spec;
  spec.name = "bench";
  for (std::uint32_t i = 0; i < tasks; ++i) {
    NodeSpec& node = spec.nodes.emplace_back();
    node.name = fmt::format("task-{:04}", i);
    node.command.argv = {"true"};
  }
  auto plan = compile(std::move(spec), {});
  if (!plan) give_up("the plan is refused");
  return *plan;
}

void fill(store::Writer& writer, Term term, std::uint32_t runs, const PlanPtr& plan) {
  const std::uint32_t tasks_each = plan->tasks;
  const auto fresh = [&] {
    Commit commit;
    commit.term = term;
    commit.now = kBegin;
    return commit;
  };
  Commit commit = fresh();
  add_workers(commit, runs * tasks_each);
  CounterRow counters;
  counters.next_run = {runs + 1};
  counters.tasks[number_of(TaskState::kScheduled)] = std::uint64_t{runs} * (tasks_each / 2);
  counters.tasks[number_of(TaskState::kQueued)] =
      std::uint64_t{runs} * (tasks_each - tasks_each / 2);
  commit.rows.counters = counters;
  for (std::uint32_t run = 1; run <= runs; ++run) {
    commit.rows.runs.push_back(live_run({run}, plan));
    for (std::uint32_t i = 0; i < tasks_each; ++i) {
      commit.rows.tasks.push_back(live_task({run}, *plan, i));
      if (commit.rows.tasks.size() < kTasksPerCommit) continue;
      must(writer.commit(commit));
      commit = fresh();
    }
  }
  must(writer.commit(commit));
}

// One whole pass, sliced as the engine slices it.
api::ReconcileReport pass(const core::State& state, store::Reader& reader, Duration& memory) {
  controller::Audit audit;
  audit.begin({});
  memory = {};
  while (!audit.is_complete()) {
    const Instant begin = boot_clock_now();
    const auto compare = audit.slice(state);
    const Instant sliced = boot_clock_now();
    memory = memory + (sliced - begin);
    audit.add({}, sliced - begin);
    if (!compare) continue;
    auto findings = compare(reader);
    audit.add(std::move(findings), boot_clock_now() - sliced);
  }
  return audit.take_report();
}

// The least it can cost to look at these rows: SQLite alone, one statement, four columns.
Duration bare_select(const std::string& path) {
  sqlite3* db = nullptr;
  sqlite3_stmt* rows = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr) !=
          SQLITE_OK ||
      sqlite3_prepare_v2(db, "SELECT task_key, state, epoch, worker_id FROM task_instances", -1,
                         &rows, nullptr) != SQLITE_OK) {
    give_up("the bare loop cannot read the file");
  }
  const Instant begin = boot_clock_now();
  std::uint64_t sum = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    sum +=
        static_cast<std::uint64_t>(sqlite3_column_int64(rows, 0) + sqlite3_column_int64(rows, 2));
    sum += sqlite3_column_text(rows, 1)[0];
    sum += static_cast<std::uint64_t>(sqlite3_column_bytes(rows, 3));
  }
  const Duration took = boot_clock_now() - begin;
  sqlite3_finalize(rows);
  sqlite3_close(db);
  if (sum == 0) give_up("there are no rows");
  return took;
}

// Time of this process on the processor: says the same on a busy machine as on a quiet one.
double cpu_millis() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

double millis_of(Duration took) { return static_cast<double>(took.us) / 1e3; }

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Prints a row of the table, gives back its part of the JSON.
std::string measure(const char* shape, const Sizes& sizes, const PlanPtr& plan) {
  store::SqliteOptions options;
  options.path = fmt::format("{}/{}.db", sizes.folder, shape);
  const auto store = must(store::open_sqlite(options));
  const auto won = must(store->writer().acquire({ControllerId{"bench"}, {}}, seconds(10)));
  const Term term = std::get<store::Won>(won).term;
  fill(store->writer(), term, std::max(sizes.tasks / plan->tasks, 1U), plan);
  core::Effects repairs;
  const core::State state = core::load({}, term, kBegin, 1, must(store->writer().image()), repairs);
  const auto reader = must(store->reader());
  std::vector<double> took, cpu, memory, longest, bare, bare_cpu;
  api::ReconcileReport report;
  for (std::uint32_t round = 0; round < sizes.rounds; ++round) {
    Duration in_memory;
    const double began = cpu_millis();
    report = pass(state, *reader, in_memory);
    const double ended = cpu_millis();
    if (!report.findings.empty()) give_up("found: " + report.findings.front());
    took.push_back(millis_of(report.took));
    memory.push_back(millis_of(in_memory));
    longest.push_back(millis_of(report.longest));
    bare.push_back(millis_of(bare_select(options.path)));
    cpu.push_back(ended - began);
    bare_cpu.push_back(cpu_millis() - ended);
  }
  const double ratio = middle(cpu) / middle(bare_cpu);
  const double best = *std::ranges::min_element(took);
  fmt::print(
      "{:>10} {:>8} {:>8} {:>8.1f} {:>8.1f} {:>8.1f} {:>9.1f} {:>8.1f} {:>8.1f} {:>8.1f} "
      "{:>6.2f}\n",
      shape, report.runs, report.tasks, middle(took), best, middle(cpu), middle(memory),
      middle(longest), middle(bare), middle(bare_cpu), ratio);
  return fmt::format(
      R"("{}":{{"tasks":{},"pass_ms":{:.1f},"best_pass_ms":{:.1f},"pass_cpu_ms":{:.1f},)"
      R"("memory_ms":{:.1f},"longest_slice_ms":{:.1f},"bare_ms":{:.1f},"bare_cpu_ms":{:.1f},)"
      R"("ratio":{:.2f}}})",
      shape, report.tasks, middle(took), best, middle(cpu), middle(memory), middle(longest),
      middle(bare), middle(bare_cpu), ratio);
}

int run(int argc, char** argv) {
  Sizes sizes;
  CLI::App app("What a thorough check of memory against the database costs");
  app.add_option("--tasks", sizes.tasks, "live tasks")->check(CLI::Range(10U, 10'000'000U));
  app.add_option("--rounds", sizes.rounds, "passes; the middle one counts")
      ->check(CLI::Range(1U, 1'000U));
  app.add_option("--folder", sizes.folder, "where the files go; a temporary folder if not given");
  CLI11_PARSE(app, argc, argv);
  const auto base = sizes.folder.empty() ? std::filesystem::temp_directory_path()
                                         : std::filesystem::path(sizes.folder);
  const auto folder = base / fmt::format("bench-audit-{}", ::getpid());
  std::filesystem::create_directories(folder);
  sizes.folder = folder.string();
  fmt::print("{:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>6}   all in ms\n",
             "shape", "runs", "tasks", "pass", "best", "its cpu", "in memory", "longest", "bare",
             "its cpu", "ratio");
  const std::string one = measure("one_map", sizes, wide_plan(sizes.tasks));
  const std::string flat = measure("flat_runs", sizes, flat_plan(1'000));
  const std::string small = measure("small_maps", sizes, wide_plan(10));
  fmt::print("{{{},{},{}}}\n", one, flat, small);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace vortex::bench

int main(int argc, char** argv) { return vortex::bench::run(argc, argv); }
