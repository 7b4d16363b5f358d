#pragma once
// Everything about one simulated run that is decided before it starts, drawn from its seed.
//
// Plain data. Positions in the lists are stable: leaving a fault, an act or a worker out
// (sim/case.h) marks it and moves nothing else.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/time.h"
#include "core/state/policy.h"
#include "model/dag.h"
#include "model/sync.h"
#include "sim/case.h"
#include "sim/fault.h"
#include "sim/host_clock.h"
#include "sim/network.h"

namespace vortex::sim {

struct Timings {
  core::Policy policy;     // L, H, K, S and the rest
  Duration self_fence;     // F
  Duration agent_tick;     // how late a worker's wake-up may come
  Duration leader_lease;   // how long a controller leads without renewing
  Duration store_limit;    // a commit without an answer by then is in doubt
  Duration store_stalled;  // a commit that takes longer means the store does not write
  Duration client_limit;   // how long clients wait for an answer
  Duration keep_alive;     // after which a cut connection counts as closed
};

struct StoreStrength {
  Duration latency_min = micros(200);
  Duration latency_max = millis(3);
  std::uint32_t abort_permille = 0;
  std::uint32_t lost_answer_permille = 0;  // committed or not, the answer does not come
  Duration transfer_max;                   // how long the image of everything takes to arrive
};

// How the tasks of one node behave on their workers.
struct NodeTraits {
  Duration runs_min = millis(5);
  Duration runs_max = millis(50);
  std::uint32_t fail_permille = 0;
  std::int32_t exit_code = 1;
  bool fails_by_signal = false;
  std::uint32_t hang_permille = 0;
  bool poison = false;  // kills the worker process it runs in
  bool ignores_term = false;
  std::uint32_t no_start_permille = 0;
  std::uint32_t slow_start_permille = 0;  // is not up before the limit for starting
  Duration progress_every;                // zero: says nothing
  bool checkpoints = false;
  // Since the second drawing.
  bool out_of_memory = false;            // what fails does so for want of memory
  bool outputs = false;                  // completes with a value of its own
  std::uint32_t too_large_permille = 0;  // of outputs and checkpoints
  bool uploads = false;                  // its checkpoints are kept in pieces
  Duration writes_every;                 // zero: writes no output
  // Since the eighth.
  std::string list;  // completes with this as the output l, as JSON; empty: without
};

inline constexpr Duration kTurnMax = micros(500);  // of a controller that is not busy

// How much of what is finished the store keeps, and how it forgets the rest.
struct RunRetention {
  Duration runs_for;           // since a run finished; zero: no such limit
  std::uint64_t runs_max = 0;  // finished runs; zero: no such limit
  Duration interval;           // how often the leader looks
  std::uint32_t at_once = 1;   // runs that are forgotten in one commit
  std::uint32_t sweep_rows = 1;
};

struct RunDraft {
  DagSpec dag;
  std::vector<NodeTraits> traits;  // by position in dag.nodes
  std::string key;                 // empty: none
  Labels labels = {};
  std::string params = {};     // JSON; empty: as the DAG declares them
  std::uint32_t runs = 1;      // at most, for what all of them may take
  bool child = false;          // nobody submits it: it is a sub-DAG of others
  Instant starts_at = kNever;  // since the thirteenth drawing; kNever: at once
};

enum class ActKind : std::uint8_t {
  kSubmit,
  kSubmitSameKey,   // the same request again: the same run
  kSubmitOtherKey,  // another request under a used key: refused
  kCancelRun,
  kPauseRun,
  kCancelTask,
  kRetryTask,
  kRedrive,
  kDiscard,
  kCordon,
  kReset,
  kDrain,
  kPauseQueue,
  // Since the second drawing.
  kDrainWithin,
  kDelete,
  kCheckAttempt,  // may the holder of this attempt still act?
  kSubmitWrong,   // no such DAG can run: refused
  kMalformed,     // no sense in it, or about nothing there is: refused
  // Since the ninth drawing. Which DAG: `draft`.
  kApplyDag,
  kChangeDag,  // applied with another interval, or with the first one again
  kDeleteDag,
  kPauseSchedule,
  kTriggerSchedule,
  // Since the tenth drawing.
  kSignal,  // to a run, under a name that something waits for, or not
  kAnswer,  // to an approval: in time, too early, again, or the other way round
  // Since the eleventh drawing.
  kSubmitMore,   // another run of the same DAG, with a key and a param of its own
  kSetLimit,     // limit number `draft`
  kDeleteLimit,  // the same
  // Since the twelfth drawing, of any run there is, children as well.
  kCancelAny,
  kPauseAny,
  // Since the thirteenth drawing.
  kRerun,  // a new run that keeps what is still valid of an earlier one
};

struct Act {
  Instant at;
  ActKind kind = ActKind::kSubmit;
  std::uint32_t draft = 0;  // kSubmit: which run
  std::uint64_t pick = 0;   // else: which of those there are at that time
  bool on = true;           // pause or resume, cordon or uncordon
  bool dropped = false;
};

struct WorkerSetup {
  WorkerInfo info;
  std::uint32_t machine = 0;
  bool absent = false;
  // Takes what it is given, never starts it, and forgets it without a word when told to stop.
  bool slack = false;
  // What every other life of it registers with, while there are faults; unset: always the same.
  std::optional<WorkerInfo> other = {};
};

struct Setup {
  std::uint64_t seed = 1;
  Scenario scenario = Scenario::kSwarm;
  std::vector<bool> on;  // by FaultKind
  Timings timings;
  std::uint32_t controllers = 1;
  std::uint32_t machines = 1;
  std::vector<WorkerSetup> workers;
  std::vector<HostClock> controller_clocks;
  std::vector<HostClock> machine_clocks;
  HostClock store_clock;
  LinkStrength links;
  StoreStrength store;
  std::uint32_t boundary_crash_permille = 0;
  std::optional<std::uint32_t> boundary_crash_at;  // the n-th boundary, for certain
  std::uint32_t batch_max = 64;                    // commands in one transaction
  std::vector<Fault> faults;
  std::vector<bool> fault_dropped;
  std::vector<RunDraft> drafts;
  std::vector<Act> acts;
  std::uint32_t lease_agents = 0;
  std::uint32_t partitions = 0;
  std::uint32_t worker_agents = 0;    // workers that hold partitions, beside the agents
  bool journals = false;              // supervisors tell what became of their processes
  std::uint32_t unsent_permille = 0;  // answers that some assignment cannot leave with
  Instant faults_end;
  bool heals_all = false;  // nothing is left broken when the faults end
  // Since the third drawing.
  std::optional<RunRetention> retention;  // unset: no run is ever forgotten
  Duration turn_max = kTurnMax;           // what a controller is told waits so long for its turn
  std::optional<std::uint32_t> tended;    // this draft's run is watched over by an eager operator
  // Since the fourth drawing.
  bool lifts_blame = true;   // in the end, operators also lift cordons that end by themselves
  bool forges = false;       // somebody speaks for workers whose sessions it does not know
  bool burns = false;        // somebody tries to register with a number that none can follow
  std::uint32_t tokens = 1;  // that submits come with
  // Since the eleventh.
  std::uint32_t limits = 0;  // names that tasks use: l0, l1, ...

  bool is_on(FaultKind kind) const { return on[static_cast<std::size_t>(kind)]; }
  // Hosts: controllers first, then machines, then the clients and the store.
  HostId controller_host(std::uint32_t c) const { return {c}; }
  HostId machine_host(std::uint32_t m) const { return {controllers + m}; }
  HostId client_host() const { return {controllers + machines}; }
  HostId store_host() const { return {controllers + machines + 1}; }
  std::uint32_t hosts() const { return controllers + machines + 2; }
};

// The whole of it from a case. Same case, same setup.
Setup draw_setup(const Case& c);

}  // namespace vortex::sim
