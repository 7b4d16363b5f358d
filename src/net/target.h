#pragma once
// The target of a request, taken apart: decoded segments of the path and items of the query.
//
// Only the origin form is accepted (/path?query). Whatever two readers could understand
// differently is refused: bad escapes, NUL, dot segments, empty segments, bytes that are not UTF-8.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace vortex::net {

constexpr std::size_t kTargetBytesMax = 8 * 1024;
constexpr std::size_t kSegmentsMax = 32;

// Why a request does not reach the handler: what it is answered with.
struct Refusal {
  int status = 400;
  std::string detail;
};

// Fills target, segments and query of the request; set: refused.
std::optional<Refusal> read_target(std::string_view target, Request& request);

}  // namespace vortex::net
