#pragma once
// What one attempt at a task will do on its worker, fixed by the seed and the attempt alone.
//
// So the same attempt meets the same fate whatever else is left out of a case.

#include <cstdint>

#include "base/time.h"
#include "model/sync.h"
#include "sim/setup.h"

namespace vortex::sim {

struct Fate {
  enum class End : std::uint8_t {
    kSuccess,
    kExitCode,
    kSignal,
    kHangs,
    kPoison,
    kCouldNotStart,
    kOutOfMemory,
  };
  End end = End::kSuccess;
  Duration runs;              // until the end, or until it kills its worker
  std::int32_t code = 0;      // exit code or signal number
  Duration obeys_term_after;  // when asked to end; beyond the kill time it has to be killed
  Duration progress_every;    // zero: says nothing
  bool checkpoints = false;
  bool slow_start = false;
  bool too_large = false;  // what it hands over is more than is taken
  bool outputs = false;
  std::string list;  // JSON; empty: none
  bool uploads = false;
  Duration writes_every;  // zero: writes nothing
};

const NodeTraits& traits_of(const Setup& setup, const Assignment& assignment);
Fate fate_of(const Setup& setup, const Assignment& assignment);

}  // namespace vortex::sim
