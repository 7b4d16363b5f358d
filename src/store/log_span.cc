#include "store/log_span.h"

#include <algorithm>

namespace vortex::store {

LogSpan grown(LogSpan span, std::uint64_t bytes, const LogLimits& limits) {
  span.size += bytes;
  if (!span.has_cut()) {
    if (span.size <= limits.head_bytes + limits.tail_bytes) return span;
    span.cut_begin = limits.head_bytes;
    span.cut_end = limits.head_bytes;
  }
  const std::uint64_t tail = std::min(limits.tail_bytes, span.size);
  span.cut_end = std::max(span.cut_end, span.size - tail);
  return span;
}

LogWindow window_of(const LogSpan& span, const LogRequest& request) {
  std::uint64_t begin = std::min(request.offset, span.size);
  if (request.from_end) {
    begin = span.size - std::min<std::uint64_t>(request.bytes_max, span.size);
    if (span.has_cut()) begin = std::max(begin, span.cut_end);
  }
  const std::uint64_t wanted_end =
      begin + std::min<std::uint64_t>(request.bytes_max, span.size - begin);
  if (!span.has_cut() || begin >= span.cut_end || wanted_end < span.cut_begin) {
    return {.begin = begin, .end = wanted_end, .next = wanted_end};
  }
  const std::uint64_t end = std::max(begin, span.cut_begin);
  return {.begin = begin, .end = end, .next = span.cut_end};
}

}  // namespace vortex::store
