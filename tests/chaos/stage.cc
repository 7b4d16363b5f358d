#include "tests/chaos/stage.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "codec/dag_json.h"
#include "net/client.h"
#include "store/sqlite/open.h"

namespace vortex::chaos {

namespace {

constexpr auto kLook = std::chrono::milliseconds(5);

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void give_up(const std::string& why) {
  fmt::print(stderr, "the stage cannot be set up: {}\n", why);
  std::exit(2);
}

Stage::Stage(StageConfig config) : config_(std::move(config)) {
  LoadRequest request;
  request.flags = config_.settings;
  request.flags.emplace_back("--controller.require_tokens=false");
  request.flags.emplace_back("--controller.listen=127.0.0.1:0");
  request.flags.emplace_back("--database.path=" + folder_.path() + "/vortex.db");
  auto loaded = load_settings(request);
  if (!loaded) give_up(to_text(loaded.error().front()));
  settings_ = loaded->settings;
  history_ = std::make_unique<History>(core::make_policy(settings_));
  for (const char* name : {"/starts", "/go"}) {
    std::filesystem::create_directories(folder_.path() + name);
  }
  store::SqliteOptions options;
  options.path = folder_.path() + "/vortex.db";
  auto store = store::open_sqlite(options);
  if (!store) give_up(store.error().detail);
  controller::ControllerParts parts;
  parts.settings = *std::move(loaded);
  parts.store = record(*std::move(store), *history_);
  store_ = parts.store.get();
  auto controller = controller::Controller::start(std::move(parts));
  if (!controller) give_up(controller.error());
  controller_ = *std::move(controller);
  auto reader = store_->reader();
  if (!reader) give_up(reader.error().detail);
  reader_ = *std::move(reader);
  supervisors_.resize(config_.supervisors);
  for (std::size_t i = 0; i < supervisors_.size(); ++i) start_supervisor(i);
  const std::size_t wanted = std::size_t{config_.supervisors} * config_.workers;
  const bool all = wait_until(
      [&] {
        store::WorkerFilter live;
        live.live_only = true;
        const auto page = reader_->workers(live, {1'000, {}});
        return page && page->items.size() >= wanted;
      },
      seconds(30));
  if (!all)
    give_up("the workers did not register:\n" + read_file(folder_.path() + "/workers-0.log"));
}

Stage::~Stage() {
  reader_.reset();
  supervisors_.clear();
  controller_.reset();
}

void Stage::start_supervisor(std::size_t index) {
  cli::local::ProcessConfig process;
  process.argv = {config_.program, "worker",
                  "--server",      controller_->url(),
                  "--name",        fmt::format("stage-{}-{}", controller_->port(), index),
                  "--count",       std::to_string(config_.workers),
                  "--slots",       std::to_string(config_.slots),
                  "--state-dir",   folder_.path() + "/state",
                  "--work-dir",    folder_.path() + "/work"};
  process.argv.insert(process.argv.end(), config_.settings.begin(), config_.settings.end());
  process.environment = {"STARTS=" + folder_.path() + "/starts", "GO=" + folder_.path() + "/go"};
  process.log = fmt::format("{}/workers-{}.log", folder_.path(), index);
  auto started = cli::local::Process::spawn(process);
  if (!started) give_up(started.error());
  supervisors_[index] = *std::move(started);
}

NodeSpec Stage::task(const std::string& name, const std::string& body) {
  NodeSpec node;
  node.name = name;
  node.command.shell = {"sh", "-uc"};
  node.command.argv = {cli::drill::kStartLine + body};
  return node;
}

RunId Stage::submit(DagSpec dag) {
  net::ClientConfig config;
  config.endpoint.port = controller_->port();
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/runs";
  call.body = fmt::format(R"({{"dag":{}}})", codec::write_dag(dag));
  const auto answer = net::send_and_wait(config, std::move(call));
  if (!answer || answer->status != 201) {
    give_up("submit: " + (answer ? answer->body : answer.error().detail));
  }
  const auto json = boost::json::parse(answer->body);
  return *parse_run_id(std::string_view(json.at("id").as_string()));
}

bool Stage::wait_until(const std::function<bool()>& holds, Duration limit) const {
  const Instant until = boot_clock_now() + limit;
  while (boot_clock_now() < until) {
    if (holds()) return true;
    std::this_thread::sleep_for(kLook);
  }
  return holds();
}

std::optional<store::RunView> Stage::view(RunId run) {
  const auto found = reader_->run(run);
  return found ? *found : std::nullopt;
}

std::optional<store::RunView> Stage::wait_for_end(RunId run, Duration limit) {
  std::optional<store::RunView> last;
  const bool ended = wait_until(
      [&] {
        last = view(run);
        return last && last->state != RunState::kRunning;
      },
      limit);
  return ended ? last : std::nullopt;
}

std::vector<store::TaskView> Stage::tasks(RunId run) {
  const auto page =
      reader_->tasks({.run = run, .state = {}, .node = {}, .worker = {}}, {10'000, {}});
  return page ? page->items : std::vector<store::TaskView>{};
}

std::vector<AttemptRow> Stage::attempts(TaskId task) {
  return reader_->attempts(task).value_or(std::vector<AttemptRow>{});
}

std::vector<TaskStart> Stage::starts(RunId run, std::uint32_t index) const {
  return cli::drill::Victims(folder_.path() + "/starts", to_text(run), index + 1).starts(index);
}

std::optional<TaskStart> Stage::wait_for_start(RunId run, std::uint32_t index, std::uint64_t epoch,
                                               Duration limit) const {
  const cli::drill::Victims files(folder_.path() + "/starts", to_text(run), index + 1);
  return files.wait_for_later(index, epoch - 1, limit);
}

std::uint32_t Stage::overlaps() const {
  std::uint32_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/starts")) {
    std::istringstream lines(read_file(entry.path()));
    std::string line;
    while (std::getline(lines, line)) count += line.contains(" alive ") ? 1 : 0;
  }
  return count;
}

void Stage::let_go(const std::string& name) {
  const std::ofstream file(folder_.path() + "/go/" + name);
}

std::vector<pid_t> Stage::worker_pids() const {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < supervisors_.size(); ++i)
    std::ranges::copy(worker_pids(i), std::back_inserter(pids));
  return pids;
}

std::vector<pid_t> Stage::worker_pids(std::size_t supervisor) const {
  std::vector<pid_t> pids;
  if (!supervisors_[supervisor]) return pids;
  const pid_t pid = supervisors_[supervisor]->pid();
  std::istringstream children(read_file(fmt::format("/proc/{}/task/{}/children", pid, pid)));
  for (pid_t child = 0; children >> child;) {
    const std::string command = read_file(fmt::format("/proc/{}/cmdline", child));
    if (command.contains("--process")) pids.push_back(child);
  }
  return pids;
}

std::uint64_t Stage::count_events(const std::string& name) {
  const std::string wanted = fmt::format(R"("event":"{}")", name);
  std::uint64_t count = 0;
  std::uint64_t after = 0;
  for (;;) {
    const auto lines = reader_->events_after(after, 1U << 20U);
    if (!lines || lines->last_seq <= after) return count;
    after = lines->last_seq;
    for (std::size_t at = 0; (at = lines->lines.find(wanted, at)) != std::string::npos; ++at)
      ++count;
  }
}

std::vector<std::string> Stage::finish() {
  for (const auto& supervisor : supervisors_) {
    if (supervisor) supervisor->stop();
  }
  supervisors_.clear();
  reader_.reset();
  controller_->stop();
  return history_->violations();
}

}  // namespace vortex::chaos
