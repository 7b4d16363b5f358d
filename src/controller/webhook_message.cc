#include "controller/webhook_message.h"

#include <string_view>

#include <fmt/format.h>

#include "api/views.h"
#include "codec/json_writer.h"

namespace vortex::controller {

namespace {

using codec::JsonWriter;

constexpr std::string_view kTime = R"({"ts":)";
constexpr std::string_view kRun = R"(,"run_id":")";

// A line begins with its time and ends with its run (codec/event_json.h).
std::string_view quoted_time(std::string_view line) {
  if (!line.starts_with(kTime)) return "null";
  line.remove_prefix(kTime.size());
  return line.substr(0, line.find(','));
}

std::string_view run_text(std::string_view line) {
  const auto at = line.rfind(kRun);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + kRun.size());
  return line.substr(0, line.find('"'));
}

struct Envelope {
  const std::string& webhook;
  std::string_view id;
  std::string_view kind;
};

// Everything up to the data.
JsonWriter& begin(JsonWriter& json, const Envelope& envelope) {
  json.begin_object().field("specversion", "1.0").field("id", envelope.id);
  json.field("source", "/vortex/webhooks/" + envelope.webhook);
  json.field("type", fmt::format("vortex.{}", envelope.kind));
  return json.field("datacontenttype", "application/json");
}

}  // namespace

std::optional<RunId> run_of(const api::EventLine& event) {
  return parse_run_id(run_text(event.json));
}

WebhookMessage make_message(const std::string& webhook, const api::EventLine& event,
                            const RunNow& run) {
  WebhookMessage message;
  const std::string seq = std::to_string(event.seq);
  message.id = fmt::format("{}-{}", webhook, seq);
  JsonWriter json(message.body);
  begin(json, {webhook, seq, event.kind}).key("time").raw(quoted_time(event.json));
  const std::string_view subject = run_text(event.json);
  if (!subject.empty()) json.field("subject", subject);
  json.key("data").begin_object().key("event").raw(event.json).key("run");
  if (run) {
    api::write_run(json, *run);
  } else {
    json.null();
  }
  json.end_object().end_object();
  return message;
}

WebhookMessage make_trial(const std::string& webhook, Instant now) {
  WebhookMessage message;
  const std::string id = fmt::format("test-{}", now.us);
  message.id = fmt::format("{}-{}", webhook, id);
  JsonWriter json(message.body);
  begin(json, {webhook, id, "test"}).field("time", now);
  json.key("data").begin_object().key("event").null().key("run").null().end_object().end_object();
  return message;
}

}  // namespace vortex::controller
