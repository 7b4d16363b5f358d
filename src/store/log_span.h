#pragma once
// Which bytes of an attempt's output are kept: the first and the last ones, the middle is cut out.
//
// Pure arithmetic, the same for every store. A cut only ever grows at its end.

#include <cstdint>

#include "store/reader.h"

namespace vortex::store {

struct LogLimits {
  std::uint64_t head_bytes = std::uint64_t{1} << 20;
  std::uint64_t tail_bytes = std::uint64_t{3} << 20;
};

struct LogSpan {
  std::uint64_t size = 0;       // all that was written
  std::uint64_t cut_begin = 0;  // bytes from here
  std::uint64_t cut_end = 0;    // to here are gone; equal: nothing is
  bool has_cut() const { return cut_end > cut_begin; }
  friend bool operator==(const LogSpan&, const LogSpan&) = default;
};

LogSpan grown(LogSpan span, std::uint64_t bytes, const LogLimits& limits);

// What answers a request: the bytes [begin, end), then a cut up to `next`.
struct LogWindow {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t next = 0;
};
LogWindow window_of(const LogSpan& span, const LogRequest& request);

}  // namespace vortex::store
