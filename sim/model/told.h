#pragma once
// What the log of events tells: workers, tasks, runs, queues and leases as its reader knows them.
//
// A statement, independent of the core, of which event tells of which change. Events come in the
// order in which things happened, also within one commit, where rows show only how it ended. An
// event that does not follow from those before it is answered with a complaint.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/event.h"
#include "model/ids.h"
#include "model/states.h"

namespace vortex::sim {

enum class Standing : std::uint8_t { kUnknown, kRegistering, kActive, kDraining, kInactive, kGone };

struct ToldWorker {
  Standing standing = Standing::kUnknown;
  Incarnation incarnation;
  std::optional<bool> cordoned = false;  // unset: the worker was forgotten once
  WorkerBlame blame = WorkerBlame::kNone;
  bool suspect = false;
};

// Nobody tells of Waiting, Queued and Skipped: all three stand here as Queued.
struct ToldTask {
  TaskState state = TaskState::kQueued;
  Epoch epoch{1};
  WorkerId worker;                      // held: by whom
  WorkerId previous;                    // Queued again: who had it last
  Instant requeued_at;                  // when it was
  std::optional<EventKind> ended = {};  // held: the end that was told and not what comes of it
};

struct ToldRun {
  bool paused = false;
  bool stopped = false;  // cancelled, or its time is up
  bool finally = false;  // its last tasks have begun, which can be stopped once more
  bool finally_stopped = false;
  std::string state;  // empty: it runs
};

struct ToldLease {
  std::string agent;  // empty: free
  std::int64_t epoch = 0;
};

using LeaseName = std::pair<std::string, std::int64_t>;  // topic and partition

std::optional<std::int64_t> number_in(const Event& event, std::string_view key);
std::string text_in(const Event& event, std::string_view key);  // empty: there is none

class Told {
 public:
  // What is wrong with the event after all that was told before; empty: nothing.
  std::string take(const Event& event);
  // Suspicion is the memory of one leader.
  void begin_term();
  // From here on the log is complete: whoever is told of nothing did nothing.
  bool any() const { return any_; }

  const ToldWorker* worker(const WorkerId& id) const { return find(workers_, id); }
  const ToldTask* task(TaskId id) const { return find(tasks_, id); }
  const ToldRun* run(RunId id) const { return find(runs_, id); }
  const ToldLease* lease(const LeaseName& name) const { return find(leases_, name); }
  // Tasks that this worker holds. Looks at all of them.
  std::size_t held_by(const WorkerId& id) const;
  bool queue_paused(const std::string& name) const { return is_set(queues_, name); }
  bool machine_online(const MachineId& id) const { return is_set(machines_, id); }
  const std::map<WorkerId, ToldWorker>& workers() const { return workers_; }

 private:
  template <class Map>
  static const typename Map::mapped_type* find(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  template <class Map>
  static bool is_set(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found != map.end() && found->second;
  }
  std::string take_task(const Event& event);
  std::string take_end(const Event& event, ToldTask& task);
  std::string take_worker(const Event& event);
  std::string take_run(const Event& event);
  std::string take_switch(const Event& event);
  std::string take_lease(const Event& event);

  bool any_ = false;
  std::map<WorkerId, ToldWorker> workers_;
  std::map<TaskId, ToldTask> tasks_;
  std::map<RunId, ToldRun> runs_;
  std::map<std::string, bool> queues_;  // paused
  std::map<MachineId, bool> machines_;  // online
  std::map<LeaseName, ToldLease> leases_;
};

}  // namespace vortex::sim
