#include "tests/cli/program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::cli::test {
namespace {

constexpr int kPatienceMs = 60'000;  // no test waits this long unless it fails

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The child's end of a pipe whose other end is kept, or of one that nobody reads.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  return ends;
}

// False: there is no more.
bool take(int& fd, std::string& text) {
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(fd, piece.data(), piece.size());
  if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  if (got > 0 || (got < 0 && errno == EINTR)) return true;
  ::close(fd);
  fd = -1;
  return false;
}

}  // namespace

Program::Program(const Setup& setup) {
  std::vector<std::string> arguments = setup.arguments;
  arguments.insert(arguments.begin(), VX_VORTEX_PROGRAM);
  std::vector<std::string> environment = setup.environment;
  const char* path = std::getenv("PATH");
  environment.push_back(std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path));
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> env = pointers(environment);
  std::array<int, 2> out = make_pipe();
  const std::array<int, 2> err = make_pipe();
  if (setup.out == Stdout::kFullDevice) {
    ::close(out[1]);
    out[1] = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  }
  if (setup.out == Stdout::kClosedPipe) ::close(out[0]);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    if (setup.out == Stdout::kClosed) ::close(1);
    if (::chdir(setup.folder.c_str()) == 0) ::execve(argv[0], argv.data(), env.data());
    ::_exit(126);
  }
  ::close(out[1]);
  ::close(err[1]);
  out_ = setup.out == Stdout::kClosedPipe ? -1 : out[0];
  err_ = err[0];
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Program::send(int signal) const { ::kill(pid_, signal); }

bool Program::read_more(const std::string& word) {
  while (out_ >= 0 || err_ >= 0) {
    if (!word.empty() && ended_.out.contains(word)) return true;
    std::array<pollfd, 2> ready{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    const int count = ::poll(ready.data(), ready.size(), kPatienceMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      ended_.err += "\n(killed by the test: it did not end)";
      ::kill(pid_, SIGKILL);
      return false;
    }
    if (ready[0].revents != 0) take(out_, ended_.out);
    if (ready[1].revents != 0) take(err_, ended_.err);
  }
  return !word.empty() && ended_.out.contains(word);
}

bool Program::wait_for_output(const std::string& word) { return read_more(word); }

Ended Program::wait() {
  read_more({});
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status)) ended_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended_.signal = WTERMSIG(status);
  return ended_;
}

Ended run_program(std::vector<std::string> arguments, const std::string& folder, Stdout out) {
  return Program({std::move(arguments), folder, out, {}}).wait();
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vortex-cli-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::file(const std::string& name, const std::string& text) const {
  std::string path = path_ + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
  return path;
}

}  // namespace vortex::cli::test
