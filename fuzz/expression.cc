// A text with expressions from a stranger, and values that do not fit it: an answer or a reason.
#include "model/expression.h"

#include <string>
#include <vector>

#include "codec/render.h"
#include "fuzz/check.h"
#include "model/check.h"
#include "model/condition.h"
#include "model/value.h"

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

// The same text as a condition: every path reads the values with its own steps.
void check_condition(std::string_view text, std::string_view json) {
  auto condition = parse_condition(text);
  if (!condition) {
    VX_ASSERT(!condition.error().message.empty() && condition.error().offset <= text.size());
    return;
  }
  std::vector<ReadValue> values;
  for (Condition* read : reads_of(*condition)) {
    read->reads = static_cast<std::uint32_t>(values.size());
    const std::vector<const Steps*> steps{&read->path.steps};
    const auto picked = pick_values(json, steps);
    values.push_back(picked ? ReadValue(picked->front()) : ReadValue{});
  }
  const ConditionFacts facts{values, [](std::uint32_t node) { return TaskEnd(node % 3); }};
  const auto unknown = [](const Path&) { return Value::Kind::kMissing; };
  const auto wrong = find_wrong_type(*condition, unknown);
  const auto decided = decide(*condition, facts);
  VX_ASSERT(decided || !decided.error().empty());
  VX_ASSERT(!wrong || !wrong->message.empty());
  describe(*condition, facts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = fuzz::text_of(data, size);
  const std::size_t line = all.find('\n');
  check(all.substr(0, line), line == all.npos ? "" : all.substr(line + 1));
  check_condition(all.substr(0, line), line == all.npos ? "" : all.substr(line + 1));
  return 0;
}
