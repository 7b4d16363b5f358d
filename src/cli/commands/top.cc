// vortex top: the system live on the whole screen; q ends it.

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/status.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/progress.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

// One picture of `vortex top`, made of three answers. Pure.
// Fits the screen: what does not is counted in the last line.

struct TopSeen {
  boost::json::object status;
  boost::json::object runs;
  boost::json::object workers;
  std::string trouble;  // why the picture is old; empty: it is fresh
};

using boost::json::object;
using Lines = std::vector<std::string>;

Lines split(const std::string& text) {
  Lines lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// A run as one group of tasks.
TaskGroup group_of(const object& run) {
  TaskGroup group{fmt::format("{} {}", text_at(run, "id"), text_at(run, "dag")),
                  static_cast<std::uint32_t>(number_at(run, "tasks")),
                  {}};
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    group.by_state[i] = static_cast<std::uint32_t>(
        number_at(object_at(run, "counts"), to_text(static_cast<TaskState>(i))));
  }
  return group;
}

Lines run_lines(const object& runs, const Look& look) {
  std::vector<TaskGroup> groups;
  for (const auto& run : list_at(runs, "runs")) {
    if (run.is_object()) groups.push_back(group_of(run.get_object()));
  }
  const BarRoom room = room_for(groups, look.width, groups.size());
  Lines lines;
  for (const TaskGroup& group : groups) lines.push_back(bar_line(group, Pace{}, room, look));
  return lines;
}

Lines worker_lines(const object& workers, const Look& look) {
  Table table({{"WORKER", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"STATE", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"HELD", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"DONE", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"HEARD", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"MACHINE", Align::kLeft, Shown::kAlways, Shrinks::kMay}});
  for (const auto& item : list_at(workers, "workers")) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    table.add({plain_cell(o, "id"),
               state_cell(o, "state", look),
               {fmt::format("{}/{}", number_at(o, "held"), number_at(o, "slots")), Tone::kPlain},
               plain_cell(o, "completed"),
               time_cell(o, "last_heartbeat", look),
               plain_cell(o, "machine")});
  }
  return table.rows() == 0 ? Lines{"no workers"} : split(table.text(look));
}

// A section takes its part; what is left out is counted.
void add_section(Lines& out, const std::string& title, Lines lines, std::size_t room) {
  out.emplace_back();
  out.push_back(title);
  if (lines.size() > room && room > 0) {
    const std::size_t hidden = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back(fmt::format("... {} more", hidden));
  }
  out.insert(out.end(), lines.begin(), lines.end());
}

// Clears what stands there and draws, at most `rows` lines, none wider than the screen.
std::string top_frame(const TopSeen& seen, std::size_t rows, Look look) {
  look.now = time_at(seen.status, "now").value_or(look.now);
  Lines out = split(status_text(seen.status, look));
  if (!seen.trouble.empty()) {
    const std::string text = "NOT LIVE: " + one_line(seen.trouble);
    out.insert(out.begin(),
               paint(cut_to_width(text, look.width, Ellipsis::kAscii), Tone::kBad, look));
  }
  const std::size_t fixed = out.size() + 7;
  const std::size_t left = rows > fixed ? rows - fixed : 3;
  Lines runs = run_lines(seen.runs, look);
  const std::size_t for_runs =
      std::clamp<std::size_t>(runs.size(), 1, std::max<std::size_t>(left / 2, 1));
  if (runs.empty()) runs.emplace_back("no active runs");
  add_section(out, paint("RUNS", Tone::kStrong, look), std::move(runs), for_runs);
  add_section(out, paint("WORKERS", Tone::kStrong, look), worker_lines(seen.workers, look),
              std::max<std::size_t>(left - std::min(left, for_runs), 2));
  out.emplace_back();
  out.push_back(paint("q: quit   space: refresh", Tone::kDim, look));
  if (out.size() > rows) out.resize(rows);
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < out.size(); ++i) {
    frame += for_terminal(out[i]) + "\x1b[K";
    if (i + 1 < out.size()) frame += "\r\n";
  }
  return frame + "\x1b[J";
}

namespace asio = boost::asio;

// The terminal opened anew: what Asio does to its descriptor must not stay with the shell's.
int open_keys() { return ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY); }

class Top {
 public:
  Top(const Context& context, ApiClient& api, Duration every, int keys)
      : context_(context),
        api_(api),
        every_(every),
        keys_(api.io(), keys),
        signals_(api.io(), SIGINT, SIGTERM, SIGHUP),
        resized_(api.io(), SIGWINCH),
        next_(api.io()) {}

  ExitCode run() {
    asio::co_spawn(api_.io(), read_on(), asio::detached);
    asio::co_spawn(api_.io(), heed_keys(), asio::detached);
    asio::co_spawn(api_.io(), heed_signals(), asio::detached);
    asio::co_spawn(api_.io(), heed_size(), asio::detached);
    {
      const FullScreen screen;
      api_.io().restart();
      api_.io().run();
    }
    if (failure_) return report(*failure_);
    return code_;
  }

 private:
  void stop(ExitCode code) {
    over_ = true;
    code_ = code;
    boost::system::error_code ec;
    keys_.cancel(ec);
    signals_.cancel(ec);
    resized_.cancel(ec);
    next_.cancel();
    api_.give_up();
  }

  void draw() {
    const Look look = look_at(context_, STDOUT_FILENO);
    print_raw_now(top_frame(seen_, screen_size(STDOUT_FILENO).rows, look));
  }

  asio::awaitable<bool> fetch(std::string target, boost::json::object& into) {
    ApiRequest request;
    request.target = std::move(target);
    ApiResult answer = co_await api_.send(std::move(request));
    if (answer) {
      into = answer->object();
      co_return true;
    }
    seen_.trouble = answer.error().what;
    // A wrong token stays wrong; a controller that is gone may come back.
    if (answer.error().exit == ExitCode::kAuth && !over_) {
      failure_ = std::move(answer.error());
      stop(failure_->exit);
    }
    co_return false;
  }

  asio::awaitable<void> read_on() {
    while (!over_) {
      bool good = co_await fetch("/api/status", seen_.status);
      if (good) good = co_await fetch("/api/runs?limit=100&state=Running", seen_.runs);
      if (good) good = co_await fetch("/api/workers?limit=100&live=true", seen_.workers);
      if (over_) break;
      if (good) seen_.trouble.clear();
      draw();
      next_.expires_after(std::chrono::microseconds(every_.us));
      const auto [ec] = co_await next_.async_wait(asio::as_tuple(asio::deferred));
      static_cast<void>(ec);
    }
  }

  asio::awaitable<void> heed_keys() {
    std::array<char, 16> keys{};
    while (!over_) {
      const auto [ec, count] =
          co_await keys_.async_read_some(asio::buffer(keys), asio::as_tuple(asio::deferred));
      if (ec) break;
      const std::string_view pressed(keys.data(), count);
      if (pressed.contains('q') || pressed.contains('Q')) stop(ExitCode::kOk);
      if (pressed.contains(' ')) next_.cancel();
    }
    // A terminal that is gone takes no more pictures.
    if (!over_) stop(ExitCode::kOk);
  }

  asio::awaitable<void> heed_signals() {
    const auto [ec, signal] = co_await signals_.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(signal);
    if (!ec) stop(ExitCode::kInterrupted);
  }

  asio::awaitable<void> heed_size() {
    while (!over_) {
      const auto [ec, signal] = co_await resized_.async_wait(asio::as_tuple(asio::deferred));
      static_cast<void>(signal);
      if (!ec && !over_) draw();
    }
  }

  const Context& context_;
  ApiClient& api_;
  Duration every_;
  TopSeen seen_;
  asio::posix::stream_descriptor keys_;
  asio::signal_set signals_;
  asio::signal_set resized_;
  asio::steady_timer next_;
  std::optional<Failure> failure_;
  ExitCode code_ = ExitCode::kOk;
  bool over_ = false;
};

ExitCode top(const Context& context, Duration every) {
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDOUT_FILENO)) {
    complain("`vortex top` needs a terminal", "use `vortex status` instead");
    return ExitCode::kUsage;
  }
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  // Before the screen is taken: can anybody be asked at all?
  const auto first = (*api)->get("/api/status");
  if (!first) return report(first.error());
  const int keys = open_keys();
  if (keys < 0) {
    complain("cannot read keys from the terminal", "use `vortex status` instead");
    return ExitCode::kFailed;
  }
  return Top(context, **api, every, keys).run();
}

}  // namespace

void add_top(CommandSpec app, Command& chosen) {
  auto every = std::make_shared<Duration>(seconds(1));
  CommandSpec command =
      app.command("top", "Show the system live on the full screen; press q to quit").group(kLook);
  command.duration("--every", *every, "Refresh interval");
  command.example("vortex top --every 500ms");
  command.on_chosen(chosen, [every](Context& c) { return top(c, *every); });
}

}  // namespace vortex::cli
