#pragma once
// One task of one run while it lives in memory, small on purpose: a million of them fit.
//
// What a task is doing is its phase; each phase holds only what it needs. Only core/transitions.cc
// changes the phase. Everything rarely present (checkpoint, step, last error) sits in `notes`.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/state/index.h"
#include "core/state/timers.h"
#include "model/ids.h"
#include "model/rows.h"
#include "model/states.h"

namespace vortex::core {

struct Waiting {};

struct Queued {
  enum class Place : std::uint8_t {
    kNowhere,     // waits for its timer (backoff)
    kReady,       // in the ready list of its class
    kNodeParked,  // its map is at its limit of parallel tasks
    kRunParked,   // its run is paused
    kWait,        // it runs nothing: waits for a time, a signal or an answer
    kChild,       // it is a sub-DAG, whose run it waits for
  };
  Judged ready_at;          // not before
  Judged waiting_since;     // when it became ready
  std::uint64_t order = 0;  // age among its class; lower is older
  RecoveryId recovery;      // ledger item that waits for the new worker; 0: none
  WorkerIx last_worker;     // where its last attempt was
  bool keep_away = false;   // from last_worker, for a while, because another could take it
  Place place = Place::kNowhere;
  Instant due = kNever;                 // of a wait: when its time is up, in true time
  RunId child;                          // kChild: its run; 0: about to be made, in this step
  StopReason stop = StopReason::kNone;  // of a sub-DAG: its run was asked to end
};

// The right to run one attempt: a lease on the task, with the task's epoch as the fence.
struct Grant {
  WorkerIx worker;
  StopReason stop = StopReason::kNone;
  bool listed = false;             // scratch: the call being read names it
  bool acked = false;              // the worker has shown that it knows of it
  bool restored = false;           // made in an earlier term, which may have told the worker
  Instant granted_at;              // true time, for people: nothing is decided by it
  Judged stop_deadline;            // a stop not confirmed by then is taken as lost
  std::uint64_t sent_in = 0;       // the first reply of this term that carried it; 0: none yet
  std::uint64_t stop_sent_in = 0;  // the same for the order to stop
};

struct Scheduled {
  Grant grant;
};

struct Running {
  Grant grant;
  Instant started;                 // true time, for people
  Judged started_at;               // the same as the deadlines count it
  Judged progress_at;              // the last time something moved
  std::uint64_t output_bytes = 0;  // as last told, where output counts as life
  std::uint8_t percent = 0;
  bool watched = false;  // has shown progress, or is to be judged without: the watchdog may
};

struct Final {
  TaskState outcome = TaskState::kCompleted;
  WorkerIx worker;           // where its last attempt was
  Instant started = kNever;  // that attempt, if it started
  std::uint8_t percent = 0;  // what it last said of itself
};

using Phase = std::variant<Waiting, Queued, Scheduled, Running, Final>;

struct TaskNotes {
  std::string checkpoint;
  CheckpointRef uploaded;  // instead, when it is kept in pieces
  std::string step;
  std::string error;
  std::string reused_from;  // id of the task whose result it has; empty: it has its own
  std::int32_t exit_code = 0;
};

struct Task {
  RunIx run;
  std::uint32_t node = 0;
  std::uint32_t index = 0;  // in the run's plan
  TaskLinks links;
  Epoch epoch{1};
  TaskCounters counters;
  bool dirty = false;  // its row is to be written at the end of this step
  Instant created_at;
  Phase phase;
  std::unique_ptr<TaskNotes> notes;

  TaskState state() const {
    if (std::holds_alternative<Waiting>(phase)) return TaskState::kWaiting;
    if (std::holds_alternative<Queued>(phase)) return TaskState::kQueued;
    if (std::holds_alternative<Scheduled>(phase)) return TaskState::kScheduled;
    if (std::holds_alternative<Running>(phase)) return TaskState::kRunning;
    return std::get<Final>(phase).outcome;
  }
  // The grant of a held task, else null.
  Grant* grant() { return const_cast<Grant*>(std::as_const(*this).grant()); }
  const Grant* grant() const {
    if (const auto* scheduled = std::get_if<Scheduled>(&phase)) return &scheduled->grant;
    if (const auto* running = std::get_if<Running>(&phase)) return &running->grant;
    return nullptr;
  }
  // Where its present or last attempt is, as far as its phase remembers.
  WorkerIx last_worker() const;
  TaskNotes& notes_for_writing();
};

// Tasks by position. Pages keep a task where it is for life and growth free of copying.
class TaskTable {
 public:
  TaskIx add();
  void remove(TaskIx ix);

  Task& operator[](TaskIx ix) { return pages_[ix.value / kPage][ix.value % kPage]; }
  const Task& operator[](TaskIx ix) const { return pages_[ix.value / kPage][ix.value % kPage]; }
  std::size_t live() const { return live_; }
  std::uint32_t slots() const { return used_; }  // free ones included
  std::size_t bytes() const;

  void push_back(TaskList& list, TaskIx ix);
  void push_front(TaskList& list, TaskIx ix);
  void unlink(TaskList& list, TaskIx ix);

 private:
  static constexpr std::uint32_t kPage = 256;  // small: a state of a few tasks is made often

  std::vector<std::unique_ptr<Task[]>> pages_;
  std::uint32_t used_ = 0;
  TaskIx free_head_;  // free slots are threaded through links.next
  std::size_t live_ = 0;
};

}  // namespace vortex::core
