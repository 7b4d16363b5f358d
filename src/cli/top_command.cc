// vortex top: the system live on the whole screen; q ends it.
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"
#include "cli/status_text.h"
#include "cli/terminal.h"
#include "cli/top_screen.h"

namespace vortex::cli {
namespace {

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
    print_now(top_frame(seen_, screen_size(STDOUT_FILENO).rows, look));
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
