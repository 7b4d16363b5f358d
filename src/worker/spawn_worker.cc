#include "worker/spawn_worker.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/files.h"

namespace vortex::worker {
namespace {

std::vector<std::string> arguments_of(const SpawnRequest& request, int news_fd) {
  std::vector<std::string> all{request.program};
  all.insert(all.end(), request.arguments.begin(), request.arguments.end());
  all.insert(all.end(), {"--process", request.id.text, "--incarnation",
                         std::to_string(request.incarnation.value), "--record", request.record_path,
                         "--supervisor", request.supervisor, "--life", request.life, "--machine",
                         request.machine, "--news-fd", std::to_string(news_fd)});
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
// that spawn_worker.h needs are kept.
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

namespace {

constexpr std::size_t kHostNameMax = 63;
constexpr const char* kProc = "/proc";
constexpr const char* kNames = "/etc/resolv.conf";
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr unsigned long kBind = MS_BIND | MS_REC;

using Done = std::expected<void, std::string>;

std::unexpected<std::string> fault(const std::string& what, std::string_view help = {}) {
  const char* why = std::strerror(errno);
  return std::unexpected(fmt::format("{}: {}{}{}", what, why, help.empty() ? "" : "; ", help));
}

bool mount_on(const std::string& point, const std::string& what, unsigned long flags) {
  return ::mount(what.c_str(), point.c_str(), nullptr, flags, nullptr) == 0;
}

bool make_private(const std::string& point, unsigned long flags = 0) {
  return ::mount(nullptr, point.c_str(), nullptr, MS_PRIVATE | flags, nullptr) == 0;
}

Done make_all_private() {
  if (make_private("/", MS_REC)) return {};
  // In a chroot the root is no mount point: what can be named is made private one by one. Of these
  // only /proc has to be.
  for (const std::string& point : mount_points(read_text_file("/proc/self/mountinfo"))) {
    static_cast<void>(make_private(point));
  }
  if (make_private(kProc)) return {};
  return fault("cannot create mounts for the container",
               "/proc must be mounted here; `--launcher subprocess` needs no container");
}

// The root lies below the new /proc, where no path leads to it: it is used by its descriptor.
std::expected<Fd, std::string> attach_root(const std::string& root) {
  if (!mount_on(kProc, root, kBind)) return fault("the container's root " + root);
  static_cast<void>(make_private(kProc, MS_REC));
  Fd folder(::open(kProc, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fault("the container's root " + root);
  return folder;
}

Done mount_proc() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (::mount("proc", kProc, "proc", kFlags, nullptr) == 0) return {};
  return fault("cannot mount /proc in the container",
               "run the supervisor as root, or where nothing is mounted over parts of /proc; "
               "`--launcher subprocess` needs no container");
}

// As openat, but no link leads out of the root.
Fd open_in(const Fd& root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? kFileMode : 0;
  how.resolve = RESOLVE_IN_ROOT;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

// The folder at this path in the root; made, with those above it, when it is not there.
Fd folder_in(const Fd& root, const std::filesystem::path& path) {
  Fd at = open_in(root, "/", O_PATH | O_DIRECTORY);
  std::filesystem::path so_far = "/";
  for (const auto& name : path.relative_path()) {
    so_far /= name;
    Fd next = open_in(root, so_far, O_PATH | O_DIRECTORY);
    if (!next && errno == ENOENT && ::mkdirat(at.get(), name.c_str(), kFolderMode) == 0) {
      next = open_in(root, so_far, O_PATH | O_DIRECTORY);
    }
    if (!next) return next;
    at = std::move(next);
  }
  return at;
}

std::string path_of(const Fd& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

// Names are resolved as on the machine, unless the image has its own way. Without, names do not
// resolve, which is no reason not to run.
void lend_resolver(const Fd& root) {
  struct stat there{};
  const Fd seen = open_in(root, kNames, O_PATH | O_NOFOLLOW);
  if (seen && ::fstat(seen.get(), &there) == 0 && (!S_ISREG(there.st_mode) || there.st_size > 0)) {
    return;
  }
  if (::access(kNames, R_OK) != 0 || !folder_in(root, "/etc")) return;
  const Fd file = open_in(root, kNames, O_WRONLY | O_CREAT);
  if (file) static_cast<void>(mount_on(path_of(file), kNames, MS_BIND));
}

Done furnish(const Fd& root, const ContainerPlan& plan) {
  for (const std::string& folder :
       {std::string(kProc), std::string("/dev"), std::string("/sys"), plan.work_dir}) {
    const Fd point = folder_in(root, folder);
    if (!point || !mount_on(path_of(point), folder, kBind)) {
      return fault(fmt::format("cannot mount {} in the container's root {}", folder, plan.root),
                   fmt::format("check that the directory {}{} exists", plan.root, folder));
    }
  }
  lend_resolver(root);
  return {};
}

// Of the rights that were kept over the start (spawn_worker.cc) only what tasks are put into their
// root with is still needed.
void give_up_rights(const Fd& root) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_SYS_ADMIN, 0, 0);
  if (!root) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_SYS_CHROOT, 0, 0);
}

}  // namespace

std::expected<Fd, std::string> enter_container(const ContainerPlan& plan) {
  // All this in the namespaces of the machine would take its /proc away.
  if (::getpid() != 1) return std::unexpected("only the first process can enter the container");
  std::error_code trouble;
  std::filesystem::create_directories(plan.work_dir, trouble);
  if (trouble) return std::unexpected(plan.work_dir + ": " + trouble.message());
  if (auto done = make_all_private(); !done) return std::unexpected(std::move(done.error()));
  Fd root;
  if (!plan.root.empty()) {
    auto attached = attach_root(plan.root);
    if (!attached) return attached;
    root = *std::move(attached);
  }
  if (auto done = mount_proc(); !done) return std::unexpected(std::move(done.error()));
  if (root) {
    if (auto done = furnish(root, plan); !done) return std::unexpected(std::move(done.error()));
  }
  const std::string name = container_host_name(plan.worker);
  if (::sethostname(name.data(), name.size()) != 0) return fault("the host name " + name);
  give_up_rights(root);
  return root;
}

std::string container_host_name(std::string_view worker) {
  return std::string(worker.substr(0, kHostNameMax));
}

std::vector<std::string> mount_points(std::string_view mounts) {
  std::vector<std::string> points;
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string raw;
    if (!(fields >> skipped >> skipped >> skipped >> skipped >> raw)) continue;
    std::string& point = points.emplace_back();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      // Blanks are written as \040.
      const bool escaped = raw[i] == '\\' && i + 3 < raw.size();
      point += escaped ? static_cast<char>(std::stoi(raw.substr(i + 1, 3), nullptr, 8)) : raw[i];
      if (escaped) i += 3;
    }
  }
  return points;
}

}  // namespace vortex::worker
