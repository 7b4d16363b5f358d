#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/leader_time.h"
#include "sim/model/told.h"

namespace vortex::sim {

namespace {

Standing standing_of(WorkerState state) {
  switch (state) {
    case WorkerState::kRegistering:
      return Standing::kRegistering;
    case WorkerState::kIdle:
    case WorkerState::kRunning:
      return Standing::kActive;
    case WorkerState::kDraining:
      return Standing::kDraining;
    case WorkerState::kInactive:
      return Standing::kInactive;
    case WorkerState::kOffline:
      break;
  }
  return Standing::kGone;
}

// As the log has it: what nobody tells of looks the same to its reader.
TaskState shown(TaskState state) {
  const bool quiet = state == TaskState::kWaiting || state == TaskState::kSkipped;
  return quiet ? TaskState::kQueued : state;
}

// 36: every change is told by exactly one event, and none is told that did not happen: whoever
// reads the log alone knows tasks, workers, runs, queues, machines and leases as the rows have
// them.
class EventsTellAll : public Checker {
 public:
  explicit EventsTellAll(const CheckerTools& tools) : Checker("36-events-tell-all", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (latest_.begins(fact)) told_.begin_term();
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    counts_.clear();
    for (const Event& event : commit->events) take(event);
    if (!told_.any()) return;  // a history without its log
    for (const auto& change : picture.tasks().changes()) check_task(*change.after);
    for (const auto& change : picture.workers().changes()) check_worker(*change.after);
    for (const auto& change : picture.runs().changes()) check_run(*change.after);
    check_switches(picture);
    check_attempts(picture);
    check_letters(picture);
    check_recoveries(picture, commit->rows);
  }

 private:
  struct Counts {
    int completes = 0;
    int failures = 0;
    int timeouts = 0;
    int deaths = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  void take(const Event& event) {
    const std::string complaint = told_.take(event);
    if (!complaint.empty() && told_.any()) {
      violated("event {} ({}{}{}) does not follow: {}", event.seq, to_text(event.kind),
               event.task ? " of " + say(*event.task) : "",
               event.worker.empty() ? "" : " on '" + event.worker.text + "'", complaint);
    }
    if (!event.task) return;
    Counts& counts = counts_[*event.task];
    // What no worker had has no attempts of its own.
    const bool held = !event.worker.empty();
    if (event.kind == EventKind::kTaskComplete && held) ++counts.completes;
    if (event.kind == EventKind::kTaskFailed && held) ++counts.failures;
    if (event.kind == EventKind::kTaskTimeout && held) ++counts.timeouts;
    const bool dies =
        event.kind == EventKind::kTaskDeadLettered || event.kind == EventKind::kTaskQuarantined;
    if (dies) ++counts.deaths;
  }

  void check_task(const TaskRow& row) {
    const ToldTask* known = told_.task(row.id);
    const ToldTask told = known != nullptr ? *known : ToldTask{};
    const bool same = told.state == shown(row.state) && told.epoch == row.epoch &&
                      (!is_held(row.state) || told.worker == row.worker);
    if (same && !told.ended) return;
    violated("{} is in the log as {} epoch {}{}", say(row), to_text(told.state), told.epoch.value,
             told.ended ? ", its end told and nothing more" : "");
  }

  void check_worker(const WorkerRow& row) {
    const ToldWorker* known = told_.worker(row.info->id);
    const ToldWorker told = known != nullptr ? *known : ToldWorker{};
    if (known != nullptr && told.standing == Standing::kUnknown) return;  // forgotten once
    const Holder holder{row.info->id, row.incarnation};
    if (told.standing != standing_of(row.state) || told.incarnation != row.incarnation) {
      violated("{} is {}, and in the log life {} in standing {}", say(holder), to_text(row.state),
               told.incarnation.value, static_cast<int>(told.standing));
    }
    if (told.cordoned && *told.cordoned != row.cordoned) {
      violated("{} is {}cordoned, and the log does not say so", say(holder),
               row.cordoned ? "" : "not ");
    }
    if (told.cordoned && told.blame != row.blame) {
      violated("{} is blamed as '{}', and in the log as '{}'", say(holder), to_text(row.blame),
               to_text(told.blame));
    }
    if (told.suspect != row.suspect) {
      violated("{} is {}suspect, and the log does not say so", say(holder),
               row.suspect ? "" : "not ");
    }
  }

  void check_run(const RunRow& row) {
    const ToldRun* known = told_.run(row.id);
    if (known == nullptr) return violated("run {} is not in the log", to_text(row.id));
    const bool runs = row.state == RunState::kRunning;
    const bool stopped = row.ending != RunEnding::kNone || row.finally_ending != RunEnding::kNone;
    const bool same = known->paused == row.paused && known->stopped == stopped &&
                      (runs ? known->state.empty() : known->state == to_text(row.state));
    if (same) return;
    violated("run {} is {}{}{}, and in the log '{}'{}{}", to_text(row.id), to_text(row.state),
             row.paused ? ", paused" : "", stopped ? ", stopped" : "", known->state,
             known->paused ? ", paused" : "", known->stopped ? ", stopped" : "");
  }

  void check_switches(const Picture& picture) {
    for (const auto& change : picture.queues().changes()) {
      if (told_.queue_paused(change.after->name) != change.after->paused) {
        violated("queue '{}' is not as the log has it", change.after->name);
      }
    }
    for (const auto& change : picture.machines().changes()) {
      if (told_.machine_online(change.after->id) != change.after->online) {
        violated("machine '{}' is not as the log has it", change.after->id.text);
      }
    }
    for (const auto& change : picture.leases().changes()) {
      const PartitionLeaseRow& row = *change.after;
      const ToldLease* told = told_.lease({row.partition.topic, row.partition.partition});
      const bool same = told != nullptr && told->agent == row.holder.text &&
                        told->epoch == static_cast<std::int64_t>(row.epoch.value);
      if (!same) violated("partition {} is not as the log has it", say(row.partition));
    }
  }

  void check_attempts(const Picture& picture) {
    std::map<TaskId, Counts> due;
    for (const auto& change : picture.attempts().changes()) {
      Counts& counts = due[change.after->attempt.task];
      switch (change.after->verdict) {
        case Verdict::kCompleted:
          ++counts.completes;
          break;
        case Verdict::kExitCode:
        case Verdict::kSignal:
        case Verdict::kOutOfMemory:
        case Verdict::kCouldNotStart:
          ++counts.failures;
          break;
        case Verdict::kExecutionTimeout:
        case Verdict::kStale:
        case Verdict::kNotStartedInTime:
          ++counts.timeouts;
          break;
        default:
          break;
      }
    }
    for (auto [task, counts] : counts_) {
      counts.deaths = 0;
      const auto found = due.find(task);
      if (counts == (found == due.end() ? Counts{} : found->second)) continue;
      violated("{}: told of {} results, {} failures, {} timeouts; its attempts say otherwise",
               say(task), counts.completes, counts.failures, counts.timeouts);
    }
    for (const auto& [task, counts] : due) {
      if (counts == Counts{} || counts_.contains(task)) continue;
      violated("the end of an attempt at {} is not in the log", say(task));
    }
  }

  void check_letters(const Picture& picture) {
    std::map<TaskId, int> due;
    for (const auto& change : picture.dead_letters().changes()) {
      if (!change.before) ++due[change.after->attempt.task];
    }
    for (const auto& [task, counts] : counts_) {
      const auto found = due.find(task);
      if (counts.deaths != (found == due.end() ? 0 : found->second)) {
        violated("{} died {} times in the log, not in the dead letters", say(task), counts.deaths);
      }
    }
    for (const auto& [task, letters] : due) {
      if (!counts_.contains(task)) violated("the death of {} is not in the log", say(task));
    }
  }

  // A loss is told by the worker's going; of a part that a hint took, by the ledger alone.
  void check_recoveries(const Picture& picture, const RowBatch& rows) {
    for (const auto& change : picture.recoveries().changes()) {
      const RecoveryRow& row = *change.after;
      const ToldWorker* told = told_.worker(row.worker);
      const bool gone = told != nullptr &&
                        (told->incarnation > row.incarnation || told->standing == Standing::kGone ||
                         told->standing == Standing::kInactive);
      // Forgotten before, or in this commit, in which it may have begun anew.
      const bool forgotten =
          (told != nullptr && told->standing == Standing::kUnknown) ||
          std::ranges::find(rows.workers_gone, row.worker) != rows.workers_gone.end();
      if (gone || forgotten || row.evidence == Evidence::kHint) continue;
      violated("recovery {} of {} is not in the log", row.id.value,
               say(Holder{row.worker, row.incarnation}));
    }
  }

  Told told_;
  LatestTerm latest_;
  std::map<TaskId, Counts> counts_;  // of the commit being checked
};

}  // namespace

void add_event_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<EventsTellAll>(tools));
}

}  // namespace vortex::sim
