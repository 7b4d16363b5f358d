// A request from a stranger, as raw bytes: refused with a reason, or read. However the bytes are
// cut into packets, the verdict is the same.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "net/http_parse.h"

namespace {

using namespace vortex;
using net::ParseLimits;
using net::RequestParser;
using State = RequestParser::State;

constexpr ParseLimits kLimits{.header_bytes_max = 2'048, .body_bytes_max = 4'096};

bool is_final(State state) { return state == State::kDone || state == State::kRefused; }

void check_request(const net::Request& request) {
  VX_ASSERT(request.target.starts_with('/') && request.target.size() <= net::kTargetBytesMax);
  VX_ASSERT(request.segments.size() <= net::kSegmentsMax);
  for (const std::string& segment : request.segments) {
    VX_ASSERT(!segment.empty() && segment != "." && segment != "..");
    VX_ASSERT(segment.find('\0') == segment.npos);
  }
  VX_ASSERT(request.body.size() <= kLimits.body_bytes_max);
}

// Packets of a size that the input itself chooses.
void check_in_parts(std::string_view bytes, const net::ParseOutcome& whole) {
  const std::size_t step = bytes.empty() ? 1 : 1 + static_cast<unsigned char>(bytes.back()) % 7;
  RequestParser parser(kLimits);
  std::string seen;
  std::size_t used = 0;
  while (!bytes.empty() && !is_final(parser.state())) {
    const std::size_t size = std::min(step, bytes.size());
    seen += bytes.substr(0, size);
    bytes.remove_prefix(size);
    const std::size_t taken = parser.feed(seen);
    VX_ASSERT(taken <= seen.size());
    seen.erase(0, taken);
    used += taken;
  }
  VX_ASSERT(parser.state() == whole.state);
  if (whole.state == State::kRefused) VX_ASSERT(parser.refusal().detail == whole.refusal.detail);
  if (whole.state != State::kDone) return;
  VX_ASSERT(used == whole.used && parser.request().body == whole.request.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const net::ParseOutcome whole = net::parse_request(bytes, kLimits);
  VX_ASSERT(whole.used <= size);
  if (whole.state == State::kDone) check_request(whole.request);
  if (whole.state == State::kRefused) {
    VX_ASSERT(whole.refusal.status >= 400 && whole.refusal.status < 500);
    VX_ASSERT(!whole.refusal.detail.empty());
  }
  check_in_parts(bytes, whole);
  return 0;
}
