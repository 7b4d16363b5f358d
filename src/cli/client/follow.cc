#include "cli/client/follow.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <fmt/format.h>

#include "cli/screen/json_view.h"

namespace vortex::cli {

void SseReader::feed(std::string_view piece, const OnEvent& on_event) {
  rest_ += piece;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = rest_.find('\n', begin);
    if (end == std::string::npos) break;
    take_line(std::string_view(rest_).substr(begin, end - begin), on_event);
    begin = end + 1;
  }
  rest_.erase(0, begin);
}

void SseReader::reset() {
  rest_.clear();
  event_ = {};
}

void SseReader::take_line(std::string_view line, const OnEvent& on_event) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (!event_.data.empty()) on_event(event_);
    event_ = {};
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") event_.id = value;
  if (name == "data") {
    if (!event_.data.empty()) event_.data += '\n';
    event_.data += value;
  }
}

namespace {

namespace asio = boost::asio;

constexpr Duration kFirstPause = millis(100);
constexpr Duration kPauseMax = seconds(3);

}  // namespace

Follower::Follower(ApiClient& api, Feed feed)
    : api_(api), feed_(std::move(feed)), pause_(api.io()) {}

void Follower::stop() {
  stopped_ = true;
  pause_.cancel();
  if (client_) client_->close();
}

bool Follower::take_piece(std::string_view piece) {
  if (!std::exchange(up_, true) && feed_.on_link) feed_.on_link(Link::kUp, api_.server());
  reader_.feed(piece, [this](const SseReader::Event& event) {
    boost::system::error_code ec;
    const boost::json::value json = boost::json::parse(event.data, ec);
    if (ec || !json.is_object() || stopped_) return;
    const auto seq = static_cast<std::uint64_t>(number_at(json.get_object(), "seq"));
    if (seq <= feed_.after) return;
    feed_.after = seq;
    if (!feed_.on_event(json.get_object())) stopped_ = true;
  });
  return !stopped_;
}

// One connection, until it ends.
asio::awaitable<std::optional<Failure>> Follower::stay_connected() {
  reader_.reset();
  client_ = api_.connect();
  net::Call call;
  call.target = feed_.target;
  call.headers.emplace_back("Accept", "text/event-stream");
  call.headers.emplace_back("Last-Event-ID", std::to_string(feed_.after));
  call.limit = feed_.silence_max;
  net::Client::OnPiece on_piece = [this](std::string_view piece) { return take_piece(piece); };
  auto answer = co_await client_->stream(std::move(call), std::move(on_piece));
  const bool refused = answer && answer->status >= 400 && answer->status != 503;
  if (refused) co_return failure_of(*answer);
  const bool was_up = std::exchange(up_, false);
  if (was_up) pause_now_ = kFirstPause;
  if (was_up && !stopped_ && feed_.on_link) {
    feed_.on_link(Link::kLost, answer ? "the controller ended the stream" : answer.error().detail);
  }
  co_return std::nullopt;
}

asio::awaitable<std::optional<Failure>> Follower::run() {
  pause_now_ = kFirstPause;
  while (!stopped_) {
    std::optional<Failure> refused = co_await stay_connected();
    if (refused) co_return refused;
    if (stopped_) break;
    api_.try_next_server();
    pause_.expires_after(std::chrono::microseconds(pause_now_.us));
    const auto [ec] = co_await pause_.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(ec);
    pause_now_ = std::min(pause_now_ * 2, kPauseMax);
  }
  client_.reset();
  co_return std::nullopt;
}

}  // namespace vortex::cli
