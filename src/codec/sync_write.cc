// What a worker says in a sync call, written.
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "codec/json_writer.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/sync_words.h"
#include "codec/units.h"

namespace vortex::codec {
namespace {

// Enough for a report without data, so that a long message grows its text only a few times.
constexpr std::size_t kBytesPerEntry = 80;

void write_body(JsonWriter& json, const Started& /*body*/) { json.field("kind", "started"); }

void write_body(JsonWriter& json, const Checkpoint& body) {
  json.field("kind", "checkpoint");
  write_bytes(json, {.text = "data", .base64 = "data_base64"}, body.data);
}

void write_body(JsonWriter& json, const Completed& body) {
  json.field("kind", "completed");
  if (!body.outputs.empty()) json.key("outputs").raw(body.outputs);
}

void write_body(JsonWriter& json, const Failed& body) {
  json.field("kind", "failed").field("cause", to_text(body.cause));
  json.field("code", std::int64_t{body.code});
  if (!body.message.empty()) json.field("message", std::string_view(body.message));
}

void write_body(JsonWriter& json, const Released& body) {
  json.field("kind", "released").field("cause", to_text(body.cause));
  if (!body.message.empty()) json.field("message", std::string_view(body.message));
}

void write_body(JsonWriter& json, const TimedOut& /*body*/) { json.field("kind", "timed_out"); }

void write_report(JsonWriter& json, const Report& report) {
  json.begin_object();
  write_attempt(json, report.attempt);
  std::visit([&](const auto& body) { write_body(json, body); }, report.body);
  json.end_object();
}

void write_held(JsonWriter& json, const HeldTask& held) {
  json.begin_object();
  write_attempt(json, held.attempt);
  if (held.progress) {
    json.key("progress").begin_object();
    json.field("percent", std::uint32_t{held.progress->percent});
    if (!held.progress->step.empty()) json.field("step", std::string_view(held.progress->step));
    json.end_object();
  }
  if (held.output_bytes) json.field("output_bytes", *held.output_bytes);
  json.end_object();
}

}  // namespace

std::string write_sync(const SyncRequest& request) {
  std::string out;
  const std::size_t held = request.held ? request.held->size() : 0;
  out.reserve((held + request.reports.size() + 2) * kBytesPerEntry);
  JsonWriter json(out);
  json.begin_object().field("incarnation", request.incarnation.value).field("seq", request.seq);
  if (request.ack != ReplyMark{}) write_mark(json, "ack", request.ack);
  json.field("slots", request.slots);
  if (request.held) {
    json.key("held").begin_array();
    for (const HeldTask& task : *request.held) write_held(json, task);
    json.end_array();
  }
  if (!request.reports.empty()) {
    json.key("reports").begin_array();
    for (const Report& report : request.reports) write_report(json, report);
    json.end_array();
  }
  if (request.leaving != Leaving::kNo) {
    json.field("leaving", to_text(request.leaving));
  }
  if (request.wait > Duration{}) json.field("wait_ms", whole_millis(request.wait));
  if (request.worker_clock != Instant{}) json.field("worker_clock_us", request.worker_clock.us);
  json.end_object();
  return out;
}

}  // namespace vortex::codec
