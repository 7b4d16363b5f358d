// How many runs or tasks go on at once, by a key.

#include <string>
#include <utility>

#include <fmt/format.h>

#include "codec/dag_read.h"
#include "codec/parts.h"
#include "codec/reading.h"

namespace vortex::codec {
namespace {

constexpr const char* kForm = "write concurrency: {key: \"${{ params.customer }}\", limit: 1}";

void read_limit(Reading& in, NodeIx node, ConcurrencySpec& out) {
  const std::string_view written = in.document().text(node);
  if (in.document().kind(node) == NodeKind::kInteger && written == "0" && !in.full()) {
    return in.problem(node, "'limit' is 0, so nothing could ever run",
                      "write 1 or more, or remove 'concurrency' for no limit");
  }
  read_number(in, node, out.limit, 1, kGroupLimitMax);
}

constexpr Field<ConcurrencySpec> kConcurrencyFields[] = {
    {"key", [](Reading& in, NodeIx node, ConcurrencySpec& out) { read_text(in, node, out.key); }},
    {"limit", read_limit},
    {"on_full",
     [](Reading& in, NodeIx node, ConcurrencySpec& out) { read_word(in, node, out.on_full); }},
};

}  // namespace

void read_concurrency(Reading& in, NodeIx node, std::optional<ConcurrencySpec>& out) {
  if (in.full()) return;
  const Document& document = in.document();
  if (document.kind(node) != NodeKind::kObject) {
    std::string help = kForm;
    if (document.kind(node) == NodeKind::kInteger) {
      help = fmt::format("write concurrency: {{limit: {}}}", document.text(node));
    }
    return in.wrong_type(node, object_word(document.syntax()), std::move(help));
  }
  ConcurrencySpec spec;
  read_object(in, node, "", kConcurrencyFields, spec);
  out = std::move(spec);
}

void write_concurrency(JsonWriter& json, const std::optional<ConcurrencySpec>& spec) {
  if (!spec) return;
  json.key("concurrency").begin_object();
  if (!spec->key.empty()) json.field("key", std::string_view(spec->key));
  json.field("limit", spec->limit);
  if (spec->on_full != OnFull::kQueue) json.field("on_full", to_text(spec->on_full));
  json.end_object();
}

std::vector<std::string_view> concurrency_keys() { return keys_of(kConcurrencyFields); }

}  // namespace vortex::codec
