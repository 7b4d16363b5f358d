#include "cli/bench/child.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/client.h"

namespace vortex::cli::bench {
namespace {

constexpr Duration kLook = millis(5);

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::uint64_t kib_after(const std::string& text, std::string_view key) {
  const auto at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  ::bind(fd, reinterpret_cast<sockaddr*>(&at), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(fd);
  return ntohs(at.sin_port);
}

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vortex-XXXXXX").string();
  if (const char* made = ::mkdtemp(pattern.data())) path_ = made;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::expected<std::unique_ptr<Child>, std::string> Child::start(ChildConfig config,
                                                                Duration limit) {
  if (config.port == 0) config.port = free_port();
  if (config.program.empty()) {
    config.program = std::filesystem::read_symlink("/proc/self/exe").string();
  }
  std::unique_ptr<Child> child(new Child(std::move(config)));
  if (auto spawned = child->spawn(); !spawned) return std::unexpected(spawned.error());
  if (auto ready = child->wait_ready(limit); !ready) return std::unexpected(ready.error());
  return child;
}

Child::~Child() {
  if (pid_ > 0) kill_now();
}

std::expected<void, std::string> Child::spawn() {
  std::vector<std::string> arguments{config_.program, "controller", "--database.path=" + database(),
                                     fmt::format("--controller.listen=127.0.0.1:{}", config_.port)};
  arguments.insert(arguments.end(), config_.flags.begin(), config_.flags.end());
  std::vector<std::string> environment = config_.environment;
  for (char** at = ::environ; *at != nullptr; ++at) environment.emplace_back(*at);
  const std::string log = config_.folder + "/controller.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  const int error = ::posix_spawn(&pid_, config_.program.c_str(), &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return {};
  pid_ = -1;
  return std::unexpected(
      fmt::format("{} could not be started: {}", config_.program, std::strerror(error)));
}

std::expected<void, std::string> Child::wait_ready(Duration limit) {
  const Instant until = boot_clock_now() + limit;
  net::ClientConfig config;
  config.endpoint.port = config_.port;
  while (boot_clock_now() < until) {
    net::Call call;
    call.target = "/readyz";
    call.limit = seconds(2);
    const auto answer = net::send_and_wait(config, std::move(call));
    if (answer && answer->status == 200) return {};
    if (!is_alive()) {
      return std::unexpected("the controller ended:\n" +
                             read_file(config_.folder + "/controller.log"));
    }
    rest(kLook);
  }
  return std::unexpected(std::string("the controller was not ready in time"));
}

bool Child::is_alive() {
  if (pid_ <= 0) return false;
  if (::waitpid(pid_, &status_, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

int Child::reap() {
  while (pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

void Child::kill_now() {
  if (!is_alive()) return;
  ::kill(pid_, SIGKILL);
  reap();
}

int Child::stop() {
  if (is_alive()) {
    ::kill(pid_, SIGTERM);
    return reap();
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

ProcessUse Child::use() const {
  ProcessUse use;
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid_));
  const auto after_name = stat.rfind(')');
  if (after_name == std::string::npos) return use;
  std::istringstream fields(stat.substr(after_name + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  use.cpu_seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::string status = read_file(fmt::format("/proc/{}/status", pid_));
  use.resident_bytes = kib_after(status, "VmRSS:") * 1024;
  use.resident_bytes_max = kib_after(status, "VmHWM:") * 1024;
  return use;
}

}  // namespace vortex::cli::bench
