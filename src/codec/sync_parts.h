#pragma once
// The small parts of sync messages in both directions: attempts, marks, bytes.
// For the codec itself and the small bodies of the API; one thread per Reading.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/sync.h"
#include "model/words.h"

namespace vortex {

// What a worker reports, as one word each. On the wire: append-only.
// The other words of the exchange stand in model/sync.h, beside what they mean.

namespace codec {

// In the order of ReportBody.
enum class ReportKind : std::uint8_t {
  kStarted,
  kCheckpoint,
  kCompleted,
  kFailed,
  kReleased,
  kTimedOut,
};

}  // namespace codec

template <>
inline constexpr auto kWords<codec::ReportKind> = words<codec::ReportKind>({
    {codec::ReportKind::kStarted, "started"},
    {codec::ReportKind::kCheckpoint, "checkpoint"},
    {codec::ReportKind::kCompleted, "completed"},
    {codec::ReportKind::kFailed, "failed"},
    {codec::ReportKind::kReleased, "released"},
    {codec::ReportKind::kTimedOut, "timed_out"},
});
static_assert(std::variant_size_v<ReportBody> == kWords<codec::ReportKind>.size());

}  // namespace vortex

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
