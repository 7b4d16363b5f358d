#include "cli/run_watch.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/address.h"
#include "cli/json_view.h"

namespace vortex::cli {
namespace {

namespace asio = boost::asio;

constexpr Duration kDrawEvery = millis(100);
constexpr Duration kReadEvery = seconds(2);
constexpr Duration kReadSoon = millis(50);
constexpr std::int64_t kReadShare = 20;  // reading takes at most this part of the time

std::chrono::microseconds to_chrono(Duration d) { return std::chrono::microseconds(d.us); }

ExitCode code_of_end(const boost::json::object& run) {
  const std::string state = text_at(run, "state");
  if (state == "Completed") return ExitCode::kOk;
  return state == "Cancelled" ? ExitCode::kRunCancelled : ExitCode::kRunFailed;
}

// Returns when the time is over or the timer was cancelled.
asio::awaitable<void> wait_on(asio::steady_timer& timer, Duration wait) {
  timer.expires_after(to_chrono(wait));
  const auto [ec] = co_await timer.async_wait(asio::as_tuple(asio::deferred));
  static_cast<void>(ec);
}

}  // namespace

RunWatch::RunWatch(ApiClient& api, ProgressScreen& screen, std::string run, Duration limit)
    : api_(api),
      screen_(screen),
      run_(std::move(run)),
      limit_(limit),
      next_read_(api.io()),
      next_draw_(api.io()),
      end_of_time_(api.io()),
      signals_(api.io(), SIGINT, SIGTERM) {}

ExitCode RunWatch::watch(ProgressModel& model) {
  Feed feed;
  feed.target = fmt::format("/api/runs/{}/events", escaped(run_));
  feed.on_event = [this, &model](const boost::json::object& event) {
    model.apply(event);
    if (text_at(event, "event") == "run_complete") {
      read_again_ = true;
      next_read_.cancel();
    }
    return !over_;
  };
  feed.on_link = [this](Link link, const std::string& detail) { on_link(link, detail); };
  // Events from before the first read are not needed, those after it are.
  const auto position = api_.get("/api/events?limit=1");
  if (!position) {
    failure_ = position.error();
    return position.error().exit;
  }
  feed.after = static_cast<std::uint64_t>(number_at(position->object(), "last_seq"));
  follower_ = std::make_unique<Follower>(api_, std::move(feed));
  asio::co_spawn(api_.io(), read_on(model), asio::detached);
  asio::co_spawn(api_.io(), listen(), asio::detached);
  asio::co_spawn(api_.io(), draw_on(model), asio::detached);
  asio::co_spawn(api_.io(), heed_signals(), asio::detached);
  if (limit_.us > 0) asio::co_spawn(api_.io(), heed_limit(limit_), asio::detached);
  api_.io().restart();
  api_.io().run();
  return code_;
}

void RunWatch::stop(ExitCode code) {
  if (std::exchange(over_, true)) return;
  code_ = code;
  follower_->stop();
  next_read_.cancel();
  next_draw_.cancel();
  end_of_time_.cancel();
  signals_.cancel();
}

// Also a call under way is not waited for.
void RunWatch::give_up(ExitCode code) {
  stop(code);
  api_.give_up();
}

void RunWatch::on_link(Link link, const std::string& detail) {
  if (over_) return;
  if (link == Link::kLost && !std::exchange(lost_, true)) {
    screen_.note(fmt::format("lost the controller ({}); the run continues, reconnecting", detail));
  }
  if (link == Link::kUp && std::exchange(lost_, false)) {
    screen_.note(fmt::format("reconnected to {}", detail));
  }
  read_again_ = true;
  next_read_.cancel();
}

asio::awaitable<void> RunWatch::listen() {
  std::optional<Failure> refused = co_await follower_->run();
  if (!refused || over_) co_return;
  failure_ = std::move(refused);
  stop(failure_->exit);
}

asio::awaitable<void> RunWatch::draw_on(ProgressModel& model) {
  while (!over_) {
    screen_.draw(model, wall_clock_now());
    co_await wait_on(next_draw_, kDrawEvery);
  }
}

asio::awaitable<void> RunWatch::heed_signals() {
  const auto [ec, signal] = co_await signals_.async_wait(asio::as_tuple(asio::deferred));
  static_cast<void>(signal);
  if (!ec) give_up(ExitCode::kInterrupted);
}

asio::awaitable<void> RunWatch::heed_limit(Duration limit) {
  end_of_time_.expires_after(to_chrono(limit));
  const auto [ec] = co_await end_of_time_.async_wait(asio::as_tuple(asio::deferred));
  if (!ec) give_up(ExitCode::kWaitTimedOut);
}

// Every task; false: it could not be read to the end.
asio::awaitable<bool> RunWatch::read_tasks(ProgressModel& model) {
  std::string cursor;
  do {
    const QueryItems page{{"limit", "1000"}, {"cursor", cursor}};
    ApiRequest request;
    request.target = with_query(fmt::format("/api/runs/{}/tasks", escaped(run_)), page);
    ApiResult answer = co_await api_.send(std::move(request));
    if (!answer) co_return false;
    for (const auto& item : list_at(answer->object(), "tasks")) {
      if (!item.is_object()) continue;
      const auto state = task_state_from(text_at(item.get_object(), "state"));
      const auto index = static_cast<std::uint32_t>(number_at(item.get_object(), "index"));
      if (state) model.set(index, *state);
    }
    cursor = text_at(answer->object(), "next_cursor");
  } while (!cursor.empty() && !over_);
  co_return true;
}

// False: no controller answered; it is tried again.
asio::awaitable<bool> RunWatch::read_once(ProgressModel& model) {
  ApiRequest request;
  request.target = "/api/runs/" + escaped(run_);
  ApiResult answer = co_await api_.send(std::move(request));
  if (!answer) {
    const bool gone = answer.error().exit == ExitCode::kUnreachable;
    if (!gone) {
      failure_ = std::move(answer.error());
      stop(failure_->exit);
    }
    co_return !gone;
  }
  seen_ = answer->object();
  model.set_counts(object_at(seen_, "counts"));
  if (model.detail() == ProgressModel::Detail::kByNode) {
    const bool whole = co_await read_tasks(model);
    if (!whole) co_return false;
  }
  if (!over_ && text_at(seen_, "state") != "Running") stop(code_of_end(seen_));
  co_return true;
}

asio::awaitable<void> RunWatch::read_on(ProgressModel& model) {
  while (!over_) {
    read_again_ = false;
    const Instant begin = boot_clock_now();
    const bool answered = co_await read_once(model);
    if (over_) co_return;
    if (!answered && !std::exchange(lost_, true)) {
      screen_.note("no controller answers; the run continues, retrying");
    }
    const Duration took = boot_clock_now() - begin;
    const Duration calm = std::max(kReadEvery, took * kReadShare);
    co_await wait_on(next_read_, read_again_ ? std::max(kReadSoon, took) : calm);
  }
}

}  // namespace vortex::cli
