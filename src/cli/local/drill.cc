#include "cli/local/drill.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/local/cluster.h"
#include "cli/local/folder.h"
#include "codec/dag_json.h"

namespace vortex::cli::drill {
namespace {

constexpr auto kLookAtVictims = std::chrono::milliseconds(1);

}  // namespace

const char* const kStartLine =
    "now=$(date +%s%N)\n"
    "file=\"$STARTS/$VORTEX_TASK_ID\"\n"
    "old=$(tail -n 1 \"$file\" 2>/dev/null | cut -d ' ' -f 2)\n"
    "found=gone\n"
    "if [ -n \"$old\" ] && kill -0 \"$old\" 2>/dev/null; then found=alive; fi\n"
    "echo \"$VORTEX_EPOCH $$ $VORTEX_WORKER_PID $now $found $VORTEX_WORKER\" >> \"$file\"\n";

std::string victims_dag(const std::string& folder, std::uint32_t tasks, const std::string& then) {
  NodeSpec node;
  node.name = "victim";
  node.command.shell = {"sh", "-c"};
  node.command.argv = {std::string(kStartLine) + then};
  node.command.env = {{"STARTS", folder}};
  MapSpec map;
  map.over = MapRange{1, tasks, 1};
  node.map = map;
  DagSpec dag;
  dag.name = "drill";
  dag.nodes.push_back(std::move(node));
  return codec::write_dag(dag);
}

Victims::Victims(std::string folder, std::string run, std::uint32_t tasks)
    : folder_(std::move(folder)), run_(std::move(run)), tasks_(tasks) {}

std::vector<TaskStart> Victims::starts(std::uint32_t task) const {
  std::ifstream file(fmt::format("{}/{}-L0-{}", folder_, run_, task));
  std::vector<TaskStart> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    TaskStart start;
    std::int64_t nanos = 0;
    std::string found;
    // A line that is being written is not there yet.
    if (!(fields >> start.epoch >> start.pid >> start.worker_pid >> nanos >> found >>
          start.worker)) {
      break;
    }
    start.at = Instant{nanos / 1'000};
    start.overlapped = found == "alive";
    all.push_back(std::move(start));
  }
  return all;
}

std::optional<TaskStart> Victims::newest(std::uint32_t task) const {
  auto all = starts(task);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

std::optional<TaskStart> Victims::wait_for_later(std::uint32_t task, std::uint64_t epoch,
                                                 Duration limit) const {
  const Instant until = boot_clock_now() + limit;
  do {
    auto last = newest(task);
    if (last && last->epoch > epoch) return last;
    std::this_thread::sleep_for(kLookAtVictims);
  } while (boot_clock_now() < until);
  return std::nullopt;
}

namespace {

constexpr Duration kSettleLimit = seconds(60);
constexpr Duration kRecoveryLimit = seconds(300);
constexpr auto kDrillLook = std::chrono::milliseconds(2);

std::expected<boost::json::object, std::string> call(const local::Cluster& cluster,
                                                     net::Method method, std::string target,
                                                     std::string body = {}) {
  net::Call request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  const auto answer = net::send_and_wait(cluster.client(), std::move(request));
  if (!answer) return std::unexpected(answer.error().detail);
  boost::system::error_code error;
  auto json = boost::json::parse(answer->body, error);
  if (answer->status >= 300 || error || !json.is_object()) {
    return std::unexpected(fmt::format("{}: {}", answer->status, answer->body));
  }
  return std::move(json.as_object());
}

std::expected<std::string, std::string> submit(const local::Cluster& cluster,
                                               const std::string& dag_json) {
  const auto run =
      call(cluster, net::Method::kPost, "/api/runs", fmt::format(R"({{"dag":{}}})", dag_json));
  if (!run) return std::unexpected(run.error());
  return std::string(run->at("id").as_string());
}

class Drill {
 public:
  Drill(Kind kind, const DrillConfig& config) : kind_(kind), config_(config) { out_.kind = kind; }

  std::expected<Outcome, std::string> run(std::uint32_t kills);

 private:
  std::string start();
  std::string kill_one(std::uint32_t victim);
  void strike(const TaskStart& start);
  std::string bring_back(const TaskStart& start);
  std::string prove_well(const std::string& worker);
  std::size_t supervisor_of(const std::string& worker) const;

  Kind kind_;
  const DrillConfig& config_;
  local::TempFolder folder_;
  std::unique_ptr<local::Cluster> cluster_;
  std::optional<Victims> victims_;
  Outcome out_;
};

// Returns what went wrong; empty: nothing.
std::string Drill::start() {
  local::ClusterConfig config;
  config.folder = folder_.path();
  config.supervisors = kind_ == Kind::kHost ? config_.workers : 1;
  config.workers = kind_ == Kind::kHost ? 1 : config_.workers;
  config.slots = 4;
  config.settings = config_.settings;
  // The same few tasks die again and again here; elsewhere that would be
  // poison.
  config.settings.emplace_back("--controller.crash-limit=100");
  config.settings.emplace_back("--controller.worker-cordon-after=100");
  // The victims never end by themselves: at the end nobody waits for them.
  config.settings.emplace_back("--worker.shutdown-timeout-secs=0");
  auto cluster = local::Cluster::start(std::move(config));
  if (!cluster) return cluster.error();
  cluster_ = *std::move(cluster);
  const std::string starts = folder_.path() + "/starts";
  std::filesystem::create_directories(starts);
  const auto run = submit(*cluster_, victims_dag(starts, config_.workers));
  if (!run) return run.error();
  victims_.emplace(starts, *run, config_.workers);
  for (std::uint32_t task = 0; task < victims_->tasks(); ++task) {
    if (!victims_->wait_for_later(task, 0, kSettleLimit)) return "the test tasks did not start";
  }
  return {};
}

std::size_t Drill::supervisor_of(const std::string& worker) const {
  // local-<port><letter>-1
  const auto dash = worker.rfind('-');
  return kind_ == Kind::kHost ? static_cast<std::size_t>(worker[dash - 1] - 'a') : 0;
}

void Drill::strike(const TaskStart& start) {
  switch (kind_) {
    case Kind::kWorker:
      ::kill(start.worker_pid, SIGKILL);
      return;
    case Kind::kHost:
      cluster_->supervisor(supervisor_of(start.worker)).signal(SIGKILL);
      ::kill(start.worker_pid, SIGKILL);
      return;
    case Kind::kFreeze:
      ::kill(start.worker_pid, SIGSTOP);
      return;
  }
}

// A task that ends well shows the supervisor that this worker does not die of
// itself, so that its limit of respawns does not end the drill.
std::string Drill::prove_well(const std::string& worker) {
  NodeSpec node;
  node.name = "prove";
  node.command.argv = {"true"};
  node.requirements.worker = WorkerId(worker);
  DagSpec dag;
  dag.name = "prove";
  dag.nodes.push_back(std::move(node));
  const auto run = submit(*cluster_, codec::write_dag(dag));
  if (!run) return run.error();
  const Instant until = boot_clock_now() + kSettleLimit;
  while (boot_clock_now() < until) {
    const auto now = call(*cluster_, net::Method::kGet, "/api/runs/" + *run);
    if (now && now->at("state").as_string() == "Completed") return {};
    std::this_thread::sleep_for(kDrillLook);
  }
  return worker + " did not come back";
}

std::string Drill::bring_back(const TaskStart& start) {
  if (kind_ == Kind::kFreeze) ::kill(start.worker_pid, SIGCONT);
  if (kind_ == Kind::kHost) {
    const auto again = cluster_->start_supervisor(supervisor_of(start.worker));
    if (!again) return again.error();
  }
  return prove_well(start.worker);
}

std::string Drill::kill_one(std::uint32_t victim) {
  const auto struck = victims_->newest(victim);
  if (!struck) return "a test task has disappeared";
  // All that runs on the same worker is hit.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> hit;
  for (std::uint32_t task = 0; task < victims_->tasks(); ++task) {
    const auto start = victims_->newest(task);
    if (start && start->worker_pid == struck->worker_pid) hit.emplace_back(task, start->epoch);
  }
  const Instant begin = wall_clock_now();
  strike(*struck);
  ++out_.kills;
  for (const auto& [task, epoch] : hit) {
    const auto again = victims_->wait_for_later(task, epoch, kRecoveryLimit);
    if (!again) {
      ++out_.lost;
      continue;
    }
    out_.recoveries.push_back(again->at - begin);
    // A frozen worker cannot end its tasks; that its old copy is refused is
    // the fence's part.
    if (again->overlapped && kind_ != Kind::kFreeze) ++out_.overlaps;
  }
  return bring_back(*struck);
}

std::expected<Outcome, std::string> Drill::run(std::uint32_t kills) {
  if (const std::string wrong = start(); !wrong.empty()) return std::unexpected(wrong);
  for (std::uint32_t i = 0; i < kills; ++i) {
    config_.progress(fmt::format("{} of {}", i + 1, kills));
    if (const std::string wrong = kill_one(i % victims_->tasks()); !wrong.empty()) {
      return std::unexpected(wrong);
    }
  }
  return std::move(out_);
}

}  // namespace

std::expected<Outcome, std::string> run_drill(Kind kind, std::uint32_t kills,
                                              const DrillConfig& config) {
  return Drill(kind, config).run(kills);
}

}  // namespace vortex::cli::drill
