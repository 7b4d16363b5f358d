#include "vault/key_source.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace vortex::vault {
namespace {

constexpr std::size_t kKeyBytesMax = 4096;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string no_key_in(std::string_view where) {
  return fmt::format(
      "{} does not contain a master key: one looks like vxkey_ and 43 characters; `vortex secrets "
      "init` makes one",
      where);
}

std::expected<KeyPtr, std::string> parse_key(std::string_view text, std::string_view where) {
  auto key = MasterKey::parse(text);
  if (!key) return std::unexpected(no_key_in(where));
  return std::make_shared<const MasterKey>(*std::move(key));
}

// What stands against using this file; empty: nothing.
std::string objection(const std::string& path, const struct stat& about) {
  if (!S_ISREG(about.st_mode)) return fmt::format("{} is not a regular file", path);
  if (about.st_uid != ::geteuid() && about.st_uid != 0) {
    return fmt::format(
        "{} belongs to another user: the master key file must belong to the user "
        "that runs the controller, or to root",
        path);
  }
  if ((about.st_mode & 077U) != 0) {
    return fmt::format("{} has mode {:04o}, so others can read it: run `chmod 600 {}`", path,
                       about.st_mode & 07777U, path);
  }
  return {};
}

// All that comes up to the limit. False: there is no end in sight, or it cannot be read.
bool read_up_to(int fd, SecretText& into, std::size_t& size) {
  while (size < into.size()) {
    const ssize_t got = ::read(fd, into.data() + size, into.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    size += static_cast<std::size_t>(got);
  }
  return false;
}

SecretText cut(const SecretText& text, std::size_t size) {
  return SecretText(text.view().substr(0, size));
}

}  // namespace

std::expected<KeyPtr, std::string> read_key_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    return std::unexpected(
        fmt::format("cannot read the master key file {}: {}", path, std::strerror(errno)));
  }
  if (std::string wrong = objection(path, about); !wrong.empty()) {
    return std::unexpected(std::move(wrong));
  }
  SecretText text(kKeyBytesMax);
  std::size_t size = 0;
  if (!read_up_to(file.get(), text, size)) return std::unexpected(no_key_in(path));
  return parse_key(text.view().substr(0, size), path);
}

std::expected<KeyPtr, std::string> make_key_file(const std::string& path) {
  auto key = std::make_shared<const MasterKey>(MasterKey::make());
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor file(::open(path.c_str(), flags, 0600));
  if (file.get() < 0 && errno == EEXIST) {
    return std::unexpected(
        fmt::format("{} already exists, and overwriting a master key would lose every secret "
                    "sealed with it: choose another file",
                    path));
  }
  if (file.get() < 0) {
    return std::unexpected(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  }
  SecretText line(key->text().size() + 1);
  std::memcpy(line.data(), key->text().view().data(), line.size() - 1);
  line.data()[line.size() - 1] = '\n';
  const bool written =
      ::fchmod(file.get(), 0600) == 0 &&
      ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      ::fsync(file.get()) == 0;
  if (written) return key;
  const int error = errno;
  ::unlink(path.c_str());
  return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

namespace {

// 0 and the process, or an errno. Its output is the pipe; it leads a group of its own.
int spawn_shell(const std::string& command, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh";
  std::string option = "-c";
  std::string script = command;
  char* argv[] = {shell.data(), option.data(), script.data(), nullptr};
  const int error = ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, ::environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

enum class ReadEnd : std::uint8_t { kWhole, kTooLong, kTooSlow };

ReadEnd read_within(int fd, Instant until, SecretText& into, std::size_t& size) {
  for (;;) {
    const Duration left = until - boot_clock_now();
    if (left <= Duration{}) return ReadEnd::kTooSlow;
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(left.us / 1000 + 1));
    if (ready < 0 && errno != EINTR) return ReadEnd::kTooLong;
    if (ready <= 0) continue;
    if (size == into.size()) return ReadEnd::kTooLong;
    const ssize_t got = ::read(fd, into.data() + size, into.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ReadEnd::kWhole;
    size += static_cast<std::size_t>(got);
  }
}

// It closed its output, so it is about to end; if not, it is killed.
int reap_within(pid_t pid, Instant until) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (boot_clock_now() >= until) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    ::poll(nullptr, 0, 5);
  }
  return status;
}

}  // namespace

std::expected<SecretText, std::string> run_key_command(const std::string& command, Duration limit) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return std::unexpected(std::string(std::strerror(errno)));
  const Descriptor ours(pipe[0]);
  pid_t pid = -1;
  {
    const Descriptor theirs(pipe[1]);
    if (const int error = spawn_shell(command, theirs.get(), pid)) {
      return std::unexpected(
          fmt::format("cannot run secrets.master_key_command: {}", std::strerror(error)));
    }
  }
  const Instant until = boot_clock_now() + limit;
  SecretText text(kKeyBytesMax);
  std::size_t size = 0;
  const ReadEnd end = read_within(ours.get(), until, text, size);
  if (end != ReadEnd::kWhole) ::kill(-pid, SIGKILL);
  const int status = reap_within(pid, until);
  if (end == ReadEnd::kTooSlow) {
    return std::unexpected(fmt::format(
        "secrets.master_key_command did not print the key within {} s: check what it waits for",
        limit.us / 1'000'000));
  }
  if (end == ReadEnd::kTooLong) {
    return std::unexpected(fmt::format(
        "secrets.master_key_command printed more than {} bytes: it must print the key alone",
        kKeyBytesMax));
  }
  if (status != 0) {
    return std::unexpected(
        fmt::format("secrets.master_key_command failed ({}): run it by hand to see why",
                    WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                      : fmt::format("signal {}", WTERMSIG(status))));
  }
  return cut(text, size);
}

void forget_key_variable() {
  if (char* value = std::getenv(kKeyVariable)) wipe(value, std::strlen(value));
  ::unsetenv(kKeyVariable);
}

std::expected<KeyPtr, std::string> KeySource::read_current(std::string& from) {
  if (!settings_.master_key_file.empty()) {
    from = settings_.master_key_file;
    return read_key_file(settings_.master_key_file);
  }
  if (!settings_.master_key_command.empty()) {
    from = "secrets.master_key_command";
    const auto text =
        run_key_command(settings_.master_key_command, settings_.master_key_command_timeout);
    if (!text) return std::unexpected(text.error());
    return parse_key(text->view(), "the output of secrets.master_key_command");
  }
  if (char* value = std::getenv(kKeyVariable)) {
    auto key = parse_key(value, kKeyVariable);
    forget_key_variable();
    if (!key) return key;
    of_environment_ = *key;
  }
  if (of_environment_) {
    from = kKeyVariable;
    return of_environment_;
  }
  if (const char* folder = std::getenv("CREDENTIALS_DIRECTORY")) {
    const std::string path = fmt::format("{}/{}", folder, kCredentialName);
    if (::access(path.c_str(), F_OK) == 0) {
      from = path;
      return read_key_file(path);
    }
  }
  return nullptr;
}

std::expected<Keys, std::string> KeySource::read() {
  Keys keys;
  auto current = read_current(keys.from);
  if (!current) return std::unexpected(std::move(current.error()));
  keys.current = *std::move(current);
  if (settings_.previous_master_key_file.empty()) return keys;
  if (!keys.current) {
    return std::unexpected(std::string(
        "secrets.previous_master_key_file is set, but there is no current master key: set "
        "secrets.master_key_file as well"));
  }
  auto previous = read_key_file(settings_.previous_master_key_file);
  if (!previous) return std::unexpected(std::move(previous.error()));
  keys.previous = *std::move(previous);
  return keys;
}

}  // namespace vortex::vault
