#include "base/reached.h"

// The linker gives these two names to the ends of the section; weak, for programs without marks.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
[[gnu::weak]] extern vortex::ReachedMark __start_vx_reached[];
[[gnu::weak]] extern vortex::ReachedMark __stop_vx_reached[];
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace vortex {

std::span<ReachedMark> reached_marks() {
  if (__start_vx_reached == nullptr) return {};
  return {__start_vx_reached, __stop_vx_reached};
}

}  // namespace vortex
