#pragma once
// Load on a controller that may die at any moment: agents that work and a submitter that insists.
//
// The submitter repeats a submit with the same key until it is acknowledged, as a careful client
// would. Everything that was acknowledged stands in the ledger.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "bench/vortex/fleet.h"
#include "tests/chaos/ledger.h"

namespace vortex::chaos {

class Load {
 public:
  Load(net::Endpoint server, std::uint64_t seed, Ledger& ledger);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void stop_submitting();
  // Waits until every promised run has ended; false: not within the limit.
  bool wait_until_done(Duration limit) const;
  std::uint64_t calls() const { return fleet_->calls(); }

 private:
  void submit_until_stopped(std::uint64_t seed);

  net::Endpoint server_;
  Ledger& ledger_;
  std::unique_ptr<cli::bench::Fleet> fleet_;
  std::atomic<bool> stopping_{false};
  std::thread submitter_;
};

}  // namespace vortex::chaos
