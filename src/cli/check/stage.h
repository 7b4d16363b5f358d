#pragma once
// A controller that plays a script, for `vortex worker-check`: it takes one worker's calls through
// the real HTTP server and the real codec, answers as docs/api.md says, and does on command what a
// bad day does (answers twice, not at all, with 503, with an ended session).
//
// Keeps everything it heard, with times. The server has a thread of its own; the script calls from
// another. Decides nothing about tasks: what is right or wrong is for the rules.

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "model/sync.h"
#include "net/server.h"

namespace vortex::cli::check {

struct Timing {
  Duration lease = seconds(12);              // L
  Duration heartbeat_interval = seconds(1);  // H
  Duration self_fence = seconds(5);          // F
  Duration kill_grace = seconds(1);          // K
};

struct SeenRegistration {
  Instant at;
  WorkerInfo info;
  Incarnation incarnation;
};
struct SeenCall {
  Instant at;
  SyncRequest request;
};
struct SeenReport {
  Instant at;
  Report report;
};
struct Record {
  std::vector<SeenRegistration> registrations;
  std::vector<SeenCall> calls;  // that were acted on
  std::vector<SeenReport> reports;
  std::map<Attempt, std::string> logs;
  std::vector<std::string> faults;     // what could not be read, or broke a rule of the exchange
  std::vector<std::string> strangers;  // calls that did not carry the session they should have
  std::uint32_t turned_away = 0;       // calls that found the controller in trouble
  Instant answered_at;                 // the newest call that was acknowledged was sent before this
};

enum class Weather : std::uint8_t { kFair, kUnavailable, kDeaf };

class Stage {
 public:
  static std::expected<std::unique_ptr<Stage>, std::string> open(const Timing& timing,
                                                                 std::uint16_t port);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  std::string url() const;
  const Timing& timing() const { return timing_; }

  // Hands out a task with a new id, or a newer epoch of one; `repeats` more answers carry it even
  // after the worker has named it.
  Attempt assign(WorkOrder order, Duration timeout = {}, std::string checkpoint = {});
  void repeat(Attempt attempt, std::uint32_t answers);
  void stop(Attempt attempt);
  void make_stale(Attempt attempt);
  void set_weather(Weather weather);
  void close_port();  // connections are cut and new ones refused, until open_port()
  void open_port();
  void lose_reports(std::uint32_t calls);  // so many calls with reports go unheard
  void end_session();
  void speak_of_the_future(bool on);  // answers hold fields that nobody knows

  // Waits until it holds; false: it took too long.
  bool until(const std::function<bool(const Record&)>& holds, Duration limit) const;
  Record record() const;

 private:
  struct Given {
    Assignment assignment;
    std::uint32_t repeats = 0;
    bool known = false;
    bool stopping = false;
    bool over = false;
  };

  explicit Stage(const Timing& timing);
  std::expected<void, std::string> listen(std::uint16_t port);
  boost::asio::awaitable<net::Response> serve(net::Exchange& exchange);
  boost::asio::awaitable<net::Response> serve_sync(net::Exchange& exchange);
  net::Response serve_register(const net::Request& request);
  net::Response serve_logs(const net::Request& request);
  std::expected<bool, net::Response> hear(const net::Request& request, SyncRequest& body);
  void hear_reports(const SyncRequest& body);
  void look_for_session(const net::Request& request);
  bool has_news() const;
  std::string answer();
  std::string with_future(std::string json) const;

  const Timing timing_;
  mutable std::mutex mutex_;
  Record record_;
  Weather weather_ = Weather::kFair;
  std::map<Attempt, Given> given_;
  std::vector<Attempt> stale_;
  WorkerId worker_;
  Incarnation incarnation_;
  bool session_ = false;
  std::string secret_;  // of the session
  std::uint64_t last_seq_ = 0;
  std::uint64_t seq_seen_ = 0;
  std::uint64_t parked_seq_ = 0;  // the newest call that may wait; an earlier one is let go
  std::uint64_t replies_ = 0;
  std::uint32_t tasks_ = 0;
  std::uint32_t lose_ = 0;
  bool future_ = false;
  std::uint16_t port_ = 0;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<net::Server>> closed_;  // what is left of their calls may still run
  std::thread thread_;
};

}  // namespace vortex::cli::check
