#pragma once
// What everything in one simulated world shares: time, links, the store, and who writes it down.
// Owned by the world and handed to every host; it outlives them all.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "sim/agenda.h"
#include "sim/network.h"
#include "sim/recorder.h"
#include "sim/setup.h"
#include "sim/store.h"
#include "sim/switchboard.h"

namespace vortex::sim {

struct Scene {
  Scene(const Setup& s, Rng rng, TraceSink sink)
      : setup(s),
        agenda(rng.fork(1)),
        recorder(agenda, s.timings.policy, std::move(sink)),
        network(agenda, rng.fork(2), s.hosts(), s.links),
        board(agenda, network, s.timings.keep_alive),
        store(agenda, network, recorder, s, rng.fork(3)),
        machine_clocks(s.machine_clocks) {}
  ~Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  const Setup& setup;
  Agenda agenda;
  Recorder recorder;
  Network network;
  Switchboard board;
  SimStore store;
  std::vector<HostClock> machine_clocks;  // their wall clocks jump
  std::uint64_t next_process = 1;
  std::uint32_t boundaries = 0;  // commit points passed by all controllers so far
  bool faults_stopped = false;
};

}  // namespace vortex::sim
