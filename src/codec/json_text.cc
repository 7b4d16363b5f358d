#include "codec/json_text.h"

#include <expected>
#include <utility>

#include "codec/json_writer.h"
#include "codec/reading.h"

namespace vortex::codec {
namespace {

// As deep as the document, and that is bounded.
void write_compact(JsonWriter& json, const Document& document, NodeIx node) {
  switch (document.kind(node)) {
    case NodeKind::kNull:
      json.null();
      return;
    case NodeKind::kFalse:
    case NodeKind::kTrue:
      json.boolean(document.kind(node) == NodeKind::kTrue);
      return;
    case NodeKind::kInteger:
    case NodeKind::kDecimal:
      json.raw(document.text(node));
      return;
    case NodeKind::kText:
      json.text(document.text(node));
      return;
    case NodeKind::kArray:
      json.begin_array();
      document.each_item(node, [&](NodeIx item) { write_compact(json, document, item); });
      json.end_array();
      return;
    case NodeKind::kObject:
      json.begin_object();
      document.each_member(node, [&](NodeIx key, NodeIx value) {
        json.key(document.text(key));
        write_compact(json, document, value);
      });
      json.end_object();
      return;
  }
}

void check_names(Reading& in, NodeIx node) {
  if (in.document().kind(node) == NodeKind::kArray) {
    in.document().each_item(node, [&](NodeIx item) { check_names(in, item); });
  } else if (in.document().kind(node) == NodeKind::kObject) {
    is_object_of_names(in, node);
    in.document().each_member(node, [&](NodeIx, NodeIx value) { check_names(in, value); });
  }
}

}  // namespace

Decoded<std::string> compact_object(std::string_view json) {
  Document document;
  if (auto fault = document.parse(json, kPassedDepthMax)) {
    return std::unexpected(Problems{*std::move(fault)});
  }
  Reading in(document, UnknownKeys::kIgnored);
  if (is_object(in, 0)) check_names(in, 0);
  if (!in.fine()) return std::unexpected(in.take_problems());
  std::string out;
  append_compact(out, document, 0);
  return out;
}

void append_compact(std::string& out, const Document& document, NodeIx node) {
  JsonWriter json(out);
  write_compact(json, document, node);
}

}  // namespace vortex::codec
