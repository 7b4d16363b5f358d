#include "worker/slot/runner.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wiped.h"
#include "worker/files.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/runner_messages.h"
#include "worker/slot/slot_record.h"
#include "worker/slot/task_spawn.h"

namespace vortex::worker {
namespace {

// What is left of a task is looked at again after this long, twice as long each time.
constexpr Duration kSweepFirst = millis(1);
constexpr Duration kSweepLongest = millis(100);
constexpr int kUrgentNice = -20;
// From just before a process is made until it exists; longer than it takes, far shorter than it
// takes until its id can be used again.
constexpr Duration kBirthLongest = seconds(1);

void on_child(int) {}  // only there so that the poll ends

// The texts of an order, from the packet or from a memfd.
class Payload {
 public:
  Payload(const Order& order, std::span<std::byte> rest, const Packet& packet) {
    if (order.payload_inline != 0) {
      if (rest.size() == order.payload_bytes) text_ = rest;
      return;
    }
    if (packet.fd_count < 2) return;
    void* mapped = ::mmap(nullptr, order.payload_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                          packet.fds[1].get(), 0);
    if (mapped == MAP_FAILED) return;
    mapped_ = mapped;
    text_ = {static_cast<std::byte*>(mapped), order.payload_bytes};
  }
  ~Payload() {
    if (mapped_ != nullptr) ::munmap(mapped_, text_.size());
  }
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  // The next text; null when there is none.
  char* next() {
    if (at_ >= text_.size()) return nullptr;
    auto* start = reinterpret_cast<char*>(text_.data()) + at_;
    auto* end = static_cast<char*>(std::memchr(start, 0, text_.size() - at_));
    if (end == nullptr) return nullptr;
    at_ += static_cast<std::size_t>(end - start) + 1;
    return start;
  }

 private:
  std::span<std::byte> text_;
  void* mapped_ = nullptr;
  std::size_t at_ = 0;
};

struct Task {
  Instant started{};
  bool start_said = false;
  pid_t leader = 0;  // 0: it was reaped
  int status = 0;    // of the leader, once it was reaped
  EndedBy ended_by = EndedBy::kItself;
  std::optional<Instant> kill_at;  // TERM was sent
  Duration sweep_every{};          // zero: nothing is being killed yet
  Instant sweep_at{};
};

class Runner {
 public:
  Runner(int control, int nice_of_tasks)
      : control_(control), buffer_(sizeof(Order) + kPayloadInlineMax) {
    spawn_.nice = nice_of_tasks;
  }
  int run();

 private:
  enum class Turn { kGoOn, kEnd };

  Turn take_order();
  void join_groups(const Packet& packet);
  void start(const Order& order, std::span<std::byte> rest, Packet& packet);
  void kill(Duration grace, EndedBy by);
  Turn take_fence(const Order& order, Packet& packet);
  Turn take_confinement(std::span<const std::byte> rest);
  Turn take_rights(std::span<const std::byte> rest);
  void arm_fence(Instant until);
  void judge_fence();
  bool reap_dead();
  void look_at_task();
  void act_on_time();
  void sweep();
  int wait_ms() const;
  bool say(Word word);
  int leave();

  Fd control_;
  std::vector<std::byte> buffer_;
  TaskSpawner spawner_;
  SpawnOrder spawn_;
  Fd root_;  // of tasks; none: the runner's own
  ConfineOrder confine_;
  int confine_error_ = 0;  // tasks cannot be held as they should: none is started
  SlotRecord record_;
  Fence fence_;
  Fd fence_timer_;  // by the boot clock: a machine that slept must not add its sleep
  Duration fence_grace_;
  bool fence_armed_ = false;
  SlotRecord::Cell place_{.slot = 0, .role = SlotRecord::Role::kLeader};
  std::optional<Task> task_;
};

int Runner::run() {
  sigset_t while_waiting;
  sigfillset(&while_waiting);
  sigdelset(&while_waiting, SIGCHLD);
  for (;;) {
    pollfd watched[] = {{.fd = control_.get(), .events = POLLIN, .revents = 0},
                        {.fd = fence_timer_.get(), .events = POLLIN, .revents = 0}};
    const int limit_ms = wait_ms();
    const timespec limit{.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1'000'000L};
    const int ready =
        ::ppoll(watched, std::size(watched), limit_ms < 0 ? nullptr : &limit, &while_waiting);
    if (task_) look_at_task();
    if (!control_) return leave();
    if (ready > 0 && watched[1].revents != 0) judge_fence();
    if (ready > 0 && watched[0].revents != 0 && take_order() == Turn::kEnd) return leave();
    if (task_) act_on_time();
  }
}

int Runner::wait_ms() const {
  if (!task_) return -1;
  Instant next = task_->kill_at.value_or(kNever);
  if (task_->sweep_every > Duration{}) next = task_->sweep_at;
  if (!task_->start_said) next = std::min(next, task_->started + kStartSaidAfter);
  if (next == kNever) return -1;
  const Duration left = next - boot_clock_now();
  return left.us <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left.us / 1000 + 1, 60'000));
}

Runner::Turn Runner::take_order() {
  Packet packet;
  if (!receive_packet(control_.get(), buffer_, packet)) {
    return errno == EAGAIN ? Turn::kGoOn : Turn::kEnd;
  }
  Order order;
  if (packet.bytes < sizeof(order)) return Turn::kEnd;
  std::memcpy(&order, buffer_.data(), sizeof(order));
  switch (order.kind) {
    case OrderKind::kJoin:
      join_groups(packet);
      break;
    case OrderKind::kStart:
      if (task_ || packet.fd_count == 0) return Turn::kEnd;
      start(order, std::span(buffer_).first(packet.bytes).subspan(sizeof(order)), packet);
      break;
    case OrderKind::kKill:
      if (task_) kill(millis(order.grace_ms), EndedBy::kOrder);
      break;
    case OrderKind::kRoot:
      // Without it tasks would run in the wrong place.
      if (packet.fd_count == 0) return Turn::kEnd;
      root_ = std::move(packet.fds[0]);
      spawn_.root = root_.get();
      break;
    case OrderKind::kRecord:
      record_ = SlotRecord::open(std::move(packet.fds[0]));
      place_.slot = order.slot;
      break;
    case OrderKind::kFence:
      return take_fence(order, packet);
    case OrderKind::kConfine:
      return take_confinement(std::span(buffer_).first(packet.bytes).subspan(sizeof(order)));
    case OrderKind::kRights:
      return take_rights(std::span(buffer_).first(packet.bytes).subspan(sizeof(order)));
  }
  return control_ ? Turn::kGoOn : Turn::kEnd;
}

// A group that cannot be entered is one that cannot limit: the task runs without.
void Runner::join_groups(const Packet& packet) {
  for (std::size_t i = 0; i < packet.fd_count; ++i) {
    [[maybe_unused]] const ssize_t written = ::write(packet.fds[i].get(), "0", 1);
  }
}

Runner::Turn Runner::take_fence(const Order& order, Packet& packet) {
  fence_ = Fence::open(std::move(packet.fds[0]));
  fence_grace_ = millis(order.grace_ms);
  fence_armed_ = false;
  fence_timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  return fence_timer_ ? Turn::kGoOn : Turn::kEnd;
}

Runner::Turn Runner::take_confinement(std::span<const std::byte> rest) {
  if (rest.size() <= sizeof(confine_) || rest.back() != std::byte{0}) return Turn::kEnd;
  std::memcpy(&confine_, rest.data(), sizeof(confine_));
  const auto* writable = reinterpret_cast<const char*>(rest.data() + sizeof(confine_));
  confine_error_ = enter_namespaces(confine_, writable);
  spawn_.confine = &confine_;
  return Turn::kGoOn;
}

// The namespaces stay what they are: only the rights of the next task are others. Without them it
// would run as somebody else.
Runner::Turn Runner::take_rights(std::span<const std::byte> rest) {
  if (task_ || spawn_.confine == nullptr || rest.size() != sizeof(confine_)) return Turn::kEnd;
  std::memcpy(&confine_, rest.data(), sizeof(confine_));
  return Turn::kGoOn;
}

void Runner::arm_fence(Instant until) {
  if (!fence_timer_ || until >= kNever) return;
  itimerspec at{};
  at.it_value.tv_sec = until.us / 1'000'000;
  at.it_value.tv_nsec = until.us % 1'000'000 * 1'000;
  fence_armed_ = ::timerfd_settime(fence_timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr) == 0;
}

// The timer is set for where the fence was when the first of these tasks started. Mostly it has
// been moved on since: so one wake-up in the time of a fence is all that it costs.
void Runner::judge_fence() {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(fence_timer_.get(), &times, sizeof(times));
  fence_armed_ = false;
  if (!task_) return;
  const Instant until = fence_.until();
  if (boot_clock_now() < until) return arm_fence(until);
  kill(fence_grace_, EndedBy::kFence);
}

void Runner::start(const Order& order, std::span<std::byte> rest, Packet& packet) {
  Payload payload(order, rest, packet);
  bool whole = order.argc > 0;
  spawn_.argv.clear();
  spawn_.env.clear();
  const auto take = [&](std::vector<char*>& into, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count && whole; ++i) {
      into.push_back(payload.next());
      whole = into.back() != nullptr;
    }
    into.push_back(nullptr);
  };
  take(spawn_.argv, order.argc);
  take(spawn_.env, order.envc);
  spawn_.workdir = whole ? payload.next() : nullptr;
  spawn_.output = packet.fds[0].get();
  const Instant now = boot_clock_now();
  const Instant until = fence_.until();
  if (now >= until) {
    packet.fds[0].reset();
    say({.kind = WordKind::kNotStarted, .ended_by = EndedBy::kFence});
    return;
  }
  const Attempt attempt{{.run = {order.run}, .index = order.task, .level = order.level},
                        {order.epoch}};
  spawn_.note =
      record_.expect(place_, {.from = now, .until = now + kBirthLongest, .attempt = attempt});
  Spawned spawned{.pid = -1, .error = EINVAL, .step = StartStep::kPrepare};
  if (confine_error_ != 0) {
    spawned.error = confine_error_;
  } else if (whole && spawn_.workdir != nullptr) {
    spawned = spawner_.spawn(spawn_);
  }
  packet.fds[0].reset();
  wipe(rest.data(), rest.size());  // secrets may be among the variables
  if (spawned.pid > 0) {
    task_.emplace(now).leader = spawned.pid;
    if (!fence_armed_) arm_fence(until);
  } else {
    record_.clear(place_);
    say({.kind = WordKind::kNotStarted, .code = spawned.error, .step = spawned.step});
  }
}

void Runner::kill(Duration grace, EndedBy by) {
  if (task_->leader == 0) return;  // what is left is being killed already
  if (task_->ended_by == EndedBy::kItself) task_->ended_by = by;
  const Instant at = boot_clock_now() + grace;
  if (!task_->kill_at && grace > Duration{}) terminate_tree(task_->leader);
  task_->kill_at = std::min(at, task_->kill_at.value_or(kNever));
}

// Reaps all that is dead, ours or inherited. True: there is no child at all.
bool Runner::reap_dead() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == 0) return false;
    if (pid < 0 && errno != EINTR) return true;
    if (pid <= 0 || pid != task_->leader) continue;
    task_->leader = 0;
    task_->status = status;
  }
}

// The task is over when nothing is left of it. What outlives its first process is killed.
void Runner::look_at_task() {
  if (reap_dead()) {
    const Word word{.kind = WordKind::kGone, .code = task_->status, .ended_by = task_->ended_by};
    record_.clear(place_);
    task_.reset();
    say(word);
  } else if (task_->leader == 0 && task_->sweep_every == Duration{}) {
    sweep();
  }
}

void Runner::act_on_time() {
  const bool sweeping = task_->sweep_every > Duration{};
  if (!sweeping && !task_->kill_at && task_->start_said) return;
  const Instant now = boot_clock_now();
  if (!task_->start_said && now - task_->started >= kStartSaidAfter) {
    task_->start_said = true;
    say({.kind = WordKind::kStarted});
  }
  if (now >= (sweeping ? task_->sweep_at : task_->kill_at.value_or(kNever))) sweep();
}

void Runner::sweep() {
  kill_tree({.spared = {}, .reap = [this] { reap_dead(); }});
  const Duration last = task_->sweep_every;
  task_->sweep_every = last == Duration{} ? kSweepFirst : std::min(last * 2, kSweepLongest);
  task_->sweep_at = boot_clock_now() + task_->sweep_every;
}

// A worker that does not take a word is gone or broken: end as if the socket had ended.
bool Runner::say(Word word) {
  iovec part{.iov_base = &word, .iov_len = sizeof(word)};
  if (send_packet(control_.get(), {&part, 1}, {})) return true;
  control_.reset();
  return false;
}

int Runner::leave() {
  while (reap_children() > 0) {
    kill_and_reap_tree();
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

// One descriptor for the worker, /dev/null as stdin for all tasks, stderr for a last word.
bool keep_only(int control_fd) {
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return false;
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(null, STDERR_FILENO);
  if (control_fd != kRunnerControl && ::dup2(control_fd, kRunnerControl) < 0) return false;
  ::close_range(kRunnerControl + 1, ~0U, 0);
  return ::fcntl(kRunnerControl, F_SETFD, FD_CLOEXEC) == 0;
}

void set_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    // By system call: the library hides two signals that may be ignored all the same.
    const unsigned long defaults[4] = {};
    ::syscall(SYS_rt_sigaction, signal, defaults, nullptr, sizeof(unsigned long));
  }
  struct sigaction child{};
  child.sa_handler = on_child;
  child.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &child, nullptr);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

// It has little to do, but must not stand in line behind the hundreds it has to kill: not as a
// process, and not as a session (the kernel may share time out between these first). Where that is
// not allowed it stands in line.
void be_urgent() {
  ::setpriority(PRIO_PROCESS, 0, kUrgentNice);
  const Fd session(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(kUrgentNice);
  if (session) [[maybe_unused]]
    const ssize_t n = ::write(session.get(), text.data(), text.size());
}

}  // namespace

int run_task_runner(int control_fd) {
  set_signals();
  ::setsid();
  if (!keep_only(control_fd)) return 1;
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 1;
  ::prctl(PR_SET_NAME, "vortex-runner");
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  be_urgent();
  Runner runner(kRunnerControl, nice);
  return runner.run();
}

}  // namespace vortex::worker
