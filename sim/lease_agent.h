#pragma once
// An agent that holds partitions by leases: acquires, renews, checks, releases, and oversleeps.
//
// Now and then it renews with an epoch that it lost long ago, as a twin of it would that stood
// still meanwhile; that must be refused.

#include <cstdint>
#include <vector>

#include "sim/clients.h"
#include "sim/scene.h"

namespace vortex::sim {

class LeaseAgent {
 public:
  LeaseAgent(Scene& scene, Clients& clients, std::uint32_t index, Rng rng);
  void begin();
  void stop() { stopped_ = true; }

 private:
  void next_move();
  void acquire();
  void granted(const core::ReplyBody* answer);
  void renew(Epoch epoch);
  void release();
  PartitionKey partition() const { return {"orders", partition_}; }

  Scene& scene_;
  Clients& clients_;
  AgentId id_;
  Rng rng_;
  std::uint32_t partition_ = 0;
  Epoch epoch_;              // 0: holds nothing, as far as it knows
  std::vector<Epoch> past_;  // what it once held
  bool stopped_ = false;
};

}  // namespace vortex::sim
