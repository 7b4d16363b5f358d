#pragma once
// One simulated run from its setup to its verdict: safety under faults, then liveness without.
//
// The world owns all hosts and strikes them with the faults of the setup. When the faults end it
// heals a core of the cluster, leaves the rest broken, and demands that every accepted task comes
// to its end within the bound.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/clients.h"
#include "sim/controller.h"
#include "sim/coverage.h"
#include "sim/lease_agent.h"
#include "sim/reload_check.h"
#include "sim/scene.h"
#include "sim/worker_host.h"

namespace vortex::sim {

struct Result {
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
  std::uint64_t happened = 0;  // steps of the agenda
  Instant ended;
  CommandCounts calls{};  // that controllers were sent
};

class World {
 public:
  explicit World(const Setup& setup, TraceSink sink = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Result run();

  Scene& scene() { return *scene_; }
  std::vector<std::unique_ptr<WorkerHost>>& workers() { return workers_; }

 private:
  void build(Rng& rng);
  void schedule_faults();
  // world_faults.cc
  void begin_fault(const Fault& fault);
  void end_fault(const Fault& fault);
  void strike_network(const Fault& fault, bool on);
  void strike_store(const Fault& fault, bool on);
  void strike_controller(const Fault& fault, bool on);
  void strike_worker(const Fault& fault, bool on);
  void strike_machine(std::uint32_t machine, bool on);
  void strike_most(const Fault& fault, bool on);
  void forge_hint(const Fault& fault, bool on);
  void start_twin(const Fault& fault);
  void jump_store_clock(const Fault& fault);
  void jump_wall(const Fault& fault);
  // world_heal.cc
  void heal();
  std::vector<bool> choose_core(Rng& rng) const;
  void heal_workers(Rng& rng);
  void heal_controllers(Rng& rng);
  void keep_lifting();
  Duration bound_for_liveness() const;
  bool is_quiet() const;
  void look_whether_done();

  const Setup& setup_;
  Rng rng_;
  std::unique_ptr<Scene> scene_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::vector<std::unique_ptr<WorkerHost>> replaced_;  // earlier lives whose place is taken
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::unique_ptr<ReloadCheck> reload_check_;
  std::unique_ptr<Clients> clients_;
  std::vector<std::unique_ptr<LeaseAgent>> agents_;
  std::vector<bool> core_;  // workers that are healed
  Instant deadline_ = kNever;
  Instant quiet_since_ = kNever;
  bool done_ = false;
};

// Draws the setup of a case and runs it.
Result run_case(const Case& c, TraceSink sink = {});

}  // namespace vortex::sim
