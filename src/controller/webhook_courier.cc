#include "controller/webhook_courier.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "api/call.h"
#include "base/clock.h"

namespace vortex::controller {

namespace asio = boost::asio;

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
      receiver_{net::parse_web_address(row_.url).value_or(net::WebAddress{}), row_.secret},
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
