#pragma once
// The work behind watch_run: reads the run again and again, listens to its events, and tells the
// screen. Internal to the command line; one thread, the loop of the ApiClient.
//
// Ends by itself when the run has ended; stop() ends it from outside with an exit code.

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "cli/api_client.h"
#include "cli/follow.h"
#include "cli/progress.h"
#include "cli/progress_screen.h"

namespace vortex::cli {

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
  boost::asio::awaitable<bool> read_tasks(ProgressModel& model);
  boost::asio::awaitable<void> listen();
  boost::asio::awaitable<void> draw_on(ProgressModel& model);
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
  boost::asio::steady_timer end_of_time_;
  boost::asio::signal_set signals_;
  ExitCode code_ = ExitCode::kOk;
  bool over_ = false;
  bool lost_ = false;       // the controller is gone right now
  bool read_again_ = true;  // something happened that only a read can tell
};

}  // namespace vortex::cli
