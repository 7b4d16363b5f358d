#include "worker/spawn_worker.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::worker {

namespace {

std::vector<std::string> arguments_of(const SpawnRequest& request, int news_fd) {
  std::vector<std::string> all{request.program};
  all.insert(all.end(), request.arguments.begin(), request.arguments.end());
  all.insert(all.end(), {"--process", request.id.text, "--incarnation",
                         std::to_string(request.incarnation.value), "--record", request.record_path,
                         "--supervisor", request.supervisor, "--machine", request.machine,
                         "--news-fd", std::to_string(news_fd)});
  return all;
}

constexpr unsigned long kSpaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

// Who it is in a user namespace of its own: the same. Made before the process is.
struct UserMaps {
  UserMaps()
      : users(fmt::format("{0} {0} 1", ::geteuid())),
        groups(fmt::format("{0} {0} 1", ::getegid())) {}
  std::string users;
  std::string groups;
};

// From here to become_worker: between fork and exec, only what a signal handler might do as well.

bool write_whole(const char* path, const char* text, std::size_t bytes) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  return file >= 0 && ::write(file, text, bytes) == static_cast<ssize_t>(bytes) &&
         ::close(file) == 0;
}

// A user other than root has no rights left after an exec, not even over what is its own: those
// that container.h needs are kept.
bool keep_rights() {
  constexpr unsigned kNeeded = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT;
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &head, rights) != 0) return false;
  rights[0].inheritable |= kNeeded;
  return ::syscall(SYS_capset, &head, rights) == 0 &&
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0 &&
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_CHROOT, 0, 0) == 0;
}

bool stay_the_same_user(const UserMaps& maps) {
  constexpr char kDeny[] = "deny";
  return write_whole("/proc/self/setgroups", kDeny, sizeof(kDeny) - 1) &&
         write_whole("/proc/self/uid_map", maps.users.data(), maps.users.size()) &&
         write_whole("/proc/self/gid_map", maps.groups.data(), maps.groups.size()) && keep_rights();
}

[[noreturn]] void become_worker(char** argv, int news_fd, const WorkerGroup& group) {
  ::setpgid(0, 0);
  group.enter();
  sigset_t mask;
  sigemptyset(&mask);
  // The first process of a container loses a signal that it neither blocks nor handles, and would
  // never know that it was asked to leave while it was being loaded.
  if (::getpid() == 1) sigaddset(&mask, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::fcntl(news_fd, F_SETFD, 0);
  ::execv(argv[0], argv);
  ::_exit(kCouldNotExec);
}

// As fork, but without what the library does around it.
pid_t clone_process(unsigned long spaces) {
  return static_cast<pid_t>(::syscall(SYS_clone, spaces | SIGCHLD, 0, 0, 0, 0));
}

// The first process of a container; 0: this is it. The maps are the caller's: to free them is
// nothing for the new process.
pid_t clone_contained(const UserMaps& maps) {
  constexpr char kComplaint[] = "cannot set up a user namespace for the container\n";
  bool as_user = false;
  pid_t pid = clone_process(kSpaces);
  if (pid < 0 && errno == EPERM) {
    as_user = true;
    pid = clone_process(kSpaces | CLONE_NEWUSER);
  }
  if (pid != 0) return pid;
  // Nothing has been set up yet that could leave in good order.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (as_user && !stay_the_same_user(maps)) {
    static_cast<void>(!::write(STDERR_FILENO, kComplaint, sizeof(kComplaint) - 1));
    ::_exit(kCouldNotExec);
  }
  return 0;
}

// The kernel's word for "not so many namespaces" is that of a full disk.
std::string no_container(int error) {
  return fmt::format(
      "cannot create a container for a worker: {}",
      error == ENOSPC ? "the maximum number of namespaces has been reached" : std::strerror(error));
}

std::string could_not_start(Launcher launcher) {
  if (launcher == Launcher::kContainer) {
    return fmt::format("{}; {}", no_container(errno), kContainerHelp);
  }
  return fmt::format("cannot create a worker process: {}", std::strerror(errno));
}

}  // namespace

std::expected<WorkerChild, std::string> spawn_worker(const SpawnRequest& request,
                                                     const WorkerGroup& group) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(
        fmt::format("cannot create a pipe to a worker process: {}", std::strerror(errno)));
  }
  WorkerChild child;
  child.news = Fd(ends[0]);
  const Fd told(ends[1]);
  ::fcntl(child.news.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = arguments_of(request, told.get());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const UserMaps maps;
  child.pid = request.launcher == Launcher::kContainer ? clone_contained(maps) : ::fork();
  if (child.pid == 0) become_worker(argv.data(), told.get(), group);
  if (child.pid < 0) return std::unexpected(could_not_start(request.launcher));
  return child;
}

std::string why_no_container() {
  const UserMaps maps;
  const pid_t pid = clone_contained(maps);
  if (pid == 0) ::_exit(0);
  if (pid < 0) return no_container(errno);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? std::string() : "cannot create a container for a worker: see above";
}

}  // namespace vortex::worker
