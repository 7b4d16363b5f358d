#include "sim/world.h"

#include <utility>

#include <fmt/format.h>

namespace vortex::sim {

namespace {

// Far beyond what any seed needs: a world that does not come to rest is itself a finding.
constexpr std::uint64_t kStepsMax = 5'000'000;

// What is beyond the margin of the timing rules: 5% between worker and controller.
constexpr std::int64_t kMarginPpm = 50'000;

}  // namespace

World::World(const Setup& setup, TraceSink sink) : setup_(setup), rng_(setup.seed) {
  Rng rng = rng_.fork(77);
  scene_ = std::make_unique<Scene>(setup_, rng.fork(1), std::move(sink));
  build(rng);
}

World::~World() = default;

void World::build(Rng& rng) {
  for (std::uint32_t w = 0; w < setup_.workers.size(); ++w) {
    workers_.push_back(std::make_unique<WorkerHost>(*scene_, w, rng.fork(100 + w)));
  }
  const FindProbeTarget find = [this](const WorkerId& id) -> std::optional<ProbeTarget> {
    for (const auto& worker : workers_) {
      if (worker->id() != id) continue;
      return ProbeTarget{worker->host(), [host = worker.get()] { return host->probe(); }};
    }
    return std::nullopt;
  };
  for (std::uint32_t c = 0; c < setup_.controllers; ++c) {
    controllers_.push_back(std::make_unique<Controller>(*scene_, c, find, rng.fork(200 + c)));
    scene_->board.add_controller(controllers_.back().get());
  }
  reload_check_ = std::make_unique<ReloadCheck>(*scene_, controllers_);
  // Those who wait for the lease to lead listen for its end.
  scene_->store.on_free = [this] {
    for (const auto& controller : controllers_) {
      scene_->network.send(setup_.store_host(), controller->host(),
                           [c = controller.get()] { c->hint_free(); });
    }
  };
  clients_ = std::make_unique<Clients>(*scene_, rng.fork(300));
  for (std::uint32_t a = 0; a < setup_.lease_agents + setup_.worker_agents; ++a) {
    agents_.push_back(std::make_unique<LeaseAgent>(*scene_, *clients_, a, rng.fork(400 + a)));
  }
}

void World::schedule_faults() {
  for (std::size_t i = 0; i < setup_.faults.size(); ++i) {
    if (setup_.fault_dropped[i]) continue;
    const Fault& fault = setup_.faults[i];
    scene_->agenda.at(fault.at, [this, &fault] { begin_fault(fault); });
    scene_->agenda.at(fault.at + fault.lasts, [this, &fault] { end_fault(fault); });
  }
  scene_->agenda.at(setup_.faults_end, [this] { heal(); });
}

Result World::run() {
  for (const auto& worker : setup_.workers) {
    const std::int64_t rate = setup_.machine_clocks[worker.machine].rate_ppm();
    if (rate > kMarginPpm || rate < -kMarginPpm) {
      scene_->recorder.fact(ClockBeyondMargin{worker.info.id});
    }
  }
  schedule_faults();
  for (const auto& controller : controllers_) controller->boot();
  for (const auto& worker : workers_) worker->boot();
  clients_->begin();
  for (const auto& agent : agents_) agent->begin();

  Agenda& agenda = scene_->agenda;
  while (!done_ && !agenda.empty() && agenda.happened() < kStepsMax) {
    agenda.run_next();
    reload_check_->look();
  }
  if (agenda.happened() >= kStepsMax) {
    scene_->recorder.violation("27 liveness", "the world does not come to rest");
  }
  for (const auto& controller : controllers_) controller->check_thoroughly();
  scene_->recorder.finish();
  return {scene_->recorder.violations(), scene_->recorder.hash(), agenda.happened(), agenda.now(),
          scene_->board.calls()};
}

Result run_case(const Case& c, TraceSink sink) {
  const Setup setup = draw_setup(c);
  World world(setup, std::move(sink));
  return world.run();
}

}  // namespace vortex::sim
