#pragma once
// The small parts of sync messages in both directions: attempts, marks, bytes.
// For the codec itself and the small bodies of the API; one thread per Reading.

#include <string>
#include <string_view>

#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/sync.h"

namespace vortex::codec {

void read_task_id(Reading& in, NodeIx node, TaskId& out);
void read_mark(Reading& in, NodeIx node, ReplyMark& out);
void read_base64(Reading& in, NodeIx node, std::string& out);

// "task" and "epoch".
void write_attempt(JsonWriter& json, const Attempt& attempt);
void write_mark(JsonWriter& json, std::string_view name, const ReplyMark& mark);

// Bytes go as text where they are text, else as base64 under a name of their own.
struct BytesNames {
  std::string_view text;
  std::string_view base64;
};
void write_bytes(JsonWriter& json, const BytesNames& names, std::string_view bytes);

template <class Number, class Tag>
void read_strong(Reading& in, NodeIx node, StrongNumber<Tag, Number>& out) {
  read_number(in, node, out.value);
}

}  // namespace vortex::codec
