#pragma once
// What planted bugs (base/planted.h) keep in the state. In the product these are empty: nothing
// planted takes a byte, and nothing planted can be switched on.

#include <cstdint>
#include <map>
#include <vector>

#include "core/state/index.h"
#include "model/ids.h"

namespace vortex::core {

#ifdef VX_PLANTED_BUGS

struct PlantedState {
  std::vector<WorkerIx> split;                    // dead, their tasks not yet taken back
  std::map<WorkerIx, std::vector<TaskId>> reads;  // what workers once said they hold
};

struct PlantedWorker {
  std::uint32_t slots_leaked = 0;
  std::uint32_t leaked() const { return slots_leaked; }
  void leak() { ++slots_leaked; }
};

#else

struct PlantedState {};

struct PlantedWorker {
  static constexpr std::uint32_t leaked() { return 0; }
  static void leak() {}
};

#endif

}  // namespace vortex::core
