#pragma once
// Watching a run until it ends, and what is said then: how it ended, how long it took, and for
// failed tasks why. Bars on a terminal, lines elsewhere, nothing with -q.
//
// Everything is said on stderr. Survives restarts of controllers; Ctrl-C leaves the run going and
// says how to come back. Runs the loop of the ApiClient until it is over, on the caller's thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "base/time.h"
#include "cli/client/api_client.h"
#include "cli/client/follow.h"
#include "cli/screen/life.h"
#include "cli/screen/progress.h"
#include "cli/screen/terminal.h"
#include "model/plan.h"

namespace vortex::cli {

// "✗ run r42 of nightly failed after 3m05s: 497 completed, 3 failed", and for a few of the failed
// ones verdict, last lines, and the command that shows more.
std::string run_summary(ApiClient& api, const boost::json::object& run, const DagPlan& plan,
                        const Look& look);
// "exit code 3 on w1, attempt 2 of 3".
std::string verdict_text(const boost::json::object& attempt);

enum class WatchView : std::uint8_t { kShown, kSilent };

struct WatchOptions {
  WatchView view = WatchView::kShown;
  Duration limit;  // zero: as long as it takes; else kWaitTimedOut after it
};

// kOk, kRunFailed, kRunCancelled, kWaitTimedOut, kInterrupted, or what went wrong.
ExitCode watch_run(const Context& context, ApiClient& api, const std::string& run,
                   const WatchOptions& options);

class RunWatch {
 public:
  RunWatch(ApiClient& api, ProgressScreen& screen, std::string run, Duration limit);
  // Runs until it is over. `model` is filled on the way.
  ExitCode watch(ProgressModel& model);
  const boost::json::object& run() const { return seen_; }  // as it was read last
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  boost::asio::awaitable<void> read_on(ProgressModel& model);
  boost::asio::awaitable<bool> read_once(ProgressModel& model);
  boost::asio::awaitable<bool> read_plan(ProgressModel& model);
  boost::asio::awaitable<bool> read_tasks(ProgressModel& model);
  boost::asio::awaitable<void> listen();
  boost::asio::awaitable<void> draw_on(ProgressModel& model);
  boost::asio::awaitable<void> live_on(const ProgressModel& model);
  boost::asio::awaitable<void> read_life(const DagPlan& plan);
  boost::asio::awaitable<void> read_standstills();
  boost::asio::awaitable<void> heed_signals();
  boost::asio::awaitable<void> heed_limit(Duration limit);
  void stop(ExitCode code);
  void give_up(ExitCode code);
  void on_link(Link link, const std::string& detail);

  ApiClient& api_;
  ProgressScreen& screen_;
  std::string run_;
  Duration limit_;
  boost::json::object seen_;
  std::optional<Failure> failure_;
  std::unique_ptr<Follower> follower_;
  boost::asio::steady_timer next_read_;
  boost::asio::steady_timer next_draw_;
  boost::asio::steady_timer next_life_;
  boost::asio::steady_timer end_of_time_;
  boost::asio::signal_set signals_;
  ExitCode code_ = ExitCode::kOk;
  LostTasks lost_tasks_;
  std::string standstill_;  // as it was told last; empty: everything moves
  bool over_ = false;
  bool lost_ = false;       // the controller is gone right now
  bool read_again_ = true;  // something happened that only a read can tell
};

}  // namespace vortex::cli
