// An answer from something that is no controller: refused with reasons, or read, written and read
// again as the same.
#include <string>

#include "codec/sync_json.h"
#include "fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vortex;
  const auto reply = codec::read_sync_reply(fuzz::text_of(data, size));
  if (!reply) {
    fuzz::check_problems(reply.error());
    return 0;
  }
  const std::string written = codec::write_sync_reply(*reply);
  const auto again = codec::read_sync_reply(written);
  VX_ASSERT(again.has_value());
  VX_ASSERT(codec::write_sync_reply(*again) == written);
  VX_ASSERT(again->assignments.size() == reply->assignments.size());
  return 0;
}
