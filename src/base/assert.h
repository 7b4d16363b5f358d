#pragma once
// VX_ASSERT: a claim about our own code that stays on in every build.
//
// It guards against impossible states, never against bad input: input is refused with a typed
// error. A failed claim ends the process, and the crash-only design brings it back from the store.

namespace vortex {

[[noreturn]] void assertion_failed(const char* claim, const char* file, int line);

}  // namespace vortex

#define VX_ASSERT(claim) \
  (static_cast<bool>(claim) ? void(0) : ::vortex::assertion_failed(#claim, __FILE__, __LINE__))
