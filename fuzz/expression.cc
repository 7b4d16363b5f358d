// A text with expressions from a stranger, and values that do not fit it: an answer or a reason.
#include "model/expression.h"

#include <string>

#include "codec/render.h"
#include "fuzz/check.h"
#include "model/check.h"

namespace {

using namespace vortex;

// The part behind the first newline stands for values that come from strangers too.
void check(std::string_view text, std::string_view json) {
  const auto tmpl = parse_template(text);
  if (!tmpl) {
    VX_ASSERT(!tmpl.error().message.empty() && tmpl.error().offset <= text.size());
    return;
  }
  const MapItem item{.index = 3, .item = std::string(json), .as = "matrix"};
  codec::Values values({.params = json,
                        .inputs = json,
                        .map = &item,
                        .run_id = "r1",
                        .dag = "d",
                        .task = "t",
                        .attempt = 1});
  const auto rendered = codec::render(*tmpl, values);
  VX_ASSERT(rendered ? rendered->size() <= kArgumentBytesMax : !rendered.error().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = fuzz::text_of(data, size);
  const std::size_t line = all.find('\n');
  check(all.substr(0, line), line == all.npos ? "" : all.substr(line + 1));
  return 0;
}
