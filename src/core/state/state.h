#pragma once
// Everything the controller knows while it leads: all live runs, workers and leases, in memory.
//
// Owned by one thread; changed only by `step`. The store is the truth: a State can be thrown away
// at any time and made again by `load` from what was committed.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "core/state/groups.h"
#include "core/state/index.h"
#include "core/state/limits.h"
#include "core/state/planted.h"
#include "core/state/policy.h"
#include "core/state/ready.h"
#include "core/state/run.h"
#include "core/state/schedule.h"
#include "core/state/task.h"
#include "core/state/timers.h"
#include "core/state/worker.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex::core {

struct Machine {
  std::uint32_t present = 0;  // workers on it that are not gone
  bool online = false;
  Instant since;
  bool dirty = false;
};

struct PartitionLease {
  AgentId holder;
  Epoch epoch;
  Instant expires_at;
};

// Against our own mistakes: when most of the fleet falls silent, the fault is probably ours.
struct BrakeOff {};
struct BrakeHolding {
};  // nothing is reclaimed on weak evidence until we have proved ourselves well
struct BrakeTrickle {};  // proved well: reclaims in random order, a few at a time
using Brake = std::variant<BrakeOff, BrakeHolding, BrakeTrickle>;

struct KnownKey {
  RunId run;
  std::uint64_t digest = 0;
};

struct OpenDeadLetter {
  Epoch epoch;
  DeathReason reason = DeathReason::kRetriesExhausted;
  Instant at;
  std::string message;
};

// What live runs take up: all of them, or those of one token. Follows from the runs in memory.
struct Taken {
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;  // of definitions and params
  friend bool operator==(const Taken&, const Taken&) = default;
};

// Passes that run often and mostly find nothing: told of when they do, and once an hour in sum.
struct QuietPasses {
  std::uint32_t since_told = 0;  // this one included
  bool is_due(bool found, Duration interval) const {
    return found || interval * since_told >= hours(1);
  }
  std::uint32_t tell() { return std::exchange(since_told, 0); }
};

struct State {
  State(const Policy& p, Term t, Instant now, std::uint64_t seed)
      : policy(p), term(t), clock(now), rng(seed) {}

  Policy policy;
  Term term;
  JudgedClock clock;
  Rng rng;

  TaskTable tasks;
  RunTable runs;
  WorkerTable workers;
  ReadyQueues ready;
  Timers timers;
  // Ends of waits, which are promised to people: these count true time, whoever was away.
  Timers promises;
  std::set<TaskId> approvals;  // of tasks that wait for an answer

  std::map<MachineId, Machine> machines;
  std::vector<PartitionKey> partitions;  // by LeaseIx, for timers
  std::vector<LeaseIx> free_partitions;  // places of forgotten leases
  std::map<PartitionKey, std::pair<LeaseIx, PartitionLease>> leases;
  std::map<std::string, KnownKey, std::less<>> keys;
  std::map<std::string, JournalRow> journals;  // of supervisors
  ScheduleTable schedules;
  RunGroups groups;
  LimitTable limits;
  std::map<TaskId, OpenDeadLetter> dead_letters;  // open ones, of finished runs too

  CounterRow counters;
  Taken taken;                                         // by all live runs
  std::map<std::string, Taken, std::less<>> taken_by;  // by those of each token that has any
  std::uint64_t next_grant = 1;
  std::vector<RunIx> bulk;         // runs with work left for the next steps
  std::vector<TaskIx> leftover;    // tasks of closed runs, still to be freed
  std::vector<WorkerIx> offering;  // workers that began to offer and have not been served yet
  std::uint32_t retired_look = 0;  // the next task to be looked at for a retired worker

  Brake brake;
  Judged next_trickle;  // not before this; kept while the brake is off, so that cycles add no rate
  bool store_writable = true;
  Judged silence_floor;  // no silence before this counts: an outage or a new term ended here
  std::vector<std::pair<Judged, WorkerIx>> weak_losses;  // by hint or silence, within one lease

  QuietPasses health_passes;
  QuietPasses reconcile_passes;
  // What the current health pass has seen so far (CONTRACT C04).
  std::uint32_t pass_marked = 0;
  std::set<MachineId> pass_machines;  // of the workers it marked
  [[no_unique_address]] PlantedState planted;

  // When `step` wants to be called again at the latest; kNever: only when something happens.
  Instant next_wake() const;
  // The same, but for work on very many tasks.
  Instant next_due() const;
};

}  // namespace vortex::core
