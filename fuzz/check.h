#pragma once
// What holds for every answer of a reader, whatever it was given.
// A broken claim ends the process: that is how the fuzzer hears of it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "codec/document.h"

namespace vortex::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Refused input is explained: with words that fit a line, and a place.
inline void check_problems(const codec::Problems& problems) {
  VX_ASSERT(!problems.empty() && problems.size() <= codec::kProblemsMax);
  for (const codec::Problem& problem : problems) {
    VX_ASSERT(!problem.message.empty() && problem.message.size() < 4'000);
    VX_ASSERT(problem.line >= 1 && problem.column >= 1);
    VX_ASSERT(problem.pointer.empty() || problem.pointer.front() == '/');
  }
}

}  // namespace vortex::fuzz
