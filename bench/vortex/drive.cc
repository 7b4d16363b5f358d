#include "bench/vortex/drive.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"

namespace vortex::cli::bench {
namespace {

constexpr Duration kLookEvery = millis(25);

// The cursor of the next page; empty when there is none.
std::string next_cursor(const std::string& body) {
  boost::system::error_code error;
  const auto json = boost::json::parse(body, error);
  if (error || !json.is_object()) return {};
  const auto* cursor = json.as_object().if_contains("next_cursor");
  return cursor != nullptr && cursor->is_string() ? std::string(cursor->as_string()) : "";
}

// A user who looks at the run while it goes on.
class Onlooker {
 public:
  Onlooker(Door server, std::string run)
      : server_(std::move(server)), run_(std::move(run)), thread_([this] { look(); }) {}
  ~Onlooker() { stop(); }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  const Samples& samples() const { return samples_; }

 private:
  std::string timed(const std::string& target) {
    const Instant begin = boot_clock_now();
    auto body = get(server_, target);
    samples_.add(boot_clock_now() - begin);
    return body.value_or("");
  }

  void look() {
    std::string cursor;
    while (!stopping_) {
      timed("/api/runs/" + run_);
      timed("/health");
      const std::string at = cursor.empty() ? "" : "&cursor=" + cursor;
      cursor = next_cursor(timed(fmt::format("/api/runs/{}/tasks?limit=100{}", run_, at)));
      rest(kLookEvery);
    }
  }

  Door server_;
  std::string run_;
  Samples samples_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace

std::expected<Throughput, std::string> drive(const DriveConfig& bench,
                                             local::ControllerProcess& child) {
  const Door server(child.client());
  const Fleet fleet({.server = server, .workers = bench.agents, .slots = bench.slots}, {});
  while (fleet.calls() < bench.agents) rest(millis(1));
  const auto before = get(server, "/metrics");
  const double cpu_before = child.use().cpu_seconds;
  const double own_before = own_cpu_seconds();
  const Instant begin = boot_clock_now();
  const auto run = submit(server, map_run("bench", bench.tasks));
  if (!run) return std::unexpected(run.error());
  Onlooker onlooker(server, *run);
  while (fleet.completed() < bench.tasks) rest(millis(2));
  Throughput out;
  out.seconds = seconds_of(boot_clock_now() - begin);
  onlooker.stop();
  out.requests = onlooker.samples().size();
  out.requests_p99_ms = seconds_of(onlooker.samples().percentile(990)) * 1e3;
  out.requests_max_ms = seconds_of(onlooker.samples().percentile(1000)) * 1e3;
  out.controller_cpu = child.use().cpu_seconds - cpu_before;
  out.agents_cpu = own_cpu_seconds() - own_before;
  out.resident_max = child.use().resident_bytes_max;
  const auto after = get(server, "/metrics");
  if (before && after) {
    out.commits = metric(*after, "vortex_store_commit_seconds_count") -
                  metric(*before, "vortex_store_commit_seconds_count");
    out.rows = metric(*after, "vortex_store_batch_rows_sum") -
               metric(*before, "vortex_store_batch_rows_sum");
  }
  const auto ended = get(server, "/api/runs/" + *run);
  if (!ended || !ended->contains("\"state\":\"Completed\"")) {
    return std::unexpected("the run did not complete: " + ended.value_or("no answer"));
  }
  return out;
}

}  // namespace vortex::cli::bench
