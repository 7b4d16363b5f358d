// A registration from a stranger: refused with reasons, or read, written and read again as the
// same.
#include "codec/sync_json.h"
#include "fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vortex;
  const auto body = codec::read_register(fuzz::text_of(data, size));
  if (!body) {
    fuzz::check_problems(body.error());
    return 0;
  }
  const auto again = codec::read_register(codec::write_register(*body));
  VX_ASSERT(again.has_value());
  VX_ASSERT(again->info == body->info && again->incarnation == body->incarnation);
  return 0;
}
