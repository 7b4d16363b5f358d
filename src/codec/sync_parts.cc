#include "codec/sync_parts.h"

#include <fmt/format.h>

#include "base/text.h"
#include "codec/text.h"

namespace vortex::codec {
namespace {

constexpr Field<ReplyMark> kMarkFields[] = {
    {"term", [](Reading& in, NodeIx node, ReplyMark& out) { read_strong(in, node, out.term); }},
    {"reply", [](Reading& in, NodeIx node, ReplyMark& out) { read_number(in, node, out.reply); }},
};

}  // namespace

void read_task_id(Reading& in, NodeIx node, TaskId& out) {
  const auto text = text_of(in, node);
  if (!text) return;
  const auto id = parse_task_id(*text);
  if (!id) return in.wrong_type(node, "the id of a task such as \"r1-L0-0\"");
  out = *id;
}

void read_mark(Reading& in, NodeIx node, ReplyMark& out) {
  read_object(in, node, "", kMarkFields, out);
}

void read_base64(Reading& in, NodeIx node, std::string& out) {
  const auto text = text_of(in, node);
  if (!text) return;
  auto bytes = decode_base64(*text);
  if (!bytes) return in.wrong_type(node, "base64 with its padding");
  out = *std::move(bytes);
}

void write_attempt(JsonWriter& json, const Attempt& attempt) {
  json.key("task").raw(QuotedId(attempt.task).view());
  json.field("epoch", attempt.epoch.value);
}

void write_mark(JsonWriter& json, std::string_view name, const ReplyMark& mark) {
  json.key(name).begin_object();
  json.field("term", mark.term.value).field("reply", mark.reply).end_object();
}

void write_bytes(JsonWriter& json, const BytesNames& names, std::string_view bytes) {
  if (is_utf8(bytes)) {
    json.field(names.text, bytes);
    return;
  }
  std::string text;
  append_base64(text, bytes);
  json.field(names.base64, std::string_view(text));
}

}  // namespace vortex::codec
