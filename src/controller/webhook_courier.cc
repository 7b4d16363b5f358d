#include "controller/webhook_courier.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "api/call.h"
#include "api/secrets.h"
#include "api/views.h"
#include "base/clock.h"
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

namespace asio = boost::asio;

namespace {

constexpr Duration kLimit = seconds(10);
constexpr std::uint64_t kAnswerBytesMax = 64 * 1024;  // nobody reads it
constexpr std::size_t kShownMax = 200;

Duration retry_after(const net::Response& response) {
  const auto header = net::find_header(response.headers, "Retry-After");
  std::int64_t wait = 0;
  if (!header) return {};
  std::from_chars(header->data(), header->data() + header->size(), wait);
  return seconds(std::clamp<std::int64_t>(wait, 0, 3'600));
}

std::string trouble_of(const net::Response& response) {
  const auto place = net::find_header(response.headers, "Location");
  if (response.status / 100 == 3 && place) {
    return fmt::format("it answered {} with a redirect to {}: use that URL for the webhook",
                       response.status, place->substr(0, kShownMax));
  }
  return fmt::format("it answered {}", response.status);
}

net::Call make_call(const Receiver& receiver, const WebhookMessage& message) {
  const std::string timestamp = std::to_string(wall_clock_now().us / 1'000'000);
  net::Call call;
  call.method = net::Method::kPost;
  call.target = receiver.address.target;
  call.limit = kLimit;
  call.body = message.body;
  call.headers = {
      {"Content-Type", "application/cloudevents+json; charset=utf-8"},
      {"User-Agent", "vortex"},
      {"webhook-id", message.id},
      {"webhook-timestamp", timestamp},
      {"webhook-signature",
       api::sign_webhook(receiver.secret, {message.id, timestamp, message.body})},
  };
  return call;
}

}  // namespace

net::ClientConfig client_config(const Receiver& receiver) {
  net::ClientConfig config;
  config.endpoint = receiver.address.endpoint;
  config.connect_limit = kLimit;
  config.body_bytes_max = kAnswerBytesMax;
  config.may_reach = receiver.may_reach;
  return config;
}

asio::awaitable<api::Delivery> deliver(net::Client& client, const Receiver& receiver,
                                       const WebhookMessage& message) {
  const Instant begun = boot_clock_now();
  const auto answer = co_await client.send(make_call(receiver, message));
  api::Delivery delivery;
  delivery.took = boot_clock_now() - begun;
  if (!answer) {
    delivery.trouble = answer.error().detail;
    if (answer.error().fault == net::CallFault::kForbidden) {
      delivery.trouble +=
          "; webhooks may only reach public addresses and those in "
          "controller.webhook_networks";
    }
    co_return delivery;
  }
  delivery.status = answer->status;
  delivery.taken = answer->status / 100 == 2;
  if (delivery.taken) co_return delivery;
  delivery.trouble = trouble_of(*answer);
  delivery.retry_after = retry_after(*answer);
  co_return delivery;
}

bool refuses_message(const api::Delivery& delivery) {
  const int status = delivery.status;
  return status == 400 || status == 413 || status == 415 || status == 422;
}

namespace {

constexpr Duration kBeat = seconds(15);
constexpr Duration kReadAgain = seconds(1);  // when the store cannot be read
constexpr Duration kSaveEvery = millis(250);
constexpr std::uint64_t kSaveEveryUnwanted = 10'000;  // events that would be looked at once more
constexpr std::uint32_t kReadBytes = 1U << 20;

}  // namespace

Courier::Courier(Parts parts, WebhookRow row)
    : parts_(std::move(parts)),
      row_(std::move(row)),
      filter_(row_.kinds, {}, {}),
      receiver_{net::parse_web_address(row_.url).value_or(net::WebAddress{}), row_.secret,
                parts_.may_reach},
      client_(parts_.strand, client_config(receiver_)),
      timer_(parts_.strand),
      rng_(static_cast<std::uint64_t>(row_.created_at.us)),
      progress_(row_.progress),
      saved_(row_.progress) {}

void Courier::stop() {
  stopped_ = true;
  timer_.cancel();
  client_.close();
}

asio::awaitable<void> Courier::run(std::shared_ptr<Courier> self) {
  while (!self->stopped_) {
    const auto next = co_await self->parts_.backend.events().next(self->progress_.after, kBeat);
    if (self->stopped_) break;
    if (next.behind) {
      co_await self->catch_up(next.read_to);
    } else {
      for (const auto& lines : next.lines) co_await self->tell_lines(*lines.text);
    }
    if (self->progress_.delivered != self->saved_.delivered) co_await self->save();
  }
}

// What memory no longer holds, one piece at a time.
asio::awaitable<void> Courier::catch_up(std::uint64_t read_to) {
  const std::uint64_t after = progress_.after;
  const auto lines = co_await api::fetch(parts_.backend, [after](store::Reader& reader) {
    return reader.events_after(after, kReadBytes);
  });
  if (!lines) {
    co_await pause(kReadAgain);
    co_return;
  }
  const std::uint64_t first = lines->first_seq == 0 ? read_to + 1 : lines->first_seq;
  if (first > after + 1) {
    parts_.say(LogLevel::kWarn,
               fmt::format("webhook {}: events {} to {} have expired and were not sent", row_.name,
                           after + 1, first - 1));
    progress_.missed += first - after - 1;
    progress_.after = first - 1;
    co_await save();
  }
  co_await tell_lines(lines->lines);
}

asio::awaitable<void> Courier::tell_lines(std::string_view lines) {
  api::EventLine event;
  while (!stopped_ && api::take_event(lines, event)) {
    if (event.seq <= progress_.after) continue;
    if (filter_.wants(event)) co_await tell(event);
    if (stopped_) co_return;
    progress_.after = event.seq;
    const bool told = progress_.delivered != saved_.delivered;
    const bool long_ago = boot_clock_now() - saved_at_ >= kSaveEvery;
    const bool far = progress_.after - saved_.after >= kSaveEveryUnwanted;
    if ((told && long_ago) || far) co_await save();
  }
}

asio::awaitable<void> Courier::tell(const api::EventLine& event) {
  RunNow run;
  const bool ours = co_await is_ours(event, run);
  if (!ours || stopped_) co_return;
  const WebhookMessage message = make_message(row_.name, event, run);
  co_await deliver_until_done(message);
}

// Reads the run that the event is of. Without a filter by DAG every event is ours.
asio::awaitable<bool> Courier::is_ours(const api::EventLine& event, RunNow& run) {
  const auto id = run_of(event);
  if (!id) co_return row_.dag.empty();
  while (!stopped_) {
    auto found = co_await api::fetch(parts_.backend,
                                     [id](store::Reader& reader) { return reader.run(*id); });
    if (found) {
      run = *std::move(found);
      co_return row_.dag.empty() || (run && run->dag == row_.dag);
    }
    co_await pause(kReadAgain);
  }
  co_return false;
}

asio::awaitable<void> Courier::deliver_until_done(const WebhookMessage& message) {
  for (std::uint32_t tries = 1; !stopped_; ++tries) {
    const api::Delivery delivery = co_await deliver(client_, receiver_, message);
    if (stopped_ && !delivery.taken) co_return;
    count(delivery);
    if (delivery.taken) co_return;
    if (refuses_message(delivery) && tries >= parts_.pace.refusals_max) {
      parts_.say(LogLevel::kError,
                 fmt::format("webhook {}: giving up on message {} after {} tries: {}", row_.name,
                             message.id, tries, delivery.trouble));
      ++progress_.given_up;
      co_await save();
      co_return;
    }
    co_await save();  // so that people can see what is wrong
    co_await pause(backoff(tries, delivery.retry_after));
  }
}

void Courier::count(const api::Delivery& delivery) {
  if (delivery.taken) {
    ++progress_.delivered;
    progress_.delivered_at = parts_.backend.now();
  }
  const bool was_well = progress_.trouble.empty();
  progress_.trouble = delivery.trouble;
  if (was_well == delivery.taken) return;
  parts_.say(delivery.taken ? LogLevel::kInfo : LogLevel::kWarn,
             delivery.taken
                 ? fmt::format("webhook {}: {} accepts messages again", row_.name, row_.url)
                 : fmt::format("webhook {}: {} did not accept a message: {}; retrying", row_.name,
                               row_.url, delivery.trouble));
}

Duration Courier::backoff(std::uint32_t tries, Duration asked) {
  const CourierPace& pace = parts_.pace;
  const Duration doubled = pace.first_wait * (std::int64_t{1} << std::min(tries - 1, 20U));
  const Duration wait = std::min(std::max(doubled, asked), pace.longest_wait);
  const auto fifth = static_cast<std::uint64_t>(wait.us / 5);
  return wait + micros(static_cast<std::int64_t>(rng_.below(fifth + 1)));
}

asio::awaitable<void> Courier::pause(Duration wait) {
  if (stopped_) co_return;
  timer_.expires_after(std::chrono::microseconds(wait.us));
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

// Best effort: what is not written is told again by the next controller.
asio::awaitable<void> Courier::save() {
  saved_at_ = boot_clock_now();
  if (progress_ == saved_) co_return;
  const WebhookProgress now = progress_;
  api::SideWrite side = api::WriteWebhookStep{{row_.name, row_.created_at, now}};
  const auto written = co_await parts_.backend.write(std::move(side));
  if (written) saved_ = now;
}

}  // namespace vortex::controller
