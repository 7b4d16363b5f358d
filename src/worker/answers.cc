#include "worker/answers.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/document.h"
#include "codec/sync_json.h"

namespace vortex::worker {

namespace {

// What a problem+json says, as far as a worker acts on it or tells it.
struct Complaint {
  std::string code;
  std::string detail;
  std::optional<SyncRefusal::Why> why;
  Incarnation current;
  Duration retry_after;
};

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Complaint read_complaint(const net::Response& response) {
  Complaint out;
  codec::Document document;
  if (document.parse(response.body) || document.kind(0) != codec::NodeKind::kObject) return out;
  document.each_member(0, [&](codec::NodeIx key, codec::NodeIx value) {
    const std::string_view name = document.text(key);
    const std::string_view text = document.text(value);
    if (name == "code") out.code = text;
    if (name == "detail") out.detail = text;
    if (name == "why") out.why = from_text<SyncRefusal::Why>(text);
    if (name == "current") out.current = {number_of(text)};
    if (name == "retry_after_ms") {
      out.retry_after = millis(static_cast<std::int64_t>(number_of(text)));
    }
  });
  return out;
}

bool is_good(const net::Response& response) { return response.status / 100 == 2; }

NoAnswer no_answer(const CallResult& result) {
  NoAnswer out{trouble_of(result), {}};
  if (result) out.retry_after = read_complaint(*result).retry_after;
  return out;
}

NoAnswer not_understood(const codec::Problems& problems) {
  return {"invalid response: " + problems.front().message, {}};
}

}  // namespace

void add_session(net::Call& call, const std::string& session) {
  if (!session.empty()) call.headers.emplace_back("Vortex-Session", session);
}

std::string trouble_of(const CallResult& result) {
  if (!result) return result.error().detail;
  if (is_good(*result)) return {};
  const Complaint complaint = read_complaint(*result);
  if (complaint.code.empty()) return fmt::format("answered with status {}", result->status);
  return fmt::format("{} ({})", complaint.detail, complaint.code);
}

std::expected<agent::Input, NoAnswer> read_register_answer(agent::CallId call,
                                                           const CallResult& result) {
  if (result && is_good(*result)) {
    const auto reply = codec::read_register_reply(result->body);
    if (!reply) return std::unexpected(not_understood(reply.error()));
    return agent::RegisterAnswer{
        call, agent::RegisterAccepted{reply->term, reply->lease, reply->heartbeat_interval,
                                      reply->self_fence, reply->session}};
  }
  if (result && result->status == 409) {
    const Complaint complaint = read_complaint(*result);
    if (complaint.why == SyncRefusal::Why::kStaleIncarnation) {
      return agent::RegisterAnswer{call, agent::RegisterRefused{complaint.current}};
    }
  }
  return std::unexpected(no_answer(result));
}

std::expected<agent::Input, NoAnswer> read_sync_answer(agent::CallId call,
                                                       const CallResult& result) {
  if (result && is_good(*result)) {
    auto reply = codec::read_sync_reply(result->body);
    if (!reply) return std::unexpected(not_understood(reply.error()));
    return agent::SyncAnswer{call, *std::move(reply)};
  }
  if (result) {
    const Complaint complaint = read_complaint(*result);
    if (complaint.why) {
      return agent::SyncAnswer{call, SyncRefusal{*complaint.why, complaint.current}};
    }
  }
  return std::unexpected(no_answer(result));
}

}  // namespace vortex::worker
