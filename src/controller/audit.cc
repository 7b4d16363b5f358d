#include "controller/audit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace vortex::controller {
namespace {

constexpr std::uint32_t kTasksAtOnce = 2'000;
// Tasks whose rows a pass reads whole, for damage in columns that nothing is compared with; of
// more tasks, the next passes read the next ones.
constexpr std::uint64_t kWholeTasks = 4'000;
constexpr std::size_t kRunsAtOnce = 500;
constexpr std::uint32_t kPage = 1'000;
constexpr std::size_t kFleetMax = 20'000;  // beyond it the rest is left to the memory's own check
constexpr std::size_t kFindingsMax = 100;

using Findings = Audit::Findings;

struct RunCopy {
  RunId id;
  PlanPtr plan;
  RunState state = RunState::kRunning;
  RunEnding ending = RunEnding::kNone;
  bool paused = false;
  std::uint32_t levels_passed = 0;
  TaskCounts made{};
  std::vector<store::TaskMark> tasks;
};

// What memory has of some runs, to be compared on another thread.
struct Slice {
  std::vector<store::TaskSpan> spans;
  std::vector<RunCopy> copies;  // one for each span
  store::ReadDepth depth = store::ReadDepth::kMarks;
};

RunCopy copy_run(const core::State& state, const core::Run& run, const store::TaskSpan& span) {
  RunCopy copy{run.id,     run.plan,          run.state, run.ending,
               run.paused, run.levels_passed, run.made,  {}};
  copy.tasks.reserve(span.end - span.first);
  for (std::uint32_t i = span.first; i < span.end; ++i) {
    if (!run.tasks[i].valid()) continue;
    const core::Task& task = state.tasks[run.tasks[i]];
    store::TaskMark& mark = copy.tasks.emplace_back(i, task.state(), task.epoch, std::string());
    if (const core::Grant* grant = task.grant()) {
      mark.worker = state.workers[grant->worker].info->id.text;
    }
  }
  return copy;
}

class Comparing {
 public:
  explicit Comparing(store::Reader& reader) : reader_(reader) {}

  void runs(const Slice& slice) {
    const auto marks = reader_.marks(slice.spans, slice.depth);
    if (!marks) return trouble("runs", marks.error());
    for (std::size_t i = 0; i < slice.spans.size(); ++i) {
      run(slice.copies[i], (*marks)[i]);
    }
  }

  void running_elsewhere(const std::set<RunId>& known) {
    const auto running = reader_.running(kFleetMax);
    if (!running) return trouble("runs", running.error());
    for (const RunId id : *running) {
      if (known.contains(id)) continue;
      find("{}: Running in the database, but not in memory", to_text(id));
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
          find("worker '{}': in the database, but not in memory", id);
          continue;
        }
        if (known->second != std::pair(view.row.state, view.row.incarnation)) {
          find(
              "worker '{}': {} with incarnation {} in the database, {} with incarnation {} in "
              "memory",
              id, to_text(view.row.state), view.row.incarnation.value, to_text(known->second.first),
              known->second.second.value);
        }
        expected.erase(known);
      }
      page.cursor = rows->next_cursor;
      if (page.cursor.empty()) break;
    }
    if (!page.cursor.empty()) return;
    for (const auto& [id, life] : expected) find("worker '{}': not in the database", id);
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
          find("lease {}/{}: epoch {} of '{}' in the database, {} of '{}' in memory",
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
      find("lease {}/{}: not in the database", key.topic, key.partition);
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

  void run(const RunCopy& copy, const store::RunMarks& marks) {
    const RunId id = copy.id;
    if (!marks.is_there) return find("{}: the run is not in the database", to_text(id));
    if (!marks.damage.empty()) return find("{}: {}", to_text(id), marks.damage);
    if (marks.state != copy.state || marks.ending != copy.ending || marks.paused != copy.paused) {
      find("{}: {}{} in the database, {}{} in memory", to_text(id), to_text(marks.state),
           marks.paused ? " and paused" : "", to_text(copy.state),
           copy.paused ? " and paused" : "");
    }
    if (marks.levels_passed != copy.levels_passed) {
      find("{}: {} levels passed in the database, {} in memory", to_text(id), marks.levels_passed,
           copy.levels_passed);
    }
    if (marks.made != copy.made) {
      find("{}: the counts of tasks by state differ from the database", to_text(id));
    }
    tasks(copy, marks.tasks);
  }

  // Both are in the order of their indexes: one walk over both.
  void tasks(const RunCopy& copy, const std::vector<store::TaskMark>& rows) {
    auto at = rows.begin();
    for (const store::TaskMark& task : copy.tasks) {
      while (at != rows.end() && at->index < task.index) extra(copy, *at++);
      if (at == rows.end() || at->index != task.index) {
        find("{}: task {} is not in the database", to_text(copy.id), task.index);
        continue;
      }
      compare(copy, task, *at++);
    }
    while (at != rows.end()) extra(copy, *at++);
  }

  static std::string name_of(const RunCopy& copy, std::uint32_t index) {
    const std::uint32_t node = copy.plan->node_of_task(index);
    return to_text(TaskId{copy.id, index, copy.plan->nodes[node].level});
  }

  void extra(const RunCopy& copy, const store::TaskMark& row) {
    find("{}: in the database, but not in memory", name_of(copy, row.index));
  }

  void compare(const RunCopy& copy, const store::TaskMark& task, const store::TaskMark& row) {
    if (row.state != task.state || row.epoch != task.epoch) {
      return find("{}: {} in epoch {} in the database, {} in epoch {} in memory",
                  name_of(copy, task.index), to_text(row.state), row.epoch.value,
                  to_text(task.state), task.epoch.value);
    }
    if (is_held(task.state) && row.worker != task.worker) {
      find("{}: on '{}' in the database, on '{}' in memory", name_of(copy, task.index), row.worker,
           task.worker);
    }
  }

  store::Reader& reader_;
  Findings findings_;
};

}  // namespace

void Audit::begin(std::set<RunId> set_aside) {
  drop();
  active_ = true;
  set_aside_ = std::move(set_aside);
}

void Audit::drop() {
  const std::uint64_t whole_from = whole_from_;
  *this = {};
  whole_from_ = whole_from;
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
  auto slice = std::make_shared<Slice>();
  const bool whole = compared_ >= whole_from_ && compared_ - whole_from_ < kWholeTasks;
  slice->depth = whole ? store::ReadDepth::kWholeRows : store::ReadDepth::kMarks;
  std::uint32_t budget = kTasksAtOnce;
  while (slot_ < state.runs.slots() && budget > 0 && slice->spans.size() < kRunsAtOnce) {
    const core::Run* run = state.runs.at_slot(slot_);
    if (run == nullptr || run->id != large_) next_task_ = 0;
    if (run == nullptr) {
      ++slot_;
      continue;
    }
    large_ = run->id;
    const std::uint32_t to = std::min(next_task_ + budget, run->plan->tasks);
    const store::TaskSpan span{run->id, next_task_, to};
    slice->copies.push_back(copy_run(state, *run, span));
    slice->spans.push_back(span);
    const std::uint32_t cost = std::max(to - next_task_, std::uint32_t{1});
    budget -= std::min(budget, cost);
    compared_ += cost;
    next_task_ = to;
    if (to < run->plan->tasks) break;
    ++slot_;
    large_ = {};
    next_task_ = 0;
  }
  if (slot_ >= state.runs.slots()) {
    stage_ = Stage::kFleet;
    whole_from_ = compared_ > whole_from_ + kWholeTasks ? whole_from_ + kWholeTasks : 0;
  }
  if (slice->spans.empty()) return {};
  return [slice](store::Reader& reader) {
    Comparing comparing(reader);
    comparing.runs(*slice);
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
