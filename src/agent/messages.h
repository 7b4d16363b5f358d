#pragma once
// What goes into the agent and what comes out of it, as plain data.
//
// Inputs are facts that the shell (network, executor, signals, timer) has observed; outputs are
// orders to it. The shell answers every call exactly once or, after HangUp, not at all; a channel
// of a controller carries one call at a time. It answers every StartProcess
// with ProcessCouldNotStart or, once all processes of the attempt are gone, with ProcessExited.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/sync.h"

namespace vortex::agent {

// Numbers every call of one worker process. The number of a sync is also its `seq`.
using CallId = StrongNumber<struct CallTag>;
// A position in the list of controllers that the shell knows by address.
using ControllerIx = StrongIndex<struct ControllerListTag>;

// ---- Inputs ----

struct Start {};

struct RegisterAccepted {
  Term term;
  Duration lease;
  Duration heartbeat_interval = {};  // H and F of the controller; zero: not told
  Duration self_fence = {};
  std::string session =
      {};  // goes with everything that is said in this life; empty: none is needed
};
struct RegisterRefused {  // a life of this worker with this or a later incarnation is known
  Incarnation current;
};
struct RegisterAnswer {
  CallId call;
  std::variant<RegisterAccepted, RegisterRefused> result;
};
struct SyncAnswer {
  CallId call;
  std::variant<SyncReply, SyncRefusal> result;
};
// No usable answer: refused connection, time limit, 503, not the leader. Whether the call had an
// effect is not known.
struct CallFailed {
  CallId call;
  Duration retry_after;  // zero: the controller did not say
  ControllerIx leader;   // valid: the controller knows who leads
};

// The shell knows this many addresses now; those it knew before keep their places.
struct ControllersKnown {
  std::uint32_t count = 1;
};

struct ProcessStarted {
  Attempt attempt;
};
struct ProcessCouldNotStart {
  enum class Fault : std::uint8_t {
    kTask,    // its command, its folder
    kWorker,  // of the worker or on the way to the controller: the task is not blamed
  };
  Attempt attempt;
  std::int32_t code = 0;
  std::string message;
  Fault fault = Fault::kTask;
};
struct ProcessProgress {
  Attempt attempt;
  Progress progress;
};
// All that it has written so far; told now and then, where output counts as life.
struct ProcessOutput {
  Attempt attempt;
  std::uint64_t bytes = 0;
};
struct ProcessCheckpoint {
  Attempt attempt;
  std::string data;
};
// We had begun to kill it. Many programs end with exit code 0 on SIGTERM: whatever the exit code,
// an end after the first signal of ours is this and not Completed or Failed.
struct Killed {
  enum class By : std::uint8_t {
    kOrder,        // the agent had asked for it
    kFence,        // tasks_until() had passed; it may also never have been started for that reason
    kRunnerLoss,   // whoever ran it was killed, and the task with it
    kWorkerFault,  // it ended by itself, but the worker could not read its outputs
  };
  By by = By::kOrder;
};
// All processes of the attempt are gone. Nothing is said about this attempt afterwards.
struct ProcessExited {
  Attempt attempt;
  std::variant<Completed, Failed, Killed> result;
};

struct DrainRequested {};  // take nothing new, finish what runs within shutdown_timeout, leave
struct ReleaseNow {};      // leave without waiting for what runs
struct Tick {};            // at next_wake() or sooner

using Input = std::variant<Start, RegisterAnswer, SyncAnswer, CallFailed, ProcessStarted,
                           ProcessCouldNotStart, ProcessProgress, ProcessOutput, ProcessCheckpoint,
                           ProcessExited, DrainRequested, ReleaseNow, Tick, ControllersKnown>;

// ---- Outputs ----

// The two connections: one holds the parked poll, the other is never made to wait.
enum class Channel : std::uint8_t { kPoll, kReport };

struct SendRegister {
  ControllerIx controller;
  CallId call;
  WorkerInfo info;
  Incarnation incarnation;
  Duration time_limit;
};
struct SendSync {
  ControllerIx controller;
  Channel channel = Channel::kPoll;
  CallId call;
  SyncRequest request;  // the shell adds worker_clock
  Duration time_limit;  // no answer by then: CallFailed
  std::string session = {};
};

// The agent has given this call up: cut it off, its connection may carry another.
struct HangUp {
  ControllerIx controller;
  Channel channel = Channel::kPoll;
  CallId call;
};

struct StartProcess {
  Assignment assignment;
};

enum class KillWhy : std::uint8_t {
  kStopped,
  kTimedOut,
  kSelfFenced,
  kDrained,
  kNotStarted,   // held ahead for too long
  kStale,        // nothing is reported
  kSessionOver,  // nothing is reported
};
constexpr bool is_silent(KillWhy why) { return why >= KillWhy::kStale; }

// TERM, grace and KILL are the executor's; ProcessExited tells when all is gone.
struct KillProcess {
  Attempt attempt;
  KillWhy why = KillWhy::kStopped;
};

struct Exit {
  enum class How : std::uint8_t { kDrained, kSuperseded };
  How how = How::kDrained;
};

using Output = std::variant<SendRegister, SendSync, HangUp, StartProcess, KillProcess, Exit>;
using Outbox = std::vector<Output>;

}  // namespace vortex::agent
