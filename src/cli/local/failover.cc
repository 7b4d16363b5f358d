#include "cli/local/failover.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/local/cluster.h"
#include "cli/local/drill.h"
#include "cli/local/folder.h"

namespace vortex::cli::drill {
namespace {

constexpr std::uint32_t kRunning = 4;  // tasks that run all the time
constexpr Duration kServeLimit = seconds(120);
constexpr Duration kBackLimit = seconds(120);
constexpr Duration kCallLimit = seconds(2);
constexpr auto kFailoverLook = std::chrono::milliseconds(5);

struct Answer {
  int status = 0;  // 0: none came
  boost::json::value body;
};

Answer ask(const net::ClientConfig& client, net::Call call) {
  call.limit = kCallLimit;
  const auto answer = net::send_and_wait(client, std::move(call));
  if (!answer) return {};
  boost::system::error_code error;
  return {static_cast<int>(answer->status), boost::json::parse(answer->body, error)};
}

Answer get(const net::ClientConfig& client, const std::string& target) {
  net::Call call;
  call.target = target;
  return ask(client, std::move(call));
}

bool says(const Answer& answer, const char* key, const boost::json::value& wanted) {
  const auto* object = answer.body.if_object();
  const auto* value = object == nullptr ? nullptr : object->if_contains(key);
  return value != nullptr && *value == wanted;
}

class Failovers {
 public:
  Failovers(Blow blow, const FailoverConfig& config) : config_(config) { out_.blow = blow; }
  std::expected<FailoverOutcome, std::string> run(std::uint32_t blows);

 private:
  std::string start();
  std::string strike_once(std::uint32_t number);
  std::string strike(std::size_t leader);
  std::string bring_back(std::size_t leader);
  std::optional<std::size_t> wait_for_leader();
  bool wait_until_all_ready();
  // Whoever answers first; unset: nobody did within the limit.
  std::optional<std::string> submit(const std::string& key, std::optional<std::size_t> except);
  void judge();

  const FailoverConfig& config_;
  local::TempFolder folder_;
  std::unique_ptr<local::Cluster> cluster_;
  std::string starts_;
  std::string running_;            // the run of the tasks that run all the time
  std::vector<std::string> runs_;  // acknowledged ones
  FailoverOutcome out_;
};

// Returns what went wrong; empty: nothing.
std::string Failovers::start() {
  local::ClusterConfig config;
  config.folder = folder_.path();
  config.controllers = config_.controllers;
  config.postgres = true;
  config.workers = 2;
  config.slots = kRunning;
  config.settings = config_.settings;
  // What runs all the time does not end by itself: at the end nobody waits for it.
  config.settings.emplace_back("--worker.shutdown-timeout-secs=0");
  auto cluster = local::Cluster::start(std::move(config));
  if (!cluster) return cluster.error();
  cluster_ = *std::move(cluster);
  starts_ = folder_.path() + "/starts";
  std::filesystem::create_directories(starts_);
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/runs";
  call.body = fmt::format(R"({{"dag":{}}})", victims_dag(starts_, kRunning));
  const Answer answer = ask(cluster_->client(), std::move(call));
  if (answer.status / 100 != 2) return "the test tasks could not be submitted";
  running_ = answer.body.at("id").as_string();
  const Victims victims(starts_, running_, kRunning);
  for (std::uint32_t task = 0; task < kRunning; ++task) {
    if (!victims.wait_for_later(task, 0, kBackLimit)) return "the test tasks did not start";
  }
  return {};
}

std::optional<std::size_t> Failovers::wait_for_leader() {
  const Instant until = boot_clock_now() + kBackLimit;
  while (boot_clock_now() < until) {
    for (std::size_t i = 0; i < cluster_->controllers(); ++i) {
      if (says(get(cluster_->controller(i).client(), "/health"), "leader", true)) return i;
    }
    std::this_thread::sleep_for(kFailoverLook);
  }
  return std::nullopt;
}

bool Failovers::wait_until_all_ready() {
  const Instant until = boot_clock_now() + kBackLimit;
  std::size_t ready = 0;
  while (boot_clock_now() < until) {
    if (get(cluster_->controller(ready).client(), "/readyz").status == 200) {
      if (++ready == cluster_->controllers()) return true;
      continue;
    }
    std::this_thread::sleep_for(kFailoverLook);
  }
  return false;
}

std::optional<std::string> Failovers::submit(const std::string& key,
                                             std::optional<std::size_t> except) {
  const Instant until = boot_clock_now() + kServeLimit;
  for (std::size_t turn = 0; boot_clock_now() < until; ++turn) {
    const std::size_t index = turn % cluster_->controllers();
    if (index == except) continue;
    net::Call call;
    call.method = net::Method::kPost;
    call.target = "/api/runs";
    call.headers = {{"Idempotency-Key", key}};
    call.body = fmt::format(R"({{"dag":{}}})", victims_dag(starts_, 1, "exit 0\n"));
    const Answer answer = ask(cluster_->controller(index).client(), std::move(call));
    if (answer.status / 100 == 2) return std::string(answer.body.at("id").as_string());
    std::this_thread::sleep_for(kFailoverLook);
  }
  return std::nullopt;
}

std::string Failovers::strike(std::size_t leader) {
  switch (out_.blow) {
    case Blow::kLeaderKilled:
      cluster_->controller(leader).signal(SIGKILL);
      return {};
    case Blow::kLeaderFrozen:
      cluster_->controller(leader).signal(SIGSTOP);
      return {};
    case Blow::kDatabaseRestart: {
      cluster_->postgres()->stop(local::PostgresServer::Stop::kImmediate);
      const auto started = cluster_->postgres()->start_again();
      return started ? std::string{} : started.error();
    }
  }
  return {};
}

std::string Failovers::bring_back(std::size_t leader) {
  if (out_.blow == Blow::kLeaderFrozen) cluster_->controller(leader).signal(SIGCONT);
  if (out_.blow == Blow::kLeaderKilled) {
    const auto started = cluster_->start_controller_again(leader);
    if (!started) return started.error();
  }
  return wait_until_all_ready() ? "" : "a controller did not become ready again";
}

std::string Failovers::strike_once(std::uint32_t number) {
  const auto leader = wait_for_leader();
  if (!leader) return "no controller leads";
  const Instant begin = wall_clock_now();
  if (std::string wrong = strike(*leader); !wrong.empty()) return wrong;
  ++out_.blows;
  const bool is_gone = out_.blow != Blow::kDatabaseRestart;
  const auto run =
      submit(fmt::format("drill-{}", number), is_gone ? leader : std::optional<std::size_t>{});
  if (!run) return "no command was served any more";
  out_.commands.push_back(wall_clock_now() - begin);
  runs_.push_back(*run);
  const auto started = Victims(starts_, *run, 1).wait_for_later(0, 0, kServeLimit);
  if (started) out_.starts.push_back(started->at - begin);
  return bring_back(*leader);
}

// All that was acknowledged has completed and ran once; what was running still is.
void Failovers::judge() {
  for (const std::string& run : runs_) {
    const Instant until = boot_clock_now() + kBackLimit;
    bool done = false;
    while (!done && boot_clock_now() < until) {
      done = says(get(cluster_->client(), "/api/runs/" + run), "state", "Completed");
      if (!done) std::this_thread::sleep_for(kFailoverLook);
    }
    if (!done) ++out_.lost;
    if (Victims(starts_, run, 1).starts(0).size() > 1) ++out_.doubled;
  }
  const Victims victims(starts_, running_, kRunning);
  for (std::uint32_t task = 0; task < kRunning; ++task) {
    if (victims.starts(task).size() > 1) ++out_.restarted;
  }
}

std::expected<FailoverOutcome, std::string> Failovers::run(std::uint32_t blows) {
  if (std::string wrong = start(); !wrong.empty()) return std::unexpected(std::move(wrong));
  for (std::uint32_t i = 0; i < blows; ++i) {
    config_.progress(fmt::format("{} of {}", i + 1, blows));
    if (std::string wrong = strike_once(i); !wrong.empty()) {
      return std::unexpected(std::move(wrong));
    }
  }
  judge();
  return std::move(out_);
}

}  // namespace

std::expected<FailoverOutcome, std::string> run_failovers(Blow blow, std::uint32_t blows,
                                                          const FailoverConfig& config) {
  return Failovers(blow, config).run(blows);
}

}  // namespace vortex::cli::drill
