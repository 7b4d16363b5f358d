#include "codec/event_json.h"

#include <cstdint>
#include <string_view>
#include <variant>

#include "codec/json_writer.h"
#include "codec/text.h"

namespace vortex::codec {
namespace {

void write_run(JsonWriter& json, const Event& event) {
  json.key("run_id");
  if (event.run) {
    json.raw(QuotedId(*event.run).view());
  } else if (event.task) {
    json.raw(QuotedId(event.task->run).view());
  } else {
    json.null();
  }
}

}  // namespace

void write_event(std::string& out, const Event& event) {
  JsonWriter json(out);
  json.begin_object().field("ts", event.at).field("level", to_text(event.severity));
  json.key("worker_id");
  event.worker.empty() ? json.null() : json.text(event.worker.text);
  json.field("event", to_text(event.kind)).key("task_id");
  event.task ? json.raw(QuotedId(*event.task).view()) : json.null();
  if (!event.task_name.empty()) json.field("task", event.task_name);
  json.key("data").begin_object();
  for (const auto& [name, value] : event.data) {
    const auto* number = std::get_if<std::int64_t>(&value);
    json.key(name);
    number != nullptr ? json.number(*number) : json.text(std::get<std::string>(value));
  }
  json.end_object().field("seq", event.seq);
  write_run(json, event);
  json.end_object();
  out += '\n';
}

}  // namespace vortex::codec
