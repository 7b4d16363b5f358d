#include "cli/local/process.h"

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

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace vortex::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> with_our_own(std::vector<std::string> variables) {
  for (char** at = ::environ; *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

}  // namespace

ExecTexts::ExecTexts(std::vector<std::string> arguments, std::vector<std::string> environment)
    : arguments_(std::move(arguments)),
      variables_(with_our_own(std::move(environment))),
      argv_(pointers(arguments_)),
      environment_(pointers(variables_)) {}

void begin_child() {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vortex::cli

namespace vortex::cli::local {
namespace {

constexpr Duration kProcessLook = millis(5);
constexpr int kCouldNotExec = 127;

struct Prepared {
  ExecTexts& texts;
  const char* log;
  const char* workdir;
  pid_t parent;
};

// Between fork and exec: only what a signal handler might do as well.
[[noreturn]] void become(const Prepared& prepared) {
  begin_child();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != prepared.parent) ::_exit(kCouldNotExec);
  const int log = ::open(prepared.log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  if (prepared.workdir[0] != '\0' && ::chdir(prepared.workdir) != 0) ::_exit(kCouldNotExec);
  ::execve(prepared.texts.argv()[0], prepared.texts.argv(), prepared.texts.environment());
  ::_exit(kCouldNotExec);
}

std::string read_proc(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t kib_after(const std::string& text, std::string_view key) {
  const auto at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

}  // namespace

std::string own_program() {
  std::error_code fault;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", fault);
  return fault ? std::string("vortex") : path.string();
}

std::expected<std::unique_ptr<Process>, std::string> Process::spawn(const ProcessConfig& config) {
  ExecTexts texts(config.argv, config.environment);
  const Prepared prepared{texts, config.log.c_str(), config.workdir.c_str(), ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) become(prepared);
  if (pid > 0) return std::unique_ptr<Process>(new Process(pid));
  return std::unexpected(
      fmt::format("{} could not be started: {}", config.argv[0], std::strerror(errno)));
}

Process::~Process() { kill_now(); }

// True: it has ended, now or before.
bool Process::reap(int flags) {
  if (pid_ <= 0) return true;
  pid_t got = 0;
  while ((got = ::waitpid(pid_, &status_, flags)) < 0 && errno == EINTR) {
  }
  if (got == 0) return false;
  pid_ = -1;
  return true;
}

bool Process::is_alive() { return !reap(WNOHANG); }

void Process::signal(int number) {
  if (is_alive()) ::kill(pid_, number);
}

void Process::kill_now() {
  signal(SIGKILL);
  reap(0);
}

int Process::stop(Duration limit) {
  signal(SIGTERM);
  return wait(limit);
}

int Process::wait(Duration limit) {
  const Instant until = boot_clock_now() + limit;
  while (is_alive() && boot_clock_now() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(kProcessLook.us));
  }
  kill_now();
  return exit_code();
}

int Process::exit_code() const { return exit_code_of(status_); }

ProcessUse use_of(pid_t pid) {
  ProcessUse use;
  const std::string stat = read_proc(fmt::format("/proc/{}/stat", pid));
  const auto after_name = stat.rfind(')');
  if (after_name == std::string::npos) return use;
  std::istringstream fields(stat.substr(after_name + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  use.cpu_seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::string status = read_proc(fmt::format("/proc/{}/status", pid));
  use.resident_bytes = kib_after(status, "VmRSS:") * 1024;
  use.resident_bytes_max = kib_after(status, "VmHWM:") * 1024;
  return use;
}

}  // namespace vortex::cli::local
