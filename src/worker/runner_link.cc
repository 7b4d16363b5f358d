#include "worker/runner_link.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace vortex::worker
