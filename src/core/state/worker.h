#pragma once
// One worker as the controller sees it: its session, what it holds, and how far it is trusted.
//
// Present = may hold work (REGISTERING, IDLE, RUNNING, DRAINING). Offering = there is a call of it
// that we can answer with work right now: nobody is given work without one.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/state/index.h"
#include "core/state/planted.h"
#include "core/state/timers.h"
#include "model/rows.h"
#include "model/states.h"
#include "model/sync.h"

namespace vortex::core {

// Quiet is not dead: how strong the evidence against a worker is.
struct Trusted {};
struct Suspect {};  // its connection closed, or a probe timed out: no new work, nothing else
struct Hinted {     // closed and refused: reclaimed at the deadline unless heard
  Judged reclaim_at;
};
using Trust = std::variant<Trusted, Suspect, Hinted>;

struct ParkedSync {
  RequestId request;
  std::uint64_t seq = 0;
  Judged until;
};

struct Usage {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::map<std::string, std::int64_t> named;
};

// What only memory knows of a worker. Each member is compared after a reload or left out with a
// reason (durable.cc).
struct WorkerMemory {
  Trust trust;
  bool registered_once = false;
  bool dirty = false;
  bool retired = false;  // forgotten; tasks that still name it are made to forget it too
  Instant heartbeat_written = kNever;
  Judged heard_at;
  bool lost_pending = false;  // its lease ended, but the brake holds the reclaim back

  // Session. Forgotten with the term: a new leader starts counting replies anew.
  std::uint64_t last_seq = 0;
  std::uint64_t last_reply = 0;
  std::uint64_t drain_sent_in = 0;  // the first reply that told of a drain as it is now; 0: none
  std::optional<ParkedSync> parked;
  std::optional<ParkedSync> answering;  // the call of this step, answered at its end
  std::vector<Attempt> stale_to_tell;
  bool has_news = false;  // something to tell: the parked call is answered at the end of the step

  // Capacity.
  std::uint32_t slots = 0;  // what it is willing to hold in all, by its last word
  TaskList held;
  [[no_unique_address]] PlantedWorker planted;
  Usage used;
  ProfileIx profile;
  std::uint64_t last_grant = 0;  // order of its newest grant, for fair turns
  std::optional<std::pair<std::uint32_t, std::uint64_t>> offer_key;
  bool to_serve = false;  // stands in State::offering

  // Distinct definitions whose attempts died abnormally here, in a row.
  std::vector<std::uint64_t> abnormal;
};

// Its row is written as it is here and comes back as it was; only `suspect` follows from `trust`.
struct Worker : WorkerRow, WorkerMemory {
  Worker() { last_heartbeat = kNever; }

  bool is_trusted() const { return std::holds_alternative<Trusted>(trust); }
  // May be given new work, if it also offers.
  bool takes_work() const;
  std::uint32_t capacity() const {
    const std::uint32_t taken = held.size + planted.leaked();
    const std::uint32_t most = blame == WorkerBlame::kProbation ? std::min(slots, 1U) : slots;
    return most > taken ? most - taken : 0;
  }
};

// Workers by position and by id. A worker once known stays until it is forgotten on purpose.
//
// Tasks name workers by position, so the place of a forgotten worker is retired first and given to
// another only after release_retired has looked at every task once. Until then, and while it is
// vacant, the place holds a worker that is not present and that no id leads to.
class WorkerTable {
 public:
  WorkerIx add(WorkerId id);
  WorkerIx find(const WorkerId& id) const;
  void retire(WorkerIx ix);
  bool any_retired() const { return !retired_.empty() || !retiring_.empty(); }
  bool is_looking() const { return !retired_.empty(); }  // some wait for a look at all tasks
  // Every task was looked at since the last call: what was retired before that is vacant now.
  void vacate();
  bool is_known(WorkerIx ix) const { return find(slots_[ix.value]->info->id) == ix; }

  Worker& operator[](WorkerIx ix) { return *slots_[ix.value]; }
  const Worker& operator[](WorkerIx ix) const { return *slots_[ix.value]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  std::vector<std::unique_ptr<Worker>> slots_;
  std::map<WorkerId, WorkerIx> by_id_;
  std::vector<WorkerIx> retired_;   // before the present look at all tasks began
  std::vector<WorkerIx> retiring_;  // since then
  std::vector<WorkerIx> vacant_;
};

}  // namespace vortex::core
