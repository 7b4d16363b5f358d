#include "cli/screen/run_watch.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "api/schema/schema.h"
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr std::size_t kFailedShown = 5;
constexpr std::size_t kLinesShown = 3;

std::vector<std::string> last_lines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < count) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
    lines.insert(lines.begin(), one_line(text.substr(begin)));
    text = text.substr(0, begin);
  }
  return lines;
}

std::string headline(const object& run, const Look& look) {
  const std::string state = text_at(run, "state");
  std::vector<std::string> parts;
  for (const std::string_view word : words_of<TaskState>()) {
    const std::int64_t count = number_at(object_at(run, "counts"), word);
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  }
  std::string took;
  const auto begin = time_at(run, "created_at");
  const auto end = time_at(run, "finished_at");
  if (begin && end) took = " after " + human_duration(*end - *begin);
  if (text_at(run, "ending") == "timed_out") took += " (timed out)";
  return fmt::format("{}: run {} of {}{}: {}\n",
                     paint(state_text(state, look), tone_of_state(state), look), text_at(run, "id"),
                     one_line(text_at(run, "dag")), took, fmt::join(parts, ", "));
}

// Verdict and last output of one failed task.
std::string failed_task(ApiClient& api, const object& task, const DagPlan& plan, const Look& look) {
  const std::string id = text_at(task, "id");
  const std::string name = task_name(plan, static_cast<std::uint32_t>(number_at(task, "index")));
  std::string verdict = one_line(text_at(task, "error_message"));
  if (const auto attempts = api.get(fmt::format("/api/tasks/{}/attempts", escaped(id)))) {
    const auto& all = list_at(attempts->object(), "attempts");
    if (!all.empty() && all.back().is_object()) verdict = verdict_text(all.back().get_object());
  }
  std::string out = fmt::format("  {} ({}): {}\n", paint(name, Tone::kBad, look), id, verdict);
  const auto log = api.get(fmt::format("/api/tasks/{}/logs?tail=2000", escaped(id)));
  if (!log) return out;
  for (const std::string& line : last_lines(log->text, kLinesShown)) {
    out += "    | " + line + "\n";
  }
  return out;
}

}  // namespace

std::string verdict_text(const object& attempt) {
  const std::string verdict = text_at(attempt, "verdict");
  std::string out = verdict.empty() ? "still running" : verdict;
  for (char& c : out) c = c == '_' ? ' ' : c;
  if (verdict == "exit_code" || verdict == "signal") out += " " + text_at(attempt, "code");
  const std::string message = text_at(attempt, "message");
  const bool says_more = !message.empty() && message != out;
  const std::string worker = text_at(attempt, "worker");
  if (!worker.empty()) out += " on " + worker;
  out += fmt::format(", attempt {}", number_at(attempt, "number"));
  if (says_more) out += ": " + message;
  return one_line(out);
}

std::string run_summary(ApiClient& api, const object& run, const DagPlan& plan, const Look& look) {
  std::string out = headline(run, look);
  const std::string reason = text_at(run, "reason");
  if (!reason.empty()) out += fmt::format("  {}\n", one_line(reason));
  const std::string id = text_at(run, "id");
  const std::int64_t failed = number_at(object_at(run, "counts"), "Failed");
  if (failed == 0) return out;
  const QueryItems filter{{"state", "Failed"}, {"limit", std::to_string(kFailedShown)}};
  const auto tasks = api.get(with_query(fmt::format("/api/runs/{}/tasks", escaped(id)), filter));
  if (!tasks) return out;
  const auto& items = list_at(tasks->object(), "tasks");
  for (const auto& item : items) {
    if (item.is_object()) out += failed_task(api, item.get_object(), plan, look);
  }
  const auto shown = static_cast<std::int64_t>(items.size());
  if (failed > shown)
    out += fmt::format("  ... and {}\n",
                       counted(static_cast<std::uint64_t>(failed - shown), "more failed task"));
  if (items.empty() || !items[0].is_object()) return out;
  const std::string first =
      task_name(plan, static_cast<std::uint32_t>(number_at(items[0].get_object(), "index")));
  return out +
         fmt::format("Show the output:  vortex logs {0}/{1}    Retry:  vortex runs retry {0}\n", id,
                     first);
}

namespace {

namespace asio = boost::asio;

constexpr Duration kDrawEvery = millis(100);
constexpr Duration kReadEvery = seconds(2);
constexpr Duration kReadSoon = millis(50);
constexpr Duration kLifeEvery = seconds(1);
constexpr std::size_t kRunningShown = 5;
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
      next_life_(api.io()),
      end_of_time_(api.io()),
      signals_(api.io(), SIGINT, SIGTERM) {}

ExitCode RunWatch::watch(ProgressModel& model) {
  Feed feed;
  feed.target = fmt::format("/api/runs/{}/events", escaped(run_));
  feed.on_event = [this, &model](const boost::json::object& event) {
    model.apply(event);
    const auto task = parse_task_id(text_at(event, "task_id"));
    if (task && task->index >= model.plan().tasks) {  // of a map that was made just now
      read_again_ = true;
      next_read_.cancel();
    }
    if (const auto lost = lost_tasks_.see(event, model.plan())) screen_.note(*lost);
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
  asio::co_spawn(api_.io(), live_on(model), asio::detached);
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
  next_life_.cancel();
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

asio::awaitable<void> RunWatch::live_on(const ProgressModel& model) {
  while (!over_) {
    co_await wait_on(next_life_, kLifeEvery);
    if (over_ || lost_) continue;
    co_await read_standstills();
    if (!over_ && screen_.shows_life()) co_await read_life(model.plan());
  }
}

// What does not move until somebody acts is told unasked, once for as long as it stays the same.
asio::awaitable<void> RunWatch::read_standstills() {
  ApiRequest request;
  request.target = fmt::format("/api/runs/{}/explain", escaped(run_));
  const ApiResult answer = co_await api_.send(std::move(request));
  if (!answer || over_) co_return;
  std::string now = standstills_text(list_at(answer->object(), "standstills"));
  if (now == standstill_) co_return;
  if (!now.empty()) screen_.note(now);
  standstill_ = std::move(now);
}

asio::awaitable<void> RunWatch::read_life(const DagPlan& plan) {
  const QueryItems running{{"state", "Running"}, {"limit", std::to_string(kRunningShown)}};
  ApiRequest request;
  request.target = with_query(fmt::format("/api/runs/{}/tasks", escaped(run_)), running);
  const ApiResult tasks = co_await api_.send(std::move(request));
  if (!tasks) co_return;
  std::vector<std::string> lines;
  for (const auto& item : list_at(tasks->object(), "tasks")) {
    if (!item.is_object() || over_) continue;
    const object& task = item.get_object();
    ApiRequest tail;
    tail.target = fmt::format("/api/tasks/{}/logs?tail=400", escaped(text_at(task, "id")));
    const ApiResult output = co_await api_.send(std::move(tail));
    lines.push_back(running_line(task, plan, output ? output->text : "", wall_clock_now()));
  }
  screen_.set_life(std::move(lines));
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

// Above this many tasks each read of all of them would take too long: one bar for everything.
constexpr std::uint32_t kTasksByNodeMax = 20'000;

// Maps were made at run time. False: it could not be read.
asio::awaitable<bool> RunWatch::read_plan(ProgressModel& model) {
  ApiRequest request;
  request.target = fmt::format("/api/runs/{}/dag", escaped(run_));
  const ApiResult answer = co_await api_.send(std::move(request));
  if (!answer) co_return false;
  auto plan = plan_of_run(answer->object());
  if (!plan) co_return false;
  if (model.detail() == ProgressModel::Detail::kByNode && (*plan)->tasks > kTasksByNodeMax) {
    model = ProgressModel(*std::move(plan), ProgressModel::Detail::kWhole);
  } else {
    model.grow(*std::move(plan));
  }
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
  if (number_at(seen_, "tasks") > model.plan().tasks) {
    const bool read = co_await read_plan(model);
    if (!read) co_return false;
  }
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

namespace {

void say_it_goes_on(const std::string& run, ExitCode why) {
  if (why == ExitCode::kInterrupted) {
    return talk(fmt::format("The run continues. Watch it again with:  vortex runs watch {}", run));
  }
  complain(fmt::format("run {} has not ended in time and continues", run),
           fmt::format("watch it again with `vortex runs watch {}`", run));
}

}  // namespace

ExitCode watch_run(const Context& context, ApiClient& api, const std::string& run,
                   const WatchOptions& options) {
  const auto plan = fetch_plan(api, run);
  if (!plan) return report(plan.error());
  const auto detail = (*plan)->tasks > kTasksByNodeMax ? ProgressModel::Detail::kWhole
                                                       : ProgressModel::Detail::kByNode;
  ProgressModel model(*plan, detail);
  ProgressScreen screen = ProgressScreen::for_context(context);
  if (options.view == WatchView::kSilent) {
    screen = ProgressScreen(ProgressScreen::Kind::kNone, screen.look());
  }
  RunWatch watch(api, screen, run, options.limit);
  const ExitCode code = watch.watch(model);
  if (watch.failure()) return report(*watch.failure());
  screen.finish(model, wall_clock_now());
  const bool stays = code == ExitCode::kInterrupted || code == ExitCode::kWaitTimedOut;
  if (stays) {
    say_it_goes_on(run, code);
  } else if (!context.quiet && options.view == WatchView::kShown) {
    say_here(run_summary(api, watch.run(), **plan, screen.look()));
  }
  return code;
}

}  // namespace vortex::cli
