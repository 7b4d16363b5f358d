#include "worker/executor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "vault/key_source.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/slot.h"

namespace vortex::worker {
namespace {

// Runners end within milliseconds; one that does not is killed, and then what it had.
constexpr Duration kGoodbye = seconds(2);
constexpr Duration kGoodbyeLongest = seconds(5);
constexpr auto kRunnerPause = std::chrono::milliseconds(1);

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  // The worker's own token is not for tasks, each has one of its own; and `vortex dev` may have a
  // controller with a master key or a password of the database in the same environment.
  const std::string key = std::string(vault::kKeyVariable) + "=";
  for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    if (entry.starts_with("VORTEX_TOKEN=") || entry.starts_with("VORTEX_TOKEN_FILE=")) continue;
    if (entry.starts_with("VORTEX_DATABASE_URL=")) continue;
    if (!entry.starts_with(key)) entries.emplace_back(entry);
  }
  return entries;
}

// As whoever logs in finds it.
void set_identity(std::vector<std::string>& environment, const TaskUser& user) {
  for (const auto& [name, value] :
       {std::pair{"HOME=", user.home}, {"USER=", user.name}, {"LOGNAME=", user.name}}) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name); });
    environment.push_back(name + value);
  }
}

}  // namespace

Executor::Executor(boost::asio::io_context& io, ExecutorConfig config, LogSink& sink, Tell tell)
    : host_(new SlotHost{.io = io,
                         .config = std::move(config),
                         .sink = sink,
                         .tell = std::move(tell),
                         .ended = {},
                         .runner_pids = [this] { return runner_pids(); },
                         .roots = {},
                         .record = {},
                         .environment = {}}),
      look_(io),
      ear_(io) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ExecutorConfig& fixed = host_->config;
  host_->self = host_;
  const std::filesystem::path work_dir = fixed.work_dir;
  host_->home = WorkFolder(work_dir.parent_path().string(), work_dir.filename().string());
  host_->secret_home = WorkFolder(secret_base(), work_dir.filename().string());
  remove_files_of_before();
  host_->ended = [this](Slot& slot, agent::Input word) { ended(slot, std::move(word)); };
  host_->environment = fixed.environment.empty() ? own_environment() : fixed.environment;
  if (fixed.confinement.user) set_identity(host_->environment, *fixed.confinement.user);
  if (fixed.containment == Containment::kAuto) {
    host_->roots = find_cgroup_roots(fixed.group.supervisor);
  }
  if (!fixed.record_path.empty()) {
    auto record = SlotRecord::create({.path = fixed.record_path,
                                      .slots = fixed.slots,
                                      .work_dir = fixed.work_dir,
                                      .worker = fixed.group.worker});
    if (record) {
      host_->record = std::move(*record);
      host_->record.set({.slot = 0, .role = SlotRecord::Role::kWorker}, this_process());
    } else {
      fixed.notice(LogLevel::kWarn, record.error());
    }
  }
  for (std::uint32_t i = 0; i < fixed.slots; ++i) {
    slots_.push_back(std::make_shared<Slot>(*host_, i));
  }
  for (auto& slot : slots_) free_.push_back(slot.get());
  std::ranges::reverse(free_);
}

Executor::~Executor() {
  for (auto& slot : slots_) slot->hang_up();
  const Instant start = boot_clock_now();
  while (reap_children() > 0) {
    const Duration waited = boot_clock_now() - start;
    if (waited > kGoodbye) kill_and_reap_tree();
    if (waited > kGoodbyeLongest) break;
    std::this_thread::sleep_for(kRunnerPause);
  }
  for (auto& slot : slots_) slot->remove_group();
  const CgroupRoots& roots = host_->roots;
  for (const std::string* root : {&roots.unified, &roots.memory, &roots.cpu, &roots.pids}) {
    // Only if it is empty: the worker itself may live in there.
    if (!root->empty()) ::rmdir(group_folder(*root, host_->config.group).c_str());
  }
  host_->closing = true;
  if (host_->janitor) host_->janitor->join();
}

// What an earlier process of this worker has left is of no use to anybody.
void Executor::remove_files_of_before() {
  if (auto home = host_->home.ensure(); !home) {
    return host_->notice_fault("cannot create the files of tasks: " + home.error());
  }
  for (std::string& name : names_in(host_->home.path())) {
    host_->remove(Fd(::fcntl(host_->home.fd(), F_DUPFD_CLOEXEC, 0)), std::move(name));
  }
  WorkFolder& secrets = host_->secret_home;
  if (::access(secrets.path().c_str(), F_OK) != 0 || !secrets.ensure()) return;
  for (std::string& name : names_in(secrets.path())) {
    host_->remove(Fd(::fcntl(secrets.fd(), F_DUPFD_CLOEXEC, 0)), std::move(name));
  }
}

void Executor::start(Launch launch) {
  VX_ASSERT(!free_.empty());
  VX_ASSERT(!busy_.contains(launch.attempt));
  Slot* slot = free_.back();
  free_.pop_back();
  busy_.emplace(launch.attempt, slot);
  if (!looking_) look_at_files();
  if (!listening_soon_) listen_soon();
  slot->start(std::move(launch));
}

void Executor::kill(Attempt attempt) {
  const auto at = busy_.find(attempt);
  if (at != busy_.end()) at->second->kill(host_->config.kill_grace);
}

void Executor::kill_everything_now() {
  for (const auto& [attempt, slot] : busy_) slot->kill({});
}

std::vector<pid_t> Executor::runner_pids() const {
  std::vector<pid_t> pids;
  for (const auto& slot : slots_) {
    if (slot->runner_pid() > 0) pids.push_back(slot->runner_pid());
  }
  return pids;
}

void Executor::look_at_files() {
  looking_ = true;
  look_.expires_after(std::chrono::microseconds(host_->config.look_every.us));
  look_.async_wait([this, alive = std::weak_ptr(host_)](boost::system::error_code fault) {
    if (fault || alive.expired()) return;
    for (const auto& [attempt, slot] : busy_) slot->look_at_files();
    wake_runners();
    looking_ = false;
    if (!busy_.empty()) look_at_files();
  });
}

// A task may stop the runner it has for a parent. Who was stopped since the last look costs one
// call to find out, for all of them; a runner is never to be stopped, so it is continued.
void Executor::wake_runners() {
  for (;;) {
    siginfo_t stopped{};
    const int got = ::waitid(P_ALL, 0, &stopped, WSTOPPED | WNOHANG);
    if (got != 0 || stopped.si_pid == 0) return;
    for (const auto& slot : slots_) {
      if (slot->runner_pid() == stopped.si_pid) slot->wake_runner();
    }
  }
}

void Executor::listen_soon() {
  listening_soon_ = true;
  ear_.expires_after(std::chrono::microseconds(kUnheardFor.us));
  ear_.async_wait([this, alive = std::weak_ptr(host_)](boost::system::error_code fault) {
    if (fault || alive.expired()) return;
    listening_soon_ = false;
    const Instant now = boot_clock_now();
    bool again = false;
    for (const auto& [attempt, slot] : busy_) {
      slot->listen(now);
      again = again || !slot->is_listening();
    }
    if (again) listen_soon();
  });
}

void Executor::ended(Slot& slot, agent::Input word) {
  std::erase_if(busy_, [&](const auto& entry) { return entry.second == &slot; });
  free_.push_back(&slot);
  host_->tell(std::move(word));
}

}  // namespace vortex::worker
