#include "controller/audit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "store/cursor.h"
#include "store/keys.h"

namespace vortex::controller {
namespace {

constexpr std::uint32_t kTasksAtOnce = 2'000;
constexpr std::size_t kRunsAtOnce = 500;
constexpr std::uint32_t kPage = 1'000;
constexpr std::size_t kFleetMax = 20'000;  // beyond it the rest is left to the memory's own check
constexpr std::size_t kFindingsMax = 100;

using Findings = Audit::Findings;

struct TaskCopy {
  std::uint32_t index = 0;
  TaskState state = TaskState::kWaiting;
  Epoch epoch;
  std::string worker;  // of a held task
};

struct RunCopy {
  RunId id;
  RunState state = RunState::kRunning;
  RunEnding ending = RunEnding::kNone;
  bool paused = false;
  std::uint32_t levels_passed = 0;
  TaskCounts made{};
  std::uint32_t from = 0;  // tasks [from, to) of the plan
  std::uint32_t to = 0;
  std::vector<TaskCopy> tasks;
};

RunCopy copy_run(const core::State& state, const core::Run& run, std::uint32_t from,
                 std::uint32_t to) {
  RunCopy copy{run.id,   run.state, run.ending, run.paused, run.levels_passed,
               run.made, from,      to,         {}};
  for (std::uint32_t i = from; i < to; ++i) {
    if (!run.tasks[i].valid()) continue;
    const core::Task& task = state.tasks[run.tasks[i]];
    TaskCopy& one = copy.tasks.emplace_back(TaskCopy{i, task.state(), task.epoch, {}});
    if (const core::Grant* grant = task.grant()) {
      one.worker = state.workers[grant->worker].info->id.text;
    }
  }
  return copy;
}

class Comparing {
 public:
  explicit Comparing(store::Reader& reader) : reader_(reader) {}

  void run(const RunCopy& copy) {
    const auto row = reader_.run(copy.id);
    if (!row) return trouble(to_text(copy.id), row.error());
    if (!*row) return find("{}: the database has no row of this run", to_text(copy.id));
    const store::RunView& view = **row;
    if (view.state != copy.state || view.ending != copy.ending || view.paused != copy.paused) {
      find("{}: the database has it as {}{}, memory as {}{}", to_text(copy.id), to_text(view.state),
           view.paused ? " and paused" : "", to_text(copy.state), copy.paused ? " and paused" : "");
    }
    if (view.levels_passed != copy.levels_passed) {
      find("{}: the database has {} levels passed, memory {}", to_text(copy.id), view.levels_passed,
           copy.levels_passed);
    }
    if (view.made != copy.made) {
      find("{}: the database counts its tasks by state differently", to_text(copy.id));
    }
    tasks(copy);
  }

  void running_elsewhere(const std::set<RunId>& known) {
    store::PageRequest page{kPage, {}};
    store::RunFilter running;
    running.state = RunState::kRunning;
    for (std::size_t seen = 0; seen < kFleetMax; seen += kPage) {
      const auto runs = reader_.runs(running, page);
      if (!runs) return trouble("runs", runs.error());
      for (const store::RunView& view : runs->items) {
        if (!known.contains(view.id)) {
          find("{}: the database has it as Running, memory does not have it", to_text(view.id));
        }
      }
      page.cursor = runs->next_cursor;
      if (page.cursor.empty()) return;
    }
  }

  void workers(std::map<std::string, std::pair<WorkerState, Incarnation>> expected) {
    store::PageRequest page{kPage, {}};
    for (std::size_t seen = 0; seen < kFleetMax; seen += kPage) {
      const auto rows = reader_.workers({}, page);
      if (!rows) return trouble("workers", rows.error());
      for (const store::WorkerView& view : rows->items) {
        const std::string& id = view.row.info->id.text;
        const auto known = expected.find(id);
        if (known == expected.end()) {
          find("worker '{}': the database has a row, memory does not have it", id);
          continue;
        }
        if (known->second != std::pair(view.row.state, view.row.incarnation)) {
          find("worker '{}': the database has it as {} in life {}, memory as {} in life {}", id,
               to_text(view.row.state), view.row.incarnation.value, to_text(known->second.first),
               known->second.second.value);
        }
        expected.erase(known);
      }
      page.cursor = rows->next_cursor;
      if (page.cursor.empty()) break;
    }
    if (!page.cursor.empty()) return;
    for (const auto& [id, life] : expected) find("worker '{}': the database has no row of it", id);
  }

  void leases(std::map<PartitionKey, std::pair<std::string, Epoch>> expected) {
    store::PageRequest page{kPage, {}};
    for (std::size_t seen = 0; seen < kFleetMax; seen += kPage) {
      const auto rows = reader_.leases({}, page);
      if (!rows) return trouble("leases", rows.error());
      for (const PartitionLeaseRow& row : rows->items) {
        const auto known = expected.find(row.partition);
        if (known == expected.end()) continue;
        if (known->second != std::pair(row.holder.text, row.epoch)) {
          find("lease {}/{}: the database has epoch {} of '{}', memory {} of '{}'",
               row.partition.topic, row.partition.partition, row.epoch.value, row.holder.text,
               known->second.second.value, known->second.first);
        }
        expected.erase(known);
      }
      page.cursor = rows->next_cursor;
      if (page.cursor.empty()) break;
    }
    if (!page.cursor.empty()) return;
    for (const auto& [key, held] : expected) {
      find("lease {}/{}: the database has no row of it", key.topic, key.partition);
    }
  }

  Findings take() { return std::move(findings_); }

 private:
  template <class... Parts>
  void find(fmt::format_string<Parts...> form, Parts&&... parts) {
    if (findings_.size() < kFindingsMax) {
      findings_.push_back(fmt::format(form, std::forward<Parts>(parts)...));
    }
  }

  // What cannot be read at all is damage; a database that does not answer now proves nothing.
  void trouble(const std::string& where, const store::Error& error) {
    if (error.fault == store::Fault::kDamaged) find("{}: {}", where, error.detail);
  }

  void tasks(const RunCopy& copy) {
    const auto rows = read_tasks(copy);
    if (!rows) return trouble(to_text(copy.id), rows.error());
    auto at = rows->begin();
    for (const TaskCopy& task : copy.tasks) {
      while (at != rows->end() && at->row.id.index < task.index) extra((at++)->row);
      if (at == rows->end() || at->row.id.index != task.index) {
        find("{}: the database has no row of task {}", to_text(copy.id), task.index);
        continue;
      }
      compare(task, (at++)->row);
    }
    while (at != rows->end()) extra((at++)->row);
  }

  store::Result<std::vector<store::TaskView>> read_tasks(const RunCopy& copy) {
    std::vector<store::TaskView> all;
    store::TaskFilter filter;
    filter.run = copy.id;
    store::PageRequest page{kTasksAtOnce, {}};
    if (copy.from > 0) {
      const auto before = store::key_of({copy.id, copy.from - 1, 0});
      page.cursor = store::write_cursor(
          store::CursorKind::kTasks,
          {.first = static_cast<std::uint64_t>(before.value_or(0)), .second = 0, .third = 0});
    }
    while (true) {
      auto rows = reader_.tasks(filter, page);
      if (!rows) return std::unexpected(rows.error());
      for (store::TaskView& view : rows->items) {
        if (view.row.id.index >= copy.to) return all;
        all.push_back(std::move(view));
      }
      page.cursor = rows->next_cursor;
      if (page.cursor.empty()) return all;
    }
  }

  void extra(const TaskRow& row) {
    find("{}: the database has a row, memory does not have the task", to_text(row.id));
  }

  void compare(const TaskCopy& task, const TaskRow& row) {
    if (row.state != task.state || row.epoch != task.epoch) {
      return find("{}: the database has it {} in epoch {}, memory {} in epoch {}", to_text(row.id),
                  to_text(row.state), row.epoch.value, to_text(task.state), task.epoch.value);
    }
    if (is_held(task.state) && row.worker.text != task.worker) {
      find("{}: the database has it on '{}', memory on '{}'", to_text(row.id), row.worker.text,
           task.worker);
    }
  }

  store::Reader& reader_;
  Findings findings_;
};

}  // namespace

void Audit::begin(std::set<RunId> set_aside) {
  *this = {};
  active_ = true;
  set_aside_ = std::move(set_aside);
}

Audit::Compare Audit::slice(const core::State& state) {
  switch (stage_) {
    case Stage::kMemory:
      if (!core::check_part(state, progress_)) stage_ = Stage::kRuns;
      return {};
    case Stage::kRuns:
      return next_runs(state);
    case Stage::kFleet:
      stage_ = Stage::kDone;
      return fleet(state);
    case Stage::kDone:
      break;
  }
  return {};
}

Audit::Compare Audit::next_runs(const core::State& state) {
  auto copies = std::make_shared<std::vector<RunCopy>>();
  std::uint32_t budget = kTasksAtOnce;
  while (slot_ < state.runs.slots() && budget > 0 && copies->size() < kRunsAtOnce) {
    const core::Run* run = state.runs.at_slot(slot_);
    if (run == nullptr || run->id != large_) next_task_ = 0;
    if (run == nullptr) {
      ++slot_;
      continue;
    }
    large_ = run->id;
    const std::uint32_t to = std::min(next_task_ + budget, run->plan->tasks);
    copies->push_back(copy_run(state, *run, next_task_, to));
    budget -= std::min(budget, std::max(to - next_task_, std::uint32_t{1}));
    next_task_ = to;
    if (to < run->plan->tasks) break;
    ++slot_;
    large_ = {};
    next_task_ = 0;
  }
  if (slot_ >= state.runs.slots()) stage_ = Stage::kFleet;
  if (copies->empty()) return {};
  return [copies](store::Reader& reader) {
    Comparing comparing(reader);
    for (const RunCopy& copy : *copies) comparing.run(copy);
    return comparing.take();
  };
}

Audit::Compare Audit::fleet(const core::State& state) {
  std::set<RunId> runs = set_aside_;
  for (std::size_t slot = 0; slot < state.runs.slots(); ++slot) {
    if (const core::Run* run = state.runs.at_slot(slot)) runs.insert(run->id);
  }
  std::map<std::string, std::pair<WorkerState, Incarnation>> workers;
  for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
    const core::Worker& worker = state.workers[core::WorkerIx{i}];
    if (!state.workers.is_known({i})) continue;
    workers.emplace(worker.info->id.text, std::pair(worker.state, worker.incarnation));
  }
  std::map<PartitionKey, std::pair<std::string, Epoch>> leases;
  for (const auto& [key, entry] : state.leases) {
    leases.emplace(key, std::pair(entry.second.holder.text, entry.second.epoch));
  }
  return [runs = std::move(runs), workers = std::move(workers),
          leases = std::move(leases)](store::Reader& reader) {
    Comparing comparing(reader);
    comparing.running_elsewhere(runs);
    comparing.workers(workers);
    comparing.leases(leases);
    return comparing.take();
  };
}

void Audit::add(Findings findings, Duration took) {
  report_.took = report_.took + took;
  report_.longest = std::max(report_.longest, took);
  for (std::string& what : findings) {
    if (report_.findings.size() < kFindingsMax) report_.findings.push_back(std::move(what));
  }
}

api::ReconcileReport Audit::take_report() {
  add(std::move(progress_.findings), {});
  report_.runs = progress_.runs;
  report_.tasks = progress_.tasks;
  api::ReconcileReport report = std::move(report_);
  drop();
  return report;
}

}  // namespace vortex::controller
