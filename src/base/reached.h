#pragma once
// REACHED("name"): a mark on a rare path, so that a run of the simulator can prove it went there.
//
// Marks live in a section of their own, so the list holds the ones never reached too. They count
// and decide nothing: code must behave the same with and without them.

#include <cstdint>
#include <span>

namespace vortex {

struct ReachedMark {
  const char* name;
  std::uint64_t count;
};

// All marks linked into this program, reached or not. One name may stand at several places.
std::span<ReachedMark> reached_marks();

}  // namespace vortex

#define REACHED(mark_name)                                                                        \
  do {                                                                                            \
    [[gnu::section("vx_reached"), gnu::used]] static ::vortex::ReachedMark vx_mark{mark_name, 0}; \
    ++vx_mark.count;                                                                              \
  } while (false)
