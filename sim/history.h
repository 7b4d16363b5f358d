#pragma once
// What really happened in one simulated run, as a stream of facts for the checkers.
//
// Facts are told in the order of true time, which only the world knows. Commits are what the store
// made durable; answers are what a client was really told; processes are what really ran. A checker
// reads facts and never the controller's memory.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/command.h"
#include "core/effects.h"
#include "core/state/policy.h"
#include "model/event.h"
#include "model/rows.h"
#include "model/sync.h"

namespace vortex::sim {

// One transaction became durable. `term_now` is the term clock of the controller that wrote it.
struct Committed {
  Term term;
  Instant term_now;
  RowBatch rows;
  std::vector<Event> events;
  std::vector<RunId> expired = {};  // finished runs that are forgotten with it, and their keys
};

// A controller took the lead with what it loaded; its grace for silent workers starts here.
struct TermBegan {
  Term term;
  Instant term_now;
};

// The leader learnt that the store takes writes again after it did not: from here a full lease must
// pass before silence counts. (An absence of its own only adds itself to every deadline.)
struct OutageEnded {
  Term term;
  Instant term_now;
};

// A client sent a command and was told the answer, or was left without one.
struct ClientTold {
  core::Command command;
  core::ReplyBody answer;
  Instant asked_at = {};  // true time of the call that was answered
};
struct ClientInDoubt {  // no answer, or not the leader's: it may or may not have happened
  core::Command command;
};

// Processes of tasks, as they are on the hosts.
struct ProcessStarted {
  std::uint64_t process = 0;  // unique in the history
  WorkerId worker;
  Incarnation incarnation;
  Attempt attempt;
};
struct ProcessEnded {
  std::uint64_t process = 0;
};

// Things that excuse an overlap of two processes of one task.
struct HolderPaused {  // this life of the worker did not get the processor for a while
  WorkerId worker;
  Incarnation incarnation;
};
struct HolderReplaced {  // another life of the worker took its place while it was still there
  WorkerId worker;
  Incarnation incarnation;
};
struct ClockBeyondMargin {  // its clock ran wrong by more than the rules allow for
  WorkerId worker;
};
struct HintForged {  // closed and refused, though it lives
  WorkerId worker;
  Incarnation incarnation;
};

// A sync (of this incarnation) reached the leader and was processed at this term time.
struct WorkerHeard {
  Term term;  // by whom; times of different terms are of different clocks
  WorkerId worker;
  Incarnation incarnation;
  Instant term_now;
};

// An answer reached this life of a worker with work to start.
struct WorkerGiven {
  WorkerId worker;
  Incarnation incarnation;
  std::vector<Assignment> assignments;
};
// A worker sends a result or a checkpoint; again and again, until it is acknowledged.
struct WorkerSaid {
  WorkerId worker;
  Incarnation incarnation;
  Report report;
};

struct FaultsStopped {};  // from here on liveness is demanded

using Fact =
    std::variant<Committed, TermBegan, OutageEnded, ClientTold, ClientInDoubt, ProcessStarted,
                 ProcessEnded, HolderPaused, HolderReplaced, ClockBeyondMargin, HintForged,
                 WorkerHeard, WorkerGiven, WorkerSaid, FaultsStopped>;

struct Violation {
  std::string invariant;  // the checker's name
  std::string detail;     // what broke it, with ids, epochs and times
};

}  // namespace vortex::sim
