#include "worker/worker_process.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "worker/agent_shell.h"
#include "worker/checkpoints.h"
#include "worker/executor.h"
#include "worker/log_shipper.h"
#include "worker/own_folder.h"
#include "worker/slot/launch.h"
#include "worker/slot/runner_messages.h"
#include "worker/slot/slot_record.h"
#include "worker/spawn_worker.h"

namespace vortex::worker {

namespace asio = boost::asio;

namespace {

constexpr long kLookEveryNs = 20'000'000;
constexpr Duration kSameRequest = millis(100);
constexpr std::size_t kLogBytesInAll = 16 * 1024 * 1024;
constexpr std::size_t kLogBytesPerTask = 1024 * 1024;
constexpr std::size_t kLogBytesMin = 64 * 1024;

// An event loop on a thread of its own.
class Loop {
 public:
  Loop() : work_(asio::make_work_guard(io)) {}
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run(const char* name) {
    thread_ = std::thread([this, name] {
      ::prctl(PR_SET_NAME, name);
      io.run();
    });
  }
  // Runs `call` on the loop and waits for it.
  template <class Call>
  void join_in(Call call) {
    std::atomic<bool> done = false;
    asio::post(io, [&] {
      call();
      done = true;
      done.notify_one();
    });
    done.wait(false);
  }
  void stop() {
    io.stop();
    if (thread_.joinable()) thread_.join();
  }

  asio::io_context io{1};

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

class WorkerProcess {
 public:
  WorkerProcess(ProcessOptions options, OwnLog log)
      : options_(std::move(options)), log_(std::move(log)), started_at_(boot_clock_now()) {}

  int run();

 private:
  std::string be_contained();
  std::string make_fence();
  void start_executor();
  std::string start_agent();
  std::uint16_t health_port() const;
  agent::AgentConfig agent_config(std::string health_address) const;
  // On the tasks' thread.
  void start_task(const Assignment& assignment);
  void fetch_then_start(Launch launch, CheckpointRef uploaded);
  void kill_task(Attempt attempt);
  void tell_supervisor(char news) const;
  int give_up(const std::string& why) const;
  std::string session() const {
    const std::scoped_lock lock(session_guard_);
    return session_;
  }
  void on_fact(agent::Input fact);
  void wait_for_end();
  void on_signal();
  void close();

  const Settings& settings() const { return options_.worker.settings; }
  const WorkerInfo& info() const { return options_.worker.info; }
  std::string work_name() const {
    return work_folder_name(group_component(info().id.text), options_.life);
  }
  std::string work_dir() const { return path_in(options_.worker.work_dir, work_name()); }

  ProcessOptions options_;
  OwnLog log_;
  const Instant started_at_;
  Fd root_;  // of tasks; none: the machine's
  Fence fence_;
  Loop tasks_;
  Loop beat_;
  std::shared_ptr<KnownControllers> controllers_;  // for output and checkpoints
  std::unique_ptr<LogShipper> shipper_;
  std::unique_ptr<CheckpointCarrier> carrier_;
  std::set<Attempt> fetching_;  // on the tasks' thread
  std::atomic<std::uint64_t> life_ = 0;
  mutable std::mutex session_guard_;
  std::string session_;  // the secret of that life
  std::unique_ptr<Executor> executor_;
  SlotRecord lives_;  // on the beat thread
  std::unique_ptr<AgentShell> shell_;
  std::unique_ptr<net::Server> health_;
  std::atomic<bool> exited_ = false;
  std::atomic<agent::Exit::How> how_{agent::Exit::How::kDrained};
  std::optional<Instant> asked_at_;  // to stop
  bool proved_ = false;              // has finished a task; on the tasks' thread
};

// Returns what is wrong; empty: nothing. Before there are threads.
std::string WorkerProcess::be_contained() {
  if (settings().worker.launcher != Launcher::kContainer) return {};
  auto root = enter_container({info().id.text, settings().worker.container_root, work_dir()});
  if (!root) return root.error();
  root_ = *std::move(root);
  ::setenv("VORTEX_CONTAINER", "1", 1);
  return {};
}

// The kernel tells of a supervisor that dies from now on; one that is dead already no longer reads.
bool supervisor_is_gone(int news_fd) {
  pollfd news{.fd = news_fd, .events = 0, .revents = 0};
  return news_fd >= 0 && ::poll(&news, 1, 0) > 0 && (news.revents & POLLERR) != 0;
}

// Returns what is wrong; empty: nothing.
std::string WorkerProcess::make_fence() {
  auto fence = Fence::create();
  if (!fence)
    return fmt::format("cannot allocate memory for the fence of tasks: {}",
                       std::strerror(fence.error()));
  fence_ = *std::move(fence);
  return {};
}

void WorkerProcess::start_executor() {
  controllers_ = std::make_shared<KnownControllers>(options_.worker.controllers);
  ShipperConfig shipper;
  shipper.controllers = controllers_;
  shipper.buffer_bytes_max =
      std::clamp(kLogBytesInAll / std::max(info().slots, 1U), kLogBytesMin, kLogBytesPerTask);
  shipper.flush_limit = std::min(shipper.flush_limit, settings().worker.self_fence / 4);
  shipper.log = log_;
  shipper.session = [this] { return session(); };
  shipper_ = std::make_unique<LogShipper>(tasks_.io, std::move(shipper));
  CarrierConfig carrier;
  carrier.controllers = controllers_;
  carrier.worker = info().id;
  carrier.life = [this] { return Incarnation{life_}; };
  carrier.session = [this] { return session(); };
  carrier_ = std::make_unique<CheckpointCarrier>(tasks_.io, std::move(carrier));
  ExecutorConfig config;
  config.save = [this](CheckpointCarrier::Upload upload) { carrier_->save(std::move(upload)); };
  config.slots = info().slots;
  config.work_dir = work_dir();
  config.kill_grace = settings().worker.kill_grace;
  config.outputs_bytes_max = std::size_t{settings().worker.outputs_max_kib} << 10U;
  config.containment = options_.worker.containment;
  config.group = {work_folder_name(options_.supervisor, options_.life), info().id.text};
  config.record_path = options_.record_path;
  config.confinement = options_.worker.confinement;
  if (config.confinement.processes_max > 0) {
    config.processes_max = config.confinement.processes_max;
  }
  config.root = root_.get();
  config.fence = fence_.file();
  config.notice = log_;
  executor_ = std::make_unique<Executor>(tasks_.io, std::move(config), *shipper_,
                                         [this](agent::Input fact) { on_fact(std::move(fact)); });
}

// Workers of one supervisor share a host, and NAME-1 has the port of the setting.
std::uint16_t WorkerProcess::health_port() const {
  const std::uint32_t first = settings().worker.health_port;
  if (first == 0) return 0;
  const std::string& id = info().id.text;
  std::uint32_t number = 1;
  const std::size_t dash = id.rfind('-');
  if (dash != id.npos) std::from_chars(id.data() + dash + 1, id.data() + id.size(), number);
  return static_cast<std::uint16_t>(first + std::max(number, 1U) - 1);
}

agent::AgentConfig WorkerProcess::agent_config(std::string health_address) const {
  agent::AgentConfig config;
  config.info = info();
  config.info.address = std::move(health_address);
  config.info.version = version();
  config.incarnation = options_.incarnation;
  config.controllers = static_cast<std::uint32_t>(options_.worker.controllers.size());
  config.heartbeat_interval = settings().worker.heartbeat_interval;
  config.self_fence = settings().worker.self_fence;
  config.kill_time = settings().worker.kill_grace;
  config.shutdown_timeout = settings().worker.shutdown_timeout;
  config.seed = options_.incarnation.value;
  return config;
}

// Returns what is wrong; empty: nothing.
std::string WorkerProcess::start_agent() {
  HealthConfig health;
  const std::string facing = own_address_towards(options_.worker.controllers.front().endpoint);
  health.listen = settings().worker.health_address;
  const bool any = health.listen == "0.0.0.0" || health.listen == "::";
  if (health.listen.empty()) health.listen = facing;
  health.port = health_port();
  health.worker = info().id.text;
  health.started_at = started_at_;
  health.beat = settings().worker.heartbeat_interval;
  health.state = [this] { return shell_->state(); };
  const std::string address = any ? facing : health.listen;
  auto server = serve_health(beat_.io, std::move(health));
  if (!server) return fmt::format("health endpoint: {}", server.error());
  health_ = *std::move(server);
  ShellHooks hooks;
  hooks.start = [this](Assignment assignment) {
    asio::post(tasks_.io, [this, task = std::move(assignment)] { start_task(task); });
  };
  hooks.kill = [this](Attempt attempt) {
    asio::post(tasks_.io, [this, attempt] { kill_task(attempt); });
  };
  hooks.renewed = [this](Instant until) { fence_.move_to(until); };
  // Another view of the record that the executor has made.
  lives_ =
      SlotRecord::open(Fd(::open(options_.record_path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)));
  hooks.registering = [this](Incarnation life) {
    lives_.note_life(life);
    life_ = life.value;
  };
  hooks.registered = [this](Incarnation life, const std::string& session) {
    lives_.note_session(life, session);
    const std::scoped_lock lock(session_guard_);
    session_ = session;
  };
  hooks.learned = [all = controllers_](const net::ClientConfig& teller, std::string_view named) {
    all->learn(teller, named);
  };
  hooks.ready = [this] { tell_supervisor(kNewsReady); };
  hooks.exited = [this](agent::Exit::How how) {
    how_ = how;
    exited_ = true;
  };
  hooks.log = log_;
  shell_ = std::make_unique<AgentShell>(
      beat_.io, agent_config(fmt::format("{}:{}", address, health_->port())),
      options_.worker.controllers, std::move(hooks));
  return {};
}

void WorkerProcess::on_fact(agent::Input fact) {
  const auto* ended = std::get_if<agent::ProcessExited>(&fact);
  const bool finished = ended != nullptr && std::holds_alternative<Completed>(ended->result);
  if (finished && !std::exchange(proved_, true)) tell_supervisor(kNewsProved);
  shell_->tell(std::move(fact));
}

// Before its process exists there is nothing to kill but the wish to start it.
void WorkerProcess::kill_task(Attempt attempt) {
  if (fetching_.erase(attempt) == 0) return executor_->kill(attempt);
  shell_->tell(agent::ProcessExited{attempt, agent::Killed{}});
}

void WorkerProcess::fetch_then_start(Launch launch, CheckpointRef uploaded) {
  const Attempt attempt = launch.attempt;
  launch.checkpoint_file =
      fmt::format("{}/fetched-{}-{}", work_dir(), to_text(attempt.task), attempt.epoch.value);
  fetching_.insert(attempt);
  CheckpointCarrier::Download download;
  download.attempt = attempt;
  download.uploaded = uploaded;
  download.path = launch.checkpoint_file;
  download.done = [this, attempt, launch = std::move(launch)](const std::string& trouble) mutable {
    const bool wanted = fetching_.erase(attempt) > 0;
    if (wanted && trouble.empty()) return executor_->start(std::move(launch));
    ::unlink(launch.checkpoint_file.c_str());
    if (!wanted) return;
    const std::string why =
        fmt::format("worker '{}' could not fetch its checkpoint: {}", info().id.text, trouble);
    log_(LogLevel::kWarn, fmt::format("{}: {}", to_text(attempt.task), why));
    shell_->tell(
        agent::ProcessCouldNotStart{attempt, 0, why, agent::ProcessCouldNotStart::Fault::kWorker});
  };
  // A task may have removed it since.
  WorkFolder home(options_.worker.work_dir, work_name());
  if (const auto there = home.ensure(); !there) return download.done(there.error());
  carrier_->fetch(std::move(download));
}

void WorkerProcess::start_task(const Assignment& assignment) {
  Launch launch = make_launch(assignment, {options_.worker.url, info().id.text, wall_clock_now()});
  if (assignment.uploaded.number != 0) {
    return fetch_then_start(std::move(launch), assignment.uploaded);
  }
  executor_->start(std::move(launch));
}

void WorkerProcess::tell_supervisor(char news) const {
  if (options_.news_fd >= 0) static_cast<void>(!::write(options_.news_fd, &news, 1));
}

// Its last words; the exit code.
int WorkerProcess::give_up(const std::string& why) const {
  log_(LogLevel::kError, why);
  const std::string news = fmt::format("{}{}\n", kNewsTrouble, why);
  if (options_.news_fd >= 0) {
    static_cast<void>(!::write(options_.news_fd, news.data(), news.size()));
  }
  return 1;
}

void WorkerProcess::on_signal() {
  const Instant now = boot_clock_now();
  // The kernel tells of a dead supervisor once for each of its threads: that is one request.
  if (asked_at_ && now - *asked_at_ < kSameRequest) return;
  if (!std::exchange(asked_at_, now)) {
    log_(LogLevel::kInfo, "stop requested: finishing running tasks");
    return shell_->tell(agent::DrainRequested{});
  }
  log_(LogLevel::kInfo, "stop requested again: releasing running tasks");
  shell_->tell(agent::ReleaseNow{});
}

void WorkerProcess::wait_for_end() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec look{0, kLookEveryNs};
  while (!exited_) {
    if (sigtimedwait(&signals, nullptr, &look) > 0) on_signal();
  }
}

void WorkerProcess::close() {
  beat_.join_in([this] {
    health_.reset();
    shell_->close();
  });
  // These may still have something to say.
  tasks_.join_in([this] {
    executor_.reset();
    carrier_.reset();
    shipper_.reset();
  });
  beat_.stop();
  tasks_.stop();
}

int WorkerProcess::run() {
  // Orphans of tasks come to us, and when the supervisor dies we are asked to
  // leave.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A task must not hold what tells our supervisor that we are gone.
  if (options_.news_fd >= 0) ::fcntl(options_.news_fd, F_SETFD, FD_CLOEXEC);
  if (supervisor_is_gone(options_.news_fd)) return 1;
  if (const std::string wrong = be_contained(); !wrong.empty()) {
    return give_up(wrong);
  }
  if (const std::string wrong = make_fence(); !wrong.empty()) return give_up(wrong);
  start_executor();
  if (const std::string wrong = start_agent(); !wrong.empty()) {
    return give_up(wrong);
  }
  tasks_.run("tasks");
  beat_.run("beat");
  shell_->tell(agent::Start{});
  wait_for_end();
  close();
  if (how_.load() == agent::Exit::How::kSuperseded) {
    log_(LogLevel::kError,
         "another process is registered as this worker; give each supervisor its own --name");
    return kExitSuperseded;
  }
  return 0;
}

}  // namespace

int run_worker_process(ProcessOptions options, OwnLog log) {
  return WorkerProcess(std::move(options), std::move(log)).run();
}

}  // namespace vortex::worker
