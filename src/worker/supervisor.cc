#include "worker/supervisor.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/cgroup.h"
#include "worker/files.h"
#include "worker/journal.h"
#include "worker/leftovers.h"
#include "worker/own_folder.h"
#include "worker/proof.h"
#include "worker/quiet_thread.h"
#include "worker/slot/slot_record.h"
#include "worker/slot/slot_secrets.h"
#include "worker/spawn_worker.h"

namespace vortex::worker {

std::optional<Duration> Respawn::after_end(WorkerStage reached, Duration was_up) {
  if (reached == WorkerStage::kNothing && was_up < kHealthyFor) {
    if (++spawn_tries_ >= settings_.spawn_retry_attempts) return std::nullopt;
    return backoff(spawn_tries_);
  }
  spawn_tries_ = 0;
  if (reached == WorkerStage::kProved || was_up >= kHealthyFor) respawns_ = 0;
  if (!settings_.auto_respawn || respawns_ >= settings_.max_respawn_attempts) return std::nullopt;
  // The first one comes back at once: most deaths are an accident.
  return backoff(respawns_++);
}

Duration Respawn::backoff(std::uint32_t failures) const {
  if (failures == 0) return {};
  const Duration base = settings_.spawn_backoff_base;
  Duration wait = base;
  switch (settings_.spawn_backoff_strategy) {
    case SpawnBackoff::kFixed:
      break;
    case SpawnBackoff::kLinear:
      wait = base * failures;
      break;
    case SpawnBackoff::kExponential:
      wait = base * (std::int64_t{1} << std::min(failures - 1, 20U));
      break;
  }
  return std::min(wait, settings_.spawn_backoff_max);
}

namespace {

constexpr int kNamesTried = 100;
constexpr std::size_t kTroubleBytesMax = 500;
constexpr Duration kCleanAgainAfter = millis(2);
constexpr Duration kLongestWait = seconds(3600);
// Beyond the time a worker may take to leave; then it is killed.
constexpr Duration kSupervisorPatience = seconds(5);
constexpr Duration kRemoveLongest = seconds(2);

constexpr SlotRecord::Cell kFirstProcess{.slot = 0, .role = SlotRecord::Role::kRunner};

enum class Phase : std::uint8_t { kWaiting, kRunning, kCleaning, kOver };

// One worker of the target number, through all its processes.
struct Ward {
  Ward(WorkerId worker, const WorkerSettings& settings, WorkerGroup own)
      : id(std::move(worker)), respawn(settings), group(std::move(own)) {}

  WorkerId id;
  Respawn respawn;
  WorkerGroup group;  // where its processes live, and how to end them all
  Phase phase = Phase::kWaiting;
  Instant start_at;  // kWaiting
  pid_t pid = -1;    // kRunning
  Incarnation incarnation;
  Instant started_at;
  WorkerStage reached = WorkerStage::kNothing;
  Fd news;                  // the process tells here how far it got
  std::string trouble;      // and why it could not work, if it knew
  bool in_trouble = false;  // the rest of the news is that
  int status = 0;           // kCleaning: how it ended
  std::uint32_t starts = 0;
  // Its process as we see it: what runs in a container knows no ids that mean anything to the next
  // supervisor. Empty without containers.
  SlotRecord container;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options) : options_(std::move(options)) {}

  int run();

 private:
  bool prepare();
  bool open_folder();
  bool record_containers();
  void sweep();
  void remove_files();
  void start_due();
  void start(Ward& ward);
  void wait_for_news();
  void on_signals();
  void on_end(Ward& ward, int status);
  bool read_news(Ward& ward);
  void clean();
  std::vector<pid_t> living() const;
  void prove_leftover(const EndedWorker& worker);
  void settle(Ward& ward);
  void say_end(const Ward& ward, const Proof& proof);
  std::string why_it_ended(const Ward& ward) const;
  void decide(Ward& ward);
  void pass_on_signal();
  void kill_late();
  Duration next_wait() const;
  bool all_over() const;
  void say(LogLevel level, const std::string& text) const { options_.log(level, text); }
  Launcher launcher() const { return options_.worker.settings.worker.launcher; }

  SupervisorOptions options_;
  std::optional<SupervisorFolder> folder_;
  std::unique_ptr<ProofTeller> proofs_;
  std::unique_ptr<Journal> journal_;
  std::vector<std::unique_ptr<Ward>> wards_;
  Fd signals_;
  bool leaving_ = false;
  std::thread sweeper_;  // removes files that workers of others have left
  std::atomic<bool> sweeping_ = true;
  std::optional<Instant> kill_at_;
  std::uint64_t last_incarnation_ = 0;
};

bool Supervisor::prepare() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCHLD);
  signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!open_folder()) return false;
  if (const auto work = open_own_folder(options_.worker.work_dir); !work) {
    say(LogLevel::kError, "cannot use the work directory: " + work.error());
    return false;
  }
  const LeftoverReport left = kill_leftovers(options_.worker.state_dir);
  if (!left.refused.empty()) {
    say(LogLevel::kWarn, "not cleaning up after an earlier supervisor: " + left.refused);
  }
  if (left.folders > 0) {
    say(LogLevel::kWarn, fmt::format("cleaned up after {} killed supervisor{}", left.folders,
                                     left.folders == 1 ? "" : "s"));
  }
  ProofTeller::Config proofs;
  proofs.controllers = options_.worker.controllers;
  proofs.give_up_after = options_.worker.settings.controller.heartbeat_timeout;
  proofs.log = options_.log;
  proofs_ = std::make_unique<ProofTeller>(std::move(proofs));
  for (const std::vector<EndedWorker>* ended : {&left.ended, &folder_->ended()}) {
    for (const EndedWorker& worker : *ended) prove_leftover(worker);
  }
  Journal::Config journal;
  journal.path = folder_->path() + ".journal";
  journal.machine = options_.worker.info.machine.text;
  journal.supervisor = options_.name;
  journal.controllers = std::make_shared<KnownControllers>(options_.worker.controllers);
  journal.log = options_.log;
  journal_ = std::make_unique<Journal>(std::move(journal));
  for (std::uint32_t i = 1; i <= options_.count; ++i) {
    WorkerId id(fmt::format("{}-{}", options_.name, i));
    WorkerGroup group(options_.worker.containment,
                      {work_folder_name(options_.name, folder_->life()), id.text});
    const bool contained = group.prepare();
    if (!contained && i == 1)
      say(LogLevel::kWarn, "no control groups available: using process trees");
    wards_.push_back(
        std::make_unique<Ward>(std::move(id), options_.worker.settings.worker, std::move(group)));
  }
  return launcher() == Launcher::kSubprocess || record_containers();
}

// The next life registers by itself; whoever does not come back here would be missed only later.
void Supervisor::prove_leftover(const EndedWorker& worker) {
  if (worker.session.empty() || worker.lives.empty()) return;
  Proof proof{worker.id, {}, worker.started, worker.lives, {}, worker.session};
  for (const Incarnation life : proof.lives) proof.incarnation = std::max(proof.incarnation, life);
  proofs_->tell(std::move(proof));
}

// Of killed supervisors, and of before the last start of the machine: that may be much.
void Supervisor::sweep() {
  sweeper_ = quiet_thread([this] {
    const auto enough = [this] { return !sweeping_.load(); };
    remove_all_work(secret_base(), enough);
    remove_all_work(options_.worker.work_dir, enough);
  });
}

// What takes long is left to the next supervisor.
void Supervisor::remove_files() {
  sweeping_ = false;
  if (sweeper_.joinable()) sweeper_.join();
  const Instant until = boot_clock_now() + kRemoveLongest;
  for (const auto& ward : wards_) {
    const std::string name = work_folder_name(group_component(ward->id.text), folder_->life());
    const auto enough = [until] { return boot_clock_now() > until; };
    remove_work(path_in(secret_base(), name), enough);
    remove_work(path_in(options_.worker.work_dir, name), enough);
  }
}

bool Supervisor::record_containers() {
  for (const auto& ward : wards_) {
    auto record = SlotRecord::create(
        {.path = folder_->record_path(ward->id.text + ".container"), .slots = 1, .work_dir = {}});
    if (!record) {
      say(LogLevel::kError, record.error());
      return false;
    }
    ward->container = *std::move(record);
  }
  return true;
}

// A name that was not asked for makes way for one that is taken: two
// supervisors may share a host.
bool Supervisor::open_folder() {
  const std::string wanted = options_.name;
  for (int i = 2;; ++i) {
    auto folder = SupervisorFolder::open(
        {options_.worker.state_dir, options_.name, options_.worker.containment});
    if (folder) {
      folder_ = *std::move(folder);
      return true;
    }
    const bool taken = folder.error().why == SupervisorFolder::Refusal::Why::kNameIsTaken;
    if (!taken || options_.name_is_given || i > kNamesTried) {
      say(LogLevel::kError, folder.error().text);
      return false;
    }
    options_.name = fmt::format("{}.{}", wanted, i);
  }
}

void Supervisor::start_due() {
  const Instant now = boot_clock_now();
  for (const auto& ward : wards_) {
    if (ward->phase == Phase::kWaiting && !leaving_ && now >= ward->start_at) start(*ward);
  }
}

void Supervisor::start(Ward& ward) {
  // Lives are numbered by the wall clock, so that a supervisor that knows
  // nothing of earlier ones begins behind them.
  last_incarnation_ =
      std::max(last_incarnation_ + 1, static_cast<std::uint64_t>(wall_clock_now().us));
  ward.incarnation = {last_incarnation_};
  ward.reached = WorkerStage::kNothing;
  ward.started_at = boot_clock_now();
  const bool again = ward.starts++ > 0;
  ward.trouble.clear();
  ward.in_trouble = false;
  journal_->write({again ? EventKind::kWorkerRespawn : EventKind::kWorkerSpawn,
                   ward.id,
                   {},
                   {{"attempt", std::int64_t{ward.starts}}}});
  auto child = spawn_worker({options_.program, options_.arguments, ward.id, ward.incarnation,
                             folder_->record_path(ward.id.text), options_.name, folder_->life(),
                             launcher(), options_.worker.info.machine.text},
                            ward.group);
  if (!child) {
    say(LogLevel::kError, fmt::format("{}: {}", ward.id.text, child.error()));
    ward.status = W_EXITCODE(1, 0);
    ward.trouble = child.error();
    return decide(ward);
  }
  ward.pid = child->pid;
  ward.container.set(kFirstProcess,
                     {.pid = ward.pid, .from = ward.started_at, .until = boot_clock_now()});
  ward.news = std::move(child->news);
  ward.phase = Phase::kRunning;
  say(LogLevel::kInfo, fmt::format("{}: started as process {}{}", ward.id.text, ward.pid,
                                   launcher() == Launcher::kContainer ? " in a container" : ""));
}

Duration Supervisor::next_wait() const {
  const Instant now = boot_clock_now();
  Instant next = now + kLongestWait;
  for (const auto& ward : wards_) {
    if (ward->phase == Phase::kWaiting && !leaving_) next = std::min(next, ward->start_at);
    if (ward->phase == Phase::kCleaning) next = std::min(next, now + kCleanAgainAfter);
  }
  if (kill_at_) next = std::min(next, *kill_at_);
  return std::max(next - now, Duration{});
}

void Supervisor::wait_for_news() {
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}};
  std::vector<Ward*> tellers;
  for (const auto& ward : wards_) {
    if (!ward->news) continue;
    watched.push_back({ward->news.get(), POLLIN, 0});
    tellers.push_back(ward.get());
  }
  // Rounded up, or it would be awake before its time.
  const auto wait_ms = static_cast<int>((next_wait().us + 999) / 1'000);
  ::poll(watched.data(), watched.size(), wait_ms);
  // What a process said before it died is read before its end is judged.
  for (std::size_t i = 0; i < tellers.size(); ++i) {
    if (watched[i + 1].revents != 0) static_cast<void>(read_news(*tellers[i]));
  }
  on_signals();
}

// True: there may be more.
bool Supervisor::read_news(Ward& ward) {
  char text[64];
  const ssize_t got = ward.news ? ::read(ward.news.get(), text, sizeof text) : 0;
  if (got == 0) ward.news.reset();
  if (got <= 0) return false;
  for (ssize_t i = 0; i < got; ++i) {
    if (ward.in_trouble) {
      if (ward.trouble.size() < kTroubleBytesMax && text[i] != '\n') ward.trouble += text[i];
      continue;
    }
    if (text[i] == kNewsTrouble) ward.in_trouble = true;
    if (text[i] == kNewsReady) ward.reached = std::max(ward.reached, WorkerStage::kReady);
    if (text[i] == kNewsProved) ward.reached = WorkerStage::kProved;
  }
  return true;
}

void Supervisor::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) pass_on_signal();
  }
  // Several ends may share one SIGCHLD. Only our workers are reaped here: what
  // else is below us is what they left, and the groups see to it.
  for (const auto& ward : wards_) {
    int status = 0;
    if (ward->pid > 0 && ::waitpid(ward->pid, &status, WNOHANG) == ward->pid) {
      on_end(*ward, status);
    }
  }
}

void Supervisor::on_end(Ward& ward, int status) {
  while (read_news(ward)) {
  }
  ward.news.reset();
  ward.pid = -1;
  ward.container.clear(kFirstProcess);
  ward.status = status;
  ward.phase = Phase::kCleaning;
}

// Nothing of a dead worker's tasks may be alive when the proof goes out.
// Processes can take a moment to go, so this is tried again and again without
// standing still.
void Supervisor::clean() {
  const std::vector<pid_t> ours = living();
  for (const auto& ward : wards_) {
    if (ward->phase != Phase::kCleaning) continue;
    if (ward->group.kill_once(ours)) settle(*ward);
  }
}

std::vector<pid_t> Supervisor::living() const {
  std::vector<pid_t> pids;
  for (const auto& ward : wards_) {
    if (ward->pid > 0) pids.push_back(ward->pid);
  }
  return pids;
}

// Why a process that never registered ended, as far as can be known.
std::string Supervisor::why_it_ended(const Ward& ward) const {
  if (!ward.trouble.empty()) return ward.trouble;
  if (WIFSIGNALED(ward.status)) {
    return fmt::format("killed by signal {} before it had registered", WTERMSIG(ward.status));
  }
  const int code = WEXITSTATUS(ward.status);
  if (code == kCouldNotExec) return fmt::format("cannot execute {}", options_.program);
  return fmt::format("exited with code {} before it had registered", code);
}

void Supervisor::settle(Ward& ward) {
  // Also when it left on purpose: the controller may not have heard its last
  // words.
  const RecordContents record = read_record(folder_->record_path(ward.id.text));
  Proof proof{ward.id,      ward.incarnation, recorded_attempts(record),
              record.lives, ward.status,      record.session};
  for (const Incarnation life : proof.lives) proof.incarnation = std::max(proof.incarnation, life);
  proof.lives.push_back(ward.incarnation);
  say_end(ward, proof);
  proofs_->tell(std::move(proof));
  decide(ward);
}

void Supervisor::say_end(const Ward& ward, const Proof& proof) {
  const bool by_signal = WIFSIGNALED(ward.status);
  const int code = by_signal ? WTERMSIG(ward.status) : WEXITSTATUS(ward.status);
  const bool fine = !by_signal && code == 0;
  journal_->write({fine ? EventKind::kWorkerExit : EventKind::kWorkerCrash,
                   ward.id,
                   proof.incarnation,
                   {{by_signal ? "signal" : "exit_code", std::int64_t{code}}},
                   proof.session});
  if (fine) return say(LogLevel::kInfo, fmt::format("{}: left", ward.id.text));
  say(LogLevel::kWarn, fmt::format("{}: {} {}; all of its tasks are gone", ward.id.text,
                                   by_signal ? "was killed by signal" : "exited with code", code));
}

void Supervisor::decide(Ward& ward) {
  const bool fine = WIFEXITED(ward.status) && WEXITSTATUS(ward.status) == 0;
  const bool superseded = WIFEXITED(ward.status) && WEXITSTATUS(ward.status) == kExitSuperseded;
  ward.phase = Phase::kOver;
  if (leaving_ || superseded || (fine && ward.reached != WorkerStage::kNothing)) return;
  const auto wait = ward.respawn.after_end(ward.reached, boot_clock_now() - ward.started_at);
  if (!wait) {
    const std::string why =
        ward.reached == WorkerStage::kNothing ? why_it_ended(ward) : "it crashed too often";
    journal_->write({EventKind::kWorkerSpawnFailed,
                     ward.id,
                     {},
                     {{"starts", std::int64_t{ward.starts}}, {"reason", why}}});
    return say(
        LogLevel::kError,
        fmt::format(
            "{}: giving up after {} starts: {}. Fix the problem, then restart the supervisor",
            ward.id.text, ward.starts, why));
  }
  ward.phase = Phase::kWaiting;
  ward.start_at = boot_clock_now() + *wait;
  if (ward.reached != WorkerStage::kNothing) return;
  const std::string why = why_it_ended(ward);
  journal_->write({EventKind::kWorkerSpawnRetry,
                   ward.id,
                   {},
                   {{"try", std::int64_t{ward.respawn.spawn_tries()}},
                    {"wait_ms", wait->us / 1'000},
                    {"reason", why}}});
  say(LogLevel::kWarn,
      fmt::format("{}: {}; next try in {} ms", ward.id.text, why, wait->us / 1'000));
}

void Supervisor::pass_on_signal() {
  for (const auto& ward : wards_) {
    if (ward->pid > 0) ::kill(ward->pid, SIGTERM);
    if (ward->phase == Phase::kWaiting) ward->phase = Phase::kOver;
  }
  const WorkerSettings& worker = options_.worker.settings.worker;
  const Duration allowed =
      leaving_ ? worker.kill_grace : worker.shutdown_timeout + worker.kill_grace;
  kill_at_ = boot_clock_now() + allowed + kSupervisorPatience;
  say(LogLevel::kInfo, leaving_ ? "stop requested again: the workers release their running tasks"
                                : "stopping: the workers finish their running tasks");
  leaving_ = true;
}

void Supervisor::kill_late() {
  if (!kill_at_ || boot_clock_now() < *kill_at_) return;
  kill_at_.reset();
  for (const auto& ward : wards_) {
    if (ward->pid > 0) ::kill(ward->pid, SIGKILL);
  }
}

bool Supervisor::all_over() const {
  return std::ranges::all_of(wards_, [](const auto& w) { return w->phase == Phase::kOver; });
}

int Supervisor::run() {
  if (!prepare()) return 1;
  sweep();
  for (;;) {
    start_due();
    if (all_over()) break;
    wait_for_news();
    clean();
    kill_late();
  }
  proofs_.reset();
  journal_.reset();
  for (const auto& ward : wards_) ward->group.remove();
  remove_files();
  folder_->remove();
  if (leaving_) return 0;
  const bool left = std::ranges::all_of(wards_, [](const auto& ward) {
    return WIFEXITED(ward->status) && WEXITSTATUS(ward->status) == 0;
  });
  return left ? 0 : 1;
}

}  // namespace

int run_supervisor(SupervisorOptions options) { return Supervisor(std::move(options)).run(); }

}  // namespace vortex::worker
