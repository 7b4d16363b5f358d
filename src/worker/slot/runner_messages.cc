#include "worker/slot/runner_messages.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::worker {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kOrderFdsMax);

}  // namespace

std::expected<Fence, int> Fence::create() {
  Fd file(::memfd_create("vortex-fence", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), sizeof(std::int64_t)) != 0) return std::unexpected(errno);
  Fence fence = open(std::move(file));
  if (fence.until_us_ == nullptr) return std::unexpected(errno);
  return fence;
}

Fence Fence::open(Fd file) {
  Fence fence;
  fence.without_ = Instant{};
  void* mapped =
      ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return fence;
  fence.until_us_ = static_cast<std::int64_t*>(mapped);
  fence.file_ = std::move(file);
  return fence;
}

Fence::~Fence() {
  if (until_us_ != nullptr) ::munmap(until_us_, sizeof(std::int64_t));
}

Fence::Fence(Fence&& other) noexcept
    : file_(std::move(other.file_)),
      until_us_(std::exchange(other.until_us_, nullptr)),
      without_(other.without_) {}

Fence& Fence::operator=(Fence&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(until_us_, other.until_us_);
  std::swap(without_, other.without_);
  return *this;
}

void Fence::move_to(Instant until) {
  if (until_us_ != nullptr) {
    std::atomic_ref(*until_us_).store(until.us, std::memory_order_release);
  }
}

Instant Fence::until() const {
  if (until_us_ == nullptr) return without_;
  return {std::atomic_ref(*until_us_).load(std::memory_order_acquire)};
}

bool send_packet(int socket, std::span<iovec> parts, std::span<const int> fds) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) std::byte control[kControlBytes] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool receive_packet(int socket, std::span<std::byte> into, Packet& packet) {
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  alignas(cmsghdr) std::byte control[kControlBytes];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  // The worker died with something of ours unread: the same as an end.
  if (got < 0 && errno == ECONNRESET) got = 0;
  if (got < 0) return false;
  packet.bytes = static_cast<std::size_t>(got);
  packet.fd_count = 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && packet.fd_count < kOrderFdsMax; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
      packet.fds[packet.fd_count++].reset(fd);
    }
  }
  return (message.msg_flags & MSG_TRUNC) == 0;
}

namespace {

constexpr std::size_t kQuotedMax = 200;

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kQuotedMax;
  return fmt::format("'{}{}'", text.substr(0, kQuotedMax), cut ? "..." : "");
}

std::string system_text(int error) { return std::strerror(error); }

std::string workdir_text(const StartFault& fault) {
  switch (fault.error) {
    case ENOENT:
      return fmt::format("no such working directory: {}", quoted(fault.workdir));
    case ENOTDIR:
      return fmt::format("the working directory {} is not a directory", quoted(fault.workdir));
    case EACCES:
      return fmt::format("no permission to enter the working directory {}", quoted(fault.workdir));
    default:
      return fmt::format("cannot enter the working directory {}: {}", quoted(fault.workdir),
                         system_text(fault.error));
  }
}

std::string program_text(const StartFault& fault) {
  const std::string program = quoted(fault.program);
  switch (fault.error) {
    case ENOENT:
      if (fault.program.empty()) return "the command has no program";
      if (!fault.program.contains('/')) {
        return fmt::format("program {} not found in PATH", program);
      }
      return fmt::format("program {} or its interpreter not found", program);
    case EACCES:
      return fmt::format("program {} is not executable", program);
    case ENOEXEC:
      return fmt::format("{} is not a program: it is not a binary and has no #! line", program);
    case E2BIG:
      return fmt::format("the arguments and environment of {} are too long", program);
    default:
      return fmt::format("cannot start program {}: {}", program, system_text(fault.error));
  }
}

}  // namespace

std::string could_not_start_text(const StartFault& fault) {
  switch (fault.step) {
    case StartStep::kWorkdir:
      return workdir_text(fault);
    case StartStep::kProgram:
      return program_text(fault);
    case StartStep::kPrepare:
      break;
  }
  return fmt::format("cannot create a process for program {}: {}", quoted(fault.program),
                     system_text(fault.error));
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("killed by signal {}", signal)
                         : fmt::format("killed by signal {} ({})", signal, name);
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kUnit = 1024;
  constexpr const char* kNames[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kNames) && bytes >= kUnit && bytes % kUnit == 0) {
    bytes /= kUnit;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kNames[unit]);
}

Failed failure_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return {Failed::Cause::kSignal, signal, signal_text(signal)};
  }
  const int code = WEXITSTATUS(wait_status);
  return {Failed::Cause::kExitCode, code, fmt::format("exit code {}", code)};
}

Failed out_of_memory(int wait_status, std::int64_t limit_bytes) {
  const int code = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return {Failed::Cause::kOutOfMemory, code,
          fmt::format("out of memory: the limit was {}", size_text(limit_bytes))};
}

}  // namespace vortex::worker
