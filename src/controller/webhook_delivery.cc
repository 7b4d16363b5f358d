#include "controller/webhook_delivery.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "api/webhook_secret.h"
#include "base/clock.h"

namespace vortex::controller {

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

}  // namespace vortex::controller
