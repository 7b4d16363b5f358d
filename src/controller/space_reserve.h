#pragma once
// A file that only takes up space, to be given up when the disk under the database is full.
//
// With the space it gives free, what is running can still be finished and written down, while new
// work is refused. It is filled again once there is room. Without it a full disk would also stop
// the heartbeats, and running work would be lost to it.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/settings.h"

namespace vortex::controller {

class SpaceReserve;
// The one beside the database of these settings.
SpaceReserve reserve_of(const Settings& settings);

class SpaceReserve {
 public:
  SpaceReserve(std::string path, std::uint64_t bytes);  // empty path: none is kept

  // Takes the space when it is not taken and there is at least as much again left. True: it is
  // held.
  bool hold();
  // True: there was something to give.
  bool give_up();
  bool is_held() const { return held_; }

 private:
  const std::string path_;
  const std::uint64_t bytes_;
  std::atomic<bool> held_{false};
};

}  // namespace vortex::controller
