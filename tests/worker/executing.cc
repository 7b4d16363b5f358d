#include "tests/worker/executing.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/slot/process_tree.h"

namespace vortex::worker {

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vortex-worker-XXXXXX").string();
  if (const char* made = ::mkdtemp(pattern.data())) path_ = made;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void KeepingSink::write(Attempt attempt, std::string_view piece) {
  bytes += piece.size();
  if (keep == Keep::kAll) texts[attempt].append(piece);
}

void KeepingSink::close(Attempt, std::function<void()> flushed) {
  if (!hold_back) return flushed();
  waiting.push_back(std::move(flushed));
}

Executing::Executing(Containment containment, const std::function<void(ExecutorConfig&)>& change)
    : group_{.supervisor = fmt::format("test-{}", ::getpid()), .worker = "w"} {
  ExecutorConfig config;
  config.slots = 4;
  config.work_dir = folder.path() + "/tasks";
  config.runner = {VX_TEST_RUNNER};
  config.containment = containment;
  config.group = group_;
  config.kill_grace = seconds(20);
  config.look_every = millis(20);
  config.notice = [this](LogLevel, const std::string& text) { notices.push_back(text); };
  if (change) change(config);
  executor.emplace(io, std::move(config), sink,
                   [this](const agent::Input& input) { on_told(input); });
}

Executing::~Executing() {
  executor.reset();
  const CgroupRoots roots = find_cgroup_roots(group_.supervisor);
  for (const std::string* root : {&roots.unified, &roots.memory, &roots.cpu, &roots.pids}) {
    if (root->empty()) continue;
    remove_group(group_folder(*root, {.supervisor = group_.supervisor, .worker = {}}));
  }
}

void Executing::on_told(const agent::Input& input) {
  if (const auto* started = std::get_if<agent::ProcessStarted>(&input)) {
    EXPECT_FALSE(told[started->attempt].started) << "started twice";
    told[started->attempt].started = true;
  } else if (const auto* failed = std::get_if<agent::ProcessCouldNotStart>(&input)) {
    EXPECT_FALSE(told[failed->attempt].over()) << "ended twice";
    told[failed->attempt].could_not_start = *failed;
  } else if (const auto* progress = std::get_if<agent::ProcessProgress>(&input)) {
    told[progress->attempt].progress.push_back(progress->progress);
  } else if (const auto* output = std::get_if<agent::ProcessOutput>(&input)) {
    told[output->attempt].output.push_back(output->bytes);
  } else if (const auto* checkpoint = std::get_if<agent::ProcessCheckpoint>(&input)) {
    told[checkpoint->attempt].checkpoints.push_back(checkpoint->data);
  } else if (const auto* exited = std::get_if<agent::ProcessExited>(&input)) {
    const auto* killed = std::get_if<agent::Killed>(&exited->result);
    const bool fenced = killed != nullptr && killed->by == agent::Killed::By::kFence;
    EXPECT_TRUE(told[exited->attempt].started || fenced) << "ended without a start";
    EXPECT_FALSE(told[exited->attempt].over()) << "ended twice";
    told[exited->attempt].exit = exited->result;
  }
}

Attempt Executing::start(std::vector<std::string> argv,
                         const std::function<void(Launch&)>& change) {
  Launch launch;
  launch.attempt = {.task = {.run = {7}, .index = count_++}, .epoch = {1}};
  launch.argv = std::move(argv);
  if (change) change(launch);
  last = launch.attempt;
  executor->start(std::move(launch));
  return last;
}

const Told& Executing::run(std::vector<std::string> argv,
                           const std::function<void(Launch&)>& change) {
  return wait_over(start(std::move(argv), change));
}

const Told& Executing::wait_over(Attempt attempt) {
  EXPECT_TRUE(wait([&] { return told[attempt].over(); })) << "the task did not end in time";
  return told[attempt];
}

bool Executing::wait(const std::function<bool()>& holds, Duration limit) {
  const Instant until = boot_clock_now() + limit;
  while (!holds()) {
    if (boot_clock_now() > until) return false;
    io.restart();
    io.run_one_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<std::string> Executing::lines(Attempt attempt, std::size_t count) {
  const auto enough = [&] {
    const std::string& have = text(attempt);
    return static_cast<std::size_t>(std::ranges::count(have, '\n')) >= count;
  };
  EXPECT_TRUE(wait(enough)) << "its output so far: " << text(attempt);
  return split_lines(text(attempt));
}

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

bool is_gone(pid_t pid) { return !read_process_stat(pid); }

bool wait_gone(const std::vector<pid_t>& pids, Duration limit) {
  const Instant until = boot_clock_now() + limit;
  while (!std::ranges::all_of(pids, is_gone)) {
    if (boot_clock_now() > until) return false;
    reap_children();  // orphans come to the test, because it is a subreaper
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::vector<pid_t> pids_of(const std::vector<std::string>& lines) {
  std::vector<pid_t> pids;
  for (const std::string& line : lines) pids.push_back(std::atoi(line.c_str()));
  return pids;
}

std::string summary(const Told& told) {
  if (told.could_not_start) return "could not start: " + told.could_not_start->message;
  if (!told.exit) return "not over";
  if (const auto* killed = std::get_if<agent::Killed>(&*told.exit)) {
    if (killed->by == agent::Killed::By::kFence) return "fenced";
    if (killed->by == agent::Killed::By::kWorkerFault) return "released";
    return killed->by == agent::Killed::By::kRunnerLoss ? "lost with its runner" : "killed";
  }
  if (const auto* completed = std::get_if<Completed>(&*told.exit)) {
    return "completed " + completed->outputs;
  }
  const Failed& failed = std::get<Failed>(*told.exit);
  return fmt::format("failed: {}", failed.message);
}

}  // namespace vortex::worker
