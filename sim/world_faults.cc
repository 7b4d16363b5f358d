#include <utility>

#include <fmt/format.h>

#include "sim/world.h"

namespace vortex::sim {

namespace {

std::string text_of(const Fault& fault) {
  return fmt::format("{} {} {} for {} ms", to_text(fault.kind), fault.a, fault.b,
                     fault.lasts.us / 1000);
}

}  // namespace

void World::begin_fault(const Fault& fault) {
  if (scene_->faults_stopped) return;
  if (scene_->recorder.is_tracing()) scene_->recorder.note("FAULT", text_of(fault));
  switch (fault.kind) {
    case FaultKind::kWallJump:
      return jump_wall(fault);
    case FaultKind::kStoreClockJump:
      return jump_store_clock(fault);
    case FaultKind::kMassLoss:
      return strike_most(fault, true);
    case FaultKind::kForgedHint:
      return forge_hint(fault, true);
    case FaultKind::kTwin:
      return start_twin(fault);
    default:
      break;
  }
  strike_network(fault, true);
  strike_store(fault, true);
  strike_controller(fault, true);
  strike_worker(fault, true);
}

void World::end_fault(const Fault& fault) {
  if (scene_->faults_stopped) return;
  if (fault.kind == FaultKind::kMassLoss) return strike_most(fault, false);
  if (fault.kind == FaultKind::kForgedHint) return forge_hint(fault, false);
  strike_network(fault, false);
  strike_store(fault, false);
  strike_controller(fault, false);
  strike_worker(fault, false);
}

void World::strike_network(const Fault& fault, bool on) {
  Network& network = scene_->network;
  const HostId a{fault.a};
  const HostId b{fault.b};
  switch (fault.kind) {
    case FaultKind::kCutOneWay:
      return network.cut(a, b, on);
    case FaultKind::kCutBothWays:
      network.cut(a, b, on);
      return network.cut(b, a, on);
    case FaultKind::kClog:
      return network.clog(a, b, on);
    case FaultKind::kIsolateHost:
      return network.isolate(a, on);
    default:
      return;
  }
}

void World::strike_store(const Fault& fault, bool on) {
  using Outage = SimStore::Outage;
  const Outage how = fault.a == 0 ? Outage::kRefuses : Outage::kSilent;
  switch (fault.kind) {
    case FaultKind::kStoreOutage:
      return scene_->store.outage(on, how);
    case FaultKind::kStoreFailover:
      return scene_->store.outage(on, Outage::kRefuses);
    case FaultKind::kStoreStall:
      return scene_->store.stall(on);
    case FaultKind::kStoreFull:
      return scene_->store.full(on);
    default:
      return;
  }
}

void World::strike_controller(const Fault& fault, bool on) {
  if (fault.kind == FaultKind::kControllerCrash) {
    if (on) return controllers_[fault.a]->crash("by a fault");
    return controllers_[fault.a]->boot();
  }
  if (fault.kind == FaultKind::kControllerPause) {
    if (on) return controllers_[fault.a]->pause();
    return controllers_[fault.a]->resume();
  }
  if (fault.kind == FaultKind::kControllerStop && on) controllers_[fault.a]->stop(fault.lasts);
}

void World::strike_worker(const Fault& fault, bool on) {
  switch (fault.kind) {
    case FaultKind::kWorkerCrash:
      return on ? workers_[fault.a]->crash() : void();
    case FaultKind::kWorkerPause:
      return on ? workers_[fault.a]->pause() : workers_[fault.a]->resume();
    case FaultKind::kWorkerDrain:
      return on ? workers_[fault.a]->drain(fault.lasts) : void();
    case FaultKind::kSupervisorCrash:
      return on ? workers_[fault.a]->crash_both() : workers_[fault.a]->boot();
    case FaultKind::kHostCrash:
      return strike_machine(fault.a, on);
    default:
      return;
  }
}

void World::strike_machine(std::uint32_t machine, bool on) {
  for (const auto& worker : workers_) {
    if (worker->machine() != machine) continue;
    if (on) {
      worker->host_down();
    } else {
      worker->host_up();
    }
  }
}

// More than half of the workers fall silent in the same instant, each in one of three ways.
void World::strike_most(const Fault& fault, bool on) {
  const std::size_t struck = (workers_.size() * 6 + 9) / 10;
  for (std::size_t w = 0; w < struck; ++w) {
    WorkerHost& worker = *workers_[w];
    if (fault.b % 3 == 0) {
      if (on) worker.pause();
      if (!on) worker.resume();
    } else if (fault.b % 3 == 1) {
      // The process lives and its host does, but nothing comes through.
      for (std::uint32_t c = 0; c < setup_.controllers; ++c) {
        scene_->network.cut(worker.host(), setup_.controller_host(c), on);
        scene_->network.cut(setup_.controller_host(c), worker.host(), on);
      }
    } else {
      if (on) worker.host_down();
      if (!on) worker.host_up();
    }
  }
}

void World::forge_hint(const Fault& fault, bool on) {
  WorkerHost& worker = *workers_[fault.a];
  // What refuses the probe also keeps the worker from calling.
  for (std::uint32_t c = 0; c < setup_.controllers; ++c) {
    scene_->network.clog(worker.host(), setup_.controller_host(c), on);
  }
  worker.forge_hint(on);
}

// The old life is stopped and its supervisor dies; the next supervisor ends what is left of its
// tasks and starts a new life. When the old one continues, it has to find out.
void World::start_twin(const Fault& fault) {
  // One that no controller has met cannot tell a later life from a clock that went back.
  if (!workers_[fault.a]->runs() || !workers_[fault.a]->is_registered()) return;
  auto twin = std::make_unique<WorkerHost>(*scene_, fault.a, rng_.fork(500 + fault.a));
  std::unique_ptr<WorkerHost> old = std::exchange(workers_[fault.a], std::move(twin));
  old->leave_to_twin();
  workers_[fault.a]->take_over(*old);
  scene_->agenda.after(fault.lasts, [this, host = old.get(), w = fault.a] {
    // While no controller has met the new life, nothing could tell the old one apart.
    if (workers_[w]->is_registered()) {
      host->resume();
    } else {
      host->host_down();
    }
  });
  replaced_.push_back(std::move(old));
}

// Up to three leases to lead back, or ahead; now and then an hour ahead.
void World::jump_store_clock(const Fault& fault) {
  const Duration by = setup_.timings.leader_lease * (3 * (std::int64_t{fault.b} - 1000)) / 1000;
  scene_->store.jump_clock(fault.b % 10 == 0 && by > Duration{} ? hours(1) : by);
}

void World::jump_wall(const Fault& fault) {
  const Duration by = seconds(std::int64_t{fault.b} - 3600);
  if (fault.a >= setup_.controllers) {
    scene_->machine_clocks[fault.a - setup_.controllers].jump_wall(by);
  }
}

}  // namespace vortex::sim
