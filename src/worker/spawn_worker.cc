#include "worker/spawn_worker.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace vortex::worker {

namespace {

constexpr int kCouldNotExec = 127;

std::vector<std::string> arguments_of(const SpawnRequest& request, int news_fd) {
  std::vector<std::string> all{request.program};
  all.insert(all.end(), request.arguments.begin(), request.arguments.end());
  all.insert(all.end(), {"--process", request.id.text, "--incarnation",
                         std::to_string(request.incarnation.value), "--record", request.record_path,
                         "--supervisor", request.supervisor, "--news-fd", std::to_string(news_fd)});
  return all;
}

// Between fork and exec: only what a signal handler might do as well.
[[noreturn]] void become_worker(char** argv, int news_fd, const WorkerGroup& group) {
  ::setpgid(0, 0);
  group.enter();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::fcntl(news_fd, F_SETFD, 0);
  ::execv(argv[0], argv);
  ::_exit(kCouldNotExec);
}

}  // namespace

std::expected<WorkerChild, std::string> spawn_worker(const SpawnRequest& request,
                                                     const WorkerGroup& group) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(fmt::format("no pipe to a worker process: {}", std::strerror(errno)));
  }
  WorkerChild child;
  child.news = Fd(ends[0]);
  const Fd told(ends[1]);
  ::fcntl(child.news.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = arguments_of(request, told.get());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  child.pid = ::fork();
  if (child.pid == 0) become_worker(argv.data(), told.get(), group);
  if (child.pid < 0) {
    return std::unexpected(fmt::format("no process for a worker: {}", std::strerror(errno)));
  }
  return child;
}

}  // namespace vortex::worker
