#include "worker/slot/slot.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/wiped.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {
namespace {

namespace asio = boost::asio;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// An errno, or 0 and the process id.
int spawn(std::vector<std::string> command, int control, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control, kRunnerControl);
  const int error = ::posix_spawn(&pid, command.front().c_str(), &actions, nullptr,
                                  pointers(command).data(), ::environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::uint32_t grace_ms(Duration grace) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(grace.us / 1000, 0, std::numeric_limits<std::int32_t>::max()));
}

// A payload that is too long for a packet, as a file in memory.
Fd in_memory(std::string_view payload) {
  Fd file(::memfd_create("vortex-task", MFD_CLOEXEC));
  while (file && !payload.empty()) {
    const ssize_t written = ::write(file.get(), payload.data(), payload.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return {};
    payload.remove_prefix(static_cast<std::size_t>(written));
  }
  return file;
}

}  // namespace

RunnerLink::RunnerLink(asio::io_context& io, Callbacks callbacks)
    : socket_(io), callbacks_(std::move(callbacks)) {}

std::expected<std::shared_ptr<RunnerLink>, int> RunnerLink::start(
    asio::io_context& io, const std::vector<std::string>& command, Callbacks callbacks) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return std::unexpected(errno);
  }
  Fd ours(pair[0]);
  const Fd theirs(pair[1]);
  std::shared_ptr<RunnerLink> link(new RunnerLink(io, std::move(callbacks)));
  if (const int error = spawn(command, theirs.get(), link->pid_)) {
    link->pid_ = -1;
    return std::unexpected(error);
  }
  boost::system::error_code fault;
  link->socket_.assign(asio::generic::seq_packet_protocol(AF_UNIX, 0), ours.get(), fault);
  if (fault) {
    link->kill_now();
    return std::unexpected(fault.value());
  }
  ours.release();
  link->listen();
  return link;
}

RunnerLink::~RunnerLink() {
  hang_up();
  reap(WNOHANG);
}

void RunnerLink::reap(int options) {
  if (pid_ <= 0) return;
  pid_t got = -1;
  do {
    got = ::waitpid(pid_, nullptr, options);
  } while (got < 0 && errno == EINTR);
  if (got != 0) pid_ = -1;
}

void RunnerLink::listen() {
  socket_.async_receive(
      asio::buffer(&word_, sizeof(word_)), flags_,
      [weak = weak_from_this()](boost::system::error_code fault, std::size_t bytes) {
        const auto self = weak.lock();
        if (!self || !self->open_) return;
        if (fault || bytes != sizeof(Word)) return self->lost();
        self->callbacks_.on_word(self->word_);
        if (self->open_) self->listen();
      });
}

void RunnerLink::join(std::span<const Fd> entrances) {
  std::vector<int> fds;
  for (const Fd& entrance : entrances.first(std::min(entrances.size(), kOrderFdsMax))) {
    fds.push_back(entrance.get());
  }
  if (!fds.empty()) send({.kind = OrderKind::kJoin}, {}, fds);
}

void RunnerLink::set_root(int folder) { send({.kind = OrderKind::kRoot}, {}, {&folder, 1}); }

void RunnerLink::confine(const Confinement& confinement) {
  const ConfineOrder order = order_of(confinement);
  std::string payload(sizeof(order), '\0');
  std::memcpy(payload.data(), &order, sizeof(order));
  payload.append(confinement.writable).push_back('\0');
  send({.kind = OrderKind::kConfine}, payload, {});
}

void RunnerLink::set_rights(const ConfineOrder& order) {
  const std::string_view bytes(reinterpret_cast<const char*>(&order), sizeof(order));
  send({.kind = OrderKind::kRights}, bytes, {});
}

void RunnerLink::set_record(int file, std::uint32_t slot) {
  send({.kind = OrderKind::kRecord, .slot = slot}, {}, {&file, 1});
}

void RunnerLink::set_fence(int fence, Duration grace) {
  send({.kind = OrderKind::kFence, .grace_ms = grace_ms(grace)}, {}, {&fence, 1});
}

void RunnerLink::start_task(Attempt attempt, const StartTexts& texts, int output) {
  Order order{.kind = OrderKind::kStart, .argc = texts.argc, .envc = texts.envc};
  order.payload_bytes = texts.payload.size();
  order.run = attempt.task.run.value;
  order.epoch = attempt.epoch.value;
  order.task = attempt.task.index;
  order.level = attempt.task.level;
  if (texts.payload.size() <= kPayloadInlineMax) {
    order.payload_inline = 1;
    return send(order, texts.payload, {&output, 1});
  }
  const Fd memory = in_memory(texts.payload);
  const int fds[] = {output, memory.get()};
  // Without the second descriptor the runner answers that it could not start.
  send(order, {}, std::span(fds).first(memory ? 2 : 1));
}

void RunnerLink::kill_task(Duration grace) {
  send({.kind = OrderKind::kKill, .grace_ms = grace_ms(grace)}, {}, {});
}

void RunnerLink::send(const Order& order, std::string_view payload, std::span<const int> fds) {
  if (!open_) return;
  Order head = order;
  iovec parts[] = {{.iov_base = &head, .iov_len = sizeof(head)},
                   {.iov_base = const_cast<char*>(payload.data()), .iov_len = payload.size()}};
  if (send_packet(socket_.native_handle(), std::span(parts).first(payload.empty() ? 1 : 2), fds)) {
    return;
  }
  asio::post(socket_.get_executor(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->open_) self->lost();
  });
}

void RunnerLink::lost() {
  kill_now();
  callbacks_.on_lost();
}

void RunnerLink::hang_up() {
  open_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void RunnerLink::kill_now() {
  hang_up();
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  reap(0);
}

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr Duration kAdoptedEvery = millis(2);
constexpr int kSigKill = 9;
// A runner that was asked to kill, and has had the grace for it, is looked at this often. One that
// is stopped gets no more time; one that is not may have a large tree to kill.
constexpr Duration kRunnerEvery = millis(100);
constexpr Duration kRunnerLongest = seconds(15);
// A runner that is lost once under a task says nothing about the task.
constexpr std::uint32_t kLossesExcused = 2;
constexpr std::size_t kLossesKept = 1024;

bool is_stopped(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return stat && (stat->state == 'T' || stat->state == 't');
}

}  // namespace

void SlotHost::remove(Fd parent, std::string name) {
  if (!janitor) janitor.emplace(1);
  auto shared = std::make_shared<Fd>(std::move(parent));
  asio::post(*janitor, [this, shared, name = std::move(name)] {
    const auto done = remove_tree(shared->get(), name, [this] { return closing.load(); });
    if (done || done.error() == ECANCELED) return;
    asio::post(io, [weak = self, name, error = done.error()] {
      const auto host = weak.lock();
      if (!host) return;
      host->config.notice(LogLevel::kWarn,
                          fmt::format("cannot remove {} of an earlier task: {}; remove it by hand",
                                      path_in(host->home.path(), name), std::strerror(error)));
    });
  });
}

void SlotHost::notice_limits(const std::string& text) {
  if (text.empty() || std::exchange(told_of_limits, true)) return;
  config.notice(LogLevel::kWarn, text);
}

void SlotHost::notice_fault(const std::string& text) {
  if (text == told_fault) return;
  told_fault = text;
  config.notice(LogLevel::kWarn, fmt::format("a task could not be started here: {}", text));
}

bool SlotHost::suspects(TaskId task) {
  if (runner_losses.size() >= kLossesKept && !runner_losses.contains(task)) runner_losses.clear();
  return ++runner_losses[task] > kLossesExcused;
}

Slot::Slot(SlotHost& host, std::uint32_t number)
    : host_(host), number_(number), output_(host.io), timer_(host.io) {}

void Slot::start(Launch launch) {
  VX_ASSERT(!task_);
  task_.emplace();
  task_->launch = std::move(launch);
  task_->number = ++tasks_;
  task_->ordered_at = boot_clock_now();
  if (auto fault = begin()) {
    asio::post(host_.io, [weak = weak_from_this(), fault = std::move(*fault)]() mutable {
      const auto self = weak.lock();
      if (self && self->task_) self->could_not_start(std::move(fault));
    });
  }
}

std::optional<Slot::Fault> Slot::begin() {
  if (auto fault = begin_runner()) return fault;
  if (auto fault = choose_user()) return fault;
  SlotTask& task = *task_;
  const auto prepared = task.launch.checkpoint_file.empty()
                            ? files_->prepare(task.launch.checkpoint)
                            : files_->prepare_with_file(task.launch.checkpoint_file);
  if (!prepared) {
    return Fault{EIO, "cannot create the files of the task: " + prepared.error()};
  }
  if (const auto written = files_->write_inputs(task.launch.inputs); !written) {
    return Fault{EIO, "cannot write the inputs of the task: " + written.error()};
  }
  const std::size_t variables = task.launch.env.size();
  if (auto fault = prepare_secrets()) return fault;
  auto fault = begin_process();
  if (task.secrets) wipe_secrets(variables);
  return fault;
}

// The list of the operator counts, whatever a controller says: this is where the rights are.
std::optional<Slot::Fault> Slot::choose_user() {
  Launch& launch = task_->launch;
  const Confinement& confinement = host_.config.confinement;
  const AllowedUser* chosen = find_allowed(confinement, launch.user);
  if (chosen == nullptr && !launch.user.empty()) {
    return Fault{EPERM,
                 fmt::format("this worker does not allow tasks to run as '{}'; its operator can "
                             "add the user to worker.task_users_allowed",
                             launch.user),
                 Whose::kTask};
  }
  if (chosen != nullptr) {
    // In front, so that what the task sets itself wins.
    launch.env.insert(
        launch.env.begin(),
        {{"HOME", chosen->user.home}, {"USER", chosen->user.name}, {"LOGNAME", chosen->user.name}});
  }
  if (launch.user == rights_of_) return std::nullopt;
  rights_of_ = launch.user;
  user_ = confinement.user;
  if (chosen != nullptr) user_ = chosen->is_own ? std::nullopt : std::optional(chosen->user);
  files_->set_owner(user_);
  link_->set_rights(chosen != nullptr ? order_of(confinement, *chosen) : order_of(confinement));
  return std::nullopt;
}

// The values go into the memory of the process and stay nowhere else.
std::optional<Slot::Fault> Slot::prepare_secrets() {
  SlotTask& task = *task_;
  if (!task.launch.secrets) return std::nullopt;
  const auto& values = task.launch.secrets->values;
  if (host_.config.root >= 0 && std::ranges::any_of(values, &SecretValue::file)) {
    return Fault{EINVAL,
                 "secrets cannot be given as files to tasks with a root of their own "
                 "(worker.container_root); use them as variables",
                 Whose::kTask};
  }
  auto prepared = SlotSecrets::prepare(*task.launch.secrets,
                                       {.home = host_.secret_home,
                                        .name = fmt::format("slot-{}-{}", number_, task.number),
                                        .owner = user_});
  if (!prepared) return Fault{ENOTSUP, std::move(prepared.error()), Whose::kTask};
  task.secrets.emplace(*std::move(prepared));
  auto environment = task.secrets->take_environment();
  task.launch.env.reserve(task.launch.env.size() + environment.size());
  for (auto& [name, value] : environment) {
    task.launch.env.emplace_back(name, value);
    wipe(value);
  }
  return std::nullopt;
}

void Slot::wipe_secrets(std::size_t variables) {
  auto& env = task_->launch.env;
  for (std::size_t i = variables; i < env.size(); ++i) wipe(env[i].second);
  env.resize(variables);
  wipe(texts_.payload);
}

void Slot::end_secrets() {
  if (!task_->secrets) return;
  wipe(buffer_.data(), buffer_.size());  // output as it was before it was masked
  task_->secrets->remove_files(
      [this](Fd parent, std::string name) { host_.remove(std::move(parent), std::move(name)); });
}

std::optional<Slot::Fault> Slot::begin_process() {
  SlotTask& task = *task_;
  const StartParts parts{.argv = task.launch.argv,
                         .workdir = task.launch.workdir,
                         .inherited = host_.environment,
                         .env = task.launch.env,
                         .ours = files_->environment()};
  if (auto fine = write_texts(parts, texts_); !fine) {
    return Fault{EINVAL, std::move(fine.error()), Whose::kTask};
  }
  host_.notice_limits(group_.limit(task.launch.resources));
  if (task.launch.resources.memory_bytes > 0) {
    task.out_of_memory_before = group_.out_of_memory_count();
  }
  int write_end = -1;
  if (auto fault = open_output(write_end)) return fault;
  const Fd closed_here(write_end);
  set_fence_grace(task.launch.kill_grace);
  link_->start_task(task.launch.attempt, texts_, write_end);
  return std::nullopt;
}

// The first task of a slot, or the first after its runner was lost.
std::optional<Slot::Fault> Slot::begin_runner() {
  const ExecutorConfig& config = host_.config;
  if (!files_) {
    files_.emplace(SlotFiles::Config{.home = host_.home,
                                     .name = fmt::format("slot-{}", number_),
                                     .checkpoint_bytes_max = config.checkpoint_bytes_max,
                                     .outputs_bytes_max = config.outputs_bytes_max,
                                     .owner = config.confinement.user,
                                     .remove = [&host = host_](Fd parent, std::string name) {
                                       host.remove(std::move(parent), std::move(name));
                                     }});
    buffer_.resize(kReadBytes);
    if (config.containment == Containment::kAuto) {
      group_ =
          SlotGroup(host_.roots,
                    {.name = config.group, .slot = number_, .processes_max = config.processes_max});
    }
  }
  if (link_) return std::nullopt;
  const Instant before = boot_clock_now();
  auto link = RunnerLink::start(
      host_.io, config.runner,
      {.on_word = [this](Word word) { on_word(word); }, .on_lost = [this] { on_lost(); }});
  if (!link) {
    return Fault{link.error(),
                 fmt::format("cannot start a runner: {}", std::strerror(link.error()))};
  }
  link_ = std::move(*link);
  link_->join(group_.entrances());
  link_->confine(config.confinement);
  // A new runner begins with the rights of all tasks.
  rights_of_.clear();
  user_ = config.confinement.user;
  files_->set_owner(user_);
  if (config.root >= 0) link_->set_root(config.root);
  fence_grace_ = config.kill_grace;
  if (config.fence >= 0) link_->set_fence(config.fence, fence_grace_);
  if (host_.record.file() >= 0) link_->set_record(host_.record.file(), number_);
  host_.record.set({.slot = number_, .role = SlotRecord::Role::kRunner},
                   {.pid = link_->pid(), .from = before, .until = boot_clock_now()});
  return std::nullopt;
}

std::optional<Slot::Fault> Slot::open_output(int& write_end) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) {
    return Fault{errno,
                 fmt::format("cannot create a pipe for its output: {}", std::strerror(errno))};
  }
  // Only this end: a task does not expect that its output can be full.
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  // Whoever runs there may also open it anew, as /dev/stdout.
  if (user_) {
    [[maybe_unused]] const int done = ::fchown(pipe[1], user_->uid, user_->gid);
  }
  unheard_.reset(pipe[0]);
  task_->output_open = true;
  write_end = pipe[1];
  return std::nullopt;
}

void Slot::could_not_start(Fault fault) {
  boost::system::error_code ignored;
  output_.close(ignored);
  unheard_.reset();
  if (files_ && !files_->is_untouched()) files_->clean_up();
  end_secrets();
  const Attempt attempt = task_->launch.attempt;
  task_.reset();
  if (fault.whose == Whose::kWorker) host_.notice_fault(fault.text);
  host_.ended(*this,
              agent::ProcessCouldNotStart{attempt, fault.code, std::move(fault.text), fault.whose});
}

// The order to start it was taken from the socket only after the fence had passed.
void Slot::not_started_in_time() {
  unheard_.reset();
  if (!files_->is_untouched()) files_->clean_up();
  end_secrets();
  const Attempt attempt = task_->launch.attempt;
  task_.reset();
  host_.ended(*this, agent::ProcessExited{attempt, agent::Killed{agent::Killed::By::kFence}});
}

// The assignment's grace counts where it is the shorter one: the fence that the controller told
// relies on it.
void Slot::set_fence_grace(Duration wanted) {
  const ExecutorConfig& config = host_.config;
  const Duration own = config.kill_grace;
  const Duration grace = wanted > Duration{} ? std::min(wanted, own) : own;
  if (config.fence < 0 || grace == fence_grace_) return;
  fence_grace_ = grace;
  link_->set_fence(config.fence, grace);
}

void Slot::kill(Duration grace) {
  if (!task_ || task_->status) return;
  task_->kill_asked = true;
  // The runner lives in the same group and has to be quick now.
  group_.lift_cpu();
  if (!link_) return;
  // Never longer than the worker's own: its self-fence counts on that.
  const Duration wanted = task_->launch.kill_grace;
  if (wanted > Duration{}) grace = std::min(wanted, grace);
  link_->kill_task(grace);
  wake_runner();
  task_->kill_by = std::min(task_->kill_by, boot_clock_now() + grace + kRunnerLongest);
  watch_kill(grace);
}

void Slot::wake_runner() {
  if (link_ && link_->pid() > 0) ::kill(link_->pid(), SIGCONT);
}

// The grace is over: whoever stopped the runner does not keep its task alive.
void Slot::watch_kill(Duration wait) {
  timer_.expires_after(std::chrono::microseconds(wait.us));
  timer_.async_wait(
      [weak = weak_from_this(), number = task_->number](boost::system::error_code fault) {
        const auto self = weak.lock();
        if (fault || !self || !self->task_ || self->task_->number != number) return;
        if (self->task_->status || !self->link_) return;
        if (is_stopped(self->link_->pid()) || boot_clock_now() >= self->task_->kill_by) {
          return self->give_up_runner();
        }
        self->watch_kill(kRunnerEvery);
      });
}

void Slot::give_up_runner() {
  host_.config.notice(LogLevel::kWarn, fmt::format("the runner of {} does not respond; killing it",
                                                   to_text(task_->launch.attempt.task)));
  group_.kill_all();
  link_->kill_now();
  on_lost();
}

void Slot::hang_up() {
  wake_runner();  // or it would not see that we are gone
  if (link_) link_->hang_up();
  boost::system::error_code ignored;
  output_.close(ignored);
  unheard_.reset();
  timer_.cancel();
  if (task_) end_secrets();
  task_.reset();
}

void Slot::on_word(Word word) {
  if (!task_ || task_->status) return;
  switch (word.kind) {
    case WordKind::kStarted:
      task_->started = true;
      if (is_listening()) tell_start();
      return;
    case WordKind::kNotStarted: {
      if (word.ended_by == EndedBy::kFence) return not_started_in_time();
      const Launch& launch = task_->launch;
      std::string text = could_not_start_text({.step = word.step,
                                               .error = word.code,
                                               .program = launch.argv.front(),
                                               .workdir = launch.workdir});
      const bool ours = word.step == StartStep::kPrepare;
      return could_not_start({word.code, std::move(text), ours ? Whose::kWorker : Whose::kTask});
    }
    case WordKind::kGone:
      task_->started = true;
      task_->status = word.code;
      task_->ended_by = word.ended_by;
      return all_gone();
  }
}

// Whoever killed the runner, its task dies with it; the next task of the slot gets a new one.
void Slot::on_lost() {
  link_.reset();
  host_.record.clear({.slot = number_, .role = SlotRecord::Role::kRunner});
  if (!task_ || task_->status) return;
  task_->runner_lost = true;
  task_->started = true;  // for all we know
  tell_start();
  kill_adopted();
}

void Slot::kill_adopted() {
  group_.kill_all();
  const std::vector<pid_t> runners = host_.runner_pids();
  kill_and_reap_tree(runners);
  if (reap_children(runners) == 0) {
    // In place of the runner, which does so otherwise.
    host_.record.clear({.slot = number_, .role = SlotRecord::Role::kLeader});
    task_->status = kSigKill;
    return all_gone();
  }
  timer_.expires_after(std::chrono::microseconds(kAdoptedEvery.us));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code fault) {
    const auto self = weak.lock();
    if (self && !fault && self->task_) self->kill_adopted();
  });
}

void Slot::all_gone() {
  if (!task_->output_open) return finish_files();
  if (unheard_ && read_what_is_there()) return close_output();
  if (unheard_) attach_output();
  if (!task_->output_open) return finish_files();
  task_->gone_at = boot_clock_now();
  linger();
}

}  // namespace vortex::worker
