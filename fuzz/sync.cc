// A sync call from a stranger: refused with reasons, or read, written and read again as the same.
#include <string>

#include "codec/sync_json.h"
#include "fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vortex;
  const WorkerId worker("w1");
  const auto request = codec::read_sync(fuzz::text_of(data, size), worker);
  if (!request) {
    fuzz::check_problems(request.error());
    return 0;
  }
  const std::string written = codec::write_sync(*request);
  const auto again = codec::read_sync(written, worker);
  VX_ASSERT(again.has_value());
  VX_ASSERT(codec::write_sync(*again) == written);
  VX_ASSERT(again->reports.size() == request->reports.size());
  VX_ASSERT(again->held.has_value() == request->held.has_value());
  return 0;
}
