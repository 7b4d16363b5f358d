#include "worker/slot/confinement.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <net/if.h>
#include <pwd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/check.h"
#include "worker/own_folder.h"

namespace vortex::worker {
namespace {

constexpr mode_t kPassable = 0711;  // to be gone through, not to be looked into
constexpr const char* kShared[] = {"/tmp", "/var/tmp", "/dev/shm"};

std::optional<std::uint32_t> id_in(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

// A user as an operator wrote it, and the setting it is in.
struct WrittenUser {
  std::string_view setting;
  std::string text;
};

std::expected<TaskUser, std::string> find_user(const WrittenUser& written) {
  const std::string& text = written.text;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  TaskUser user;
  const auto id = id_in(name);
  const passwd* entry = id ? ::getpwuid(*id) : ::getpwnam(name.c_str());
  if (entry != nullptr) {
    user = {entry->pw_uid, entry->pw_gid, entry->pw_name, entry->pw_dir};
  } else if (id && colon != std::string::npos) {
    user = {*id, 0, name, "/"};
  } else {
    return std::unexpected(
        fmt::format("{}: {}: there is no user '{}' on this machine; create it, or write UID:GID",
                    written.setting, text, name));
  }
  if (colon == std::string::npos) return user;
  const std::string group = text.substr(colon + 1);
  const auto gid = id_in(group);
  const ::group* found = gid ? nullptr : ::getgrnam(group.c_str());
  if (!gid && found == nullptr) {
    return std::unexpected(fmt::format("{}: {}: there is no group '{}' on this machine",
                                       written.setting, text, group));
  }
  user.gid = gid ? *gid : found->gr_gid;
  return user;
}

// What `attempt` returns in a process of its own, which leaves no trace here.
template <class Attempt>
int in_a_child(Attempt attempt) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(attempt());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

// The first part of the path that this user cannot go through; empty: there is none.
std::string barrier(const std::string& path, const ConfineOrder& as) {
  std::vector<std::string> parts;
  for (std::size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    parts.push_back(path.substr(0, slash));
  }
  parts.push_back(path);
  constexpr std::size_t kPartsMax = 200;
  if (parts.size() > kPartsMax) parts.erase(parts.begin(), parts.end() - kPartsMax);
  const int found = in_a_child([&] {
    if (give_up_rights(as) != 0) return 255;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (::access(parts[i].c_str(), X_OK) != 0) return static_cast<int>(i) + 1;
    }
    return 0;
  });
  if (found == 0) return {};
  return found > static_cast<int>(parts.size()) ? path : parts[static_cast<std::size_t>(found - 1)];
}

std::expected<void, std::string> open_the_way(const WrittenUser& written, const std::string& path,
                                              const ConfineOrder& as) {
  const auto folder = open_own_folder(path);
  if (!folder) return std::unexpected("--work-dir: " + folder.error());
  if (::fchmod(folder->get(), kPassable) != 0) {
    return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  const std::string closed = barrier(path, as);
  if (closed.empty()) return {};
  return std::unexpected(
      fmt::format("{}: {}: this user cannot pass through {}, which leads to the files of its "
                  "tasks; run 'chmod o+x {}', or use another directory with --work-dir",
                  written.setting, written.text, closed, closed));
}

std::expected<void, std::string> check_namespaces(const Confinement& confinement) {
  if (!confinement.read_only_root && !confinement.no_network) return {};
  const int error = in_a_child(
      [&] { return enter_namespaces(order_of(confinement), confinement.writable.c_str()); });
  if (error == 0) return {};
  const char* key =
      confinement.read_only_root ? "worker.task_read_only_root" : "worker.task_network";
  return std::unexpected(fmt::format(
      "{}: the namespaces for tasks cannot be created here ({}); run the worker as root, with "
      "CAP_SYS_ADMIN if it is in a container, or remove the setting",
      key, std::strerror(error)));
}

// Finds the user and checks that this worker can become it.
std::expected<AllowedUser, std::string> usable(const WorkerSettings& settings,
                                               const WrittenUser& written) {
  auto user = find_user(written);
  if (!user) return std::unexpected(std::move(user.error()));
  AllowedUser out;
  out.as = written.text.substr(0, written.text.find(':'));
  out.is_own = user->uid == ::geteuid() && user->gid == ::getegid();
  if (!out.is_own && ::geteuid() != 0) {
    return std::unexpected(
        fmt::format("{}: {}: only root can run tasks as another user; start the "
                    "worker as root, or as {} without this setting",
                    written.setting, written.text, user->name));
  }
  if (settings.launcher == Launcher::kContainer && !settings.container_root.empty()) {
    user->home = "/";  // that of the machine is not in there
  }
  out.user = *std::move(user);
  return out;
}

std::expected<void, std::string> set_user(const WorkerSettings& settings, Confinement& out) {
  if (settings.task_user.empty()) return {};
  const WrittenUser written{"worker.task_user", settings.task_user};
  auto user = usable(settings, written);
  if (!user) return std::unexpected(std::move(user.error()));
  out.no_new_privileges = true;
  if (user->is_own) return {};
  out.user = std::move(user->user);
  return open_the_way(written, out.writable, order_of(out));
}

// Root has other names, and a list that was meant for one of them must not let tasks be root.
bool is_root_by_another_name(const AllowedUser& user) {
  return user.user.uid == 0 && user.as != "root" && user.as != "0";
}

std::expected<void, std::string> add_allowed(const WorkerSettings& settings, std::string text,
                                             Confinement& out) {
  const WrittenUser written{"worker.task_users_allowed", std::move(text)};
  auto user = usable(settings, written);
  if (!user) return std::unexpected(std::move(user.error()));
  if (const auto wrong = complain_of_name("user", user->as)) {
    return std::unexpected(fmt::format("{}: {}", written.setting, *wrong));
  }
  if (is_root_by_another_name(*user)) {
    return std::unexpected(
        fmt::format("{}: {}: this is another name of root; write root if tasks may run as root",
                    written.setting, written.text));
  }
  if (find_allowed(out, user->as) != nullptr) {
    return std::unexpected(fmt::format("{}: {} is listed twice", written.setting, user->as));
  }
  if (!user->is_own) {
    auto fine = open_the_way(written, out.writable, order_of(out, *user));
    if (!fine) return fine;
  }
  const auto at = std::ranges::lower_bound(out.allowed, user->as, {}, &AllowedUser::as);
  out.allowed.insert(at, *std::move(user));
  return {};
}

std::expected<void, std::string> set_allowed(const WorkerSettings& settings, Confinement& out) {
  const std::string_view list = settings.task_users_allowed;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string_view one = list.substr(at, comma - at);
    at = comma + 1;
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty()) {
      return std::unexpected(
          std::string("worker.task_users_allowed: a name between the commas is "
                      "empty; write for example build,deploy"));
    }
    if (auto fine = add_allowed(settings, std::string(one), out); !fine) return fine;
  }
  return {};
}

int bind_again(const char* path) { return ::mount(path, path, nullptr, MS_BIND | MS_REC, nullptr); }

int change_mount(const char* path, unsigned flags, std::uint64_t set, std::uint64_t clear) {
  mount_attr change{};
  change.attr_set = set;
  change.attr_clr = clear;
  return static_cast<int>(
      ::syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &change, sizeof(change)));
}

// Everything read-only but the files of tasks and what everybody may write to anyway.
int make_read_only(const char* writable) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  std::vector<const char*> open(std::begin(kShared), std::end(kShared));
  std::erase_if(open, [](const char* path) { return ::access(path, F_OK) != 0; });
  open.push_back(writable);
  for (const char* path : open) {
    if (bind_again(path) != 0) return errno;
  }
  if (change_mount("/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0) != 0) return errno;
  for (const char* path : open) {
    if (change_mount(path, 0, 0, MOUNT_ATTR_RDONLY) != 0) return errno;
  }
  return 0;
}

// A new network has a loopback that is down.
int raise_loopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return socket && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

[[gnu::no_sanitize_address]] int limit(__rlimit_resource what, rlim_t most) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return errno;
  if (now.rlim_max != RLIM_INFINITY && most > now.rlim_max) most = now.rlim_max;
  now.rlim_cur = most;
  now.rlim_max = most;
  return ::setrlimit(what, &now) == 0 ? 0 : errno;
}

}  // namespace

std::expected<Confinement, std::string> confinement_of(const WorkerSettings& settings,
                                                       const std::string& work_dir) {
  Confinement out;
  out.processes_max = settings.task_limit_processes;
  out.open_files_max = settings.task_limit_open_files;
  out.core_bytes_max = settings.task_limit_core_bytes;
  out.read_only_root = settings.task_read_only_root;
  out.no_network = settings.task_network == TaskNetwork::kNone;
  out.writable = work_dir;
  if (out.read_only_root && !settings.container_root.empty()) {
    return std::unexpected(std::string(
        "worker.task_read_only_root and worker.container_root cannot be combined; mount "
        "that directory read-only instead"));
  }
  if (auto fine = set_user(settings, out); !fine) return std::unexpected(std::move(fine.error()));
  if (auto fine = set_allowed(settings, out); !fine) {
    return std::unexpected(std::move(fine.error()));
  }
  if (out.read_only_root) {
    if (const auto folder = open_own_folder(work_dir); !folder) {
      return std::unexpected("--work-dir: " + folder.error());
    }
  }
  if (auto fine = check_namespaces(out); !fine) return std::unexpected(std::move(fine.error()));
  return out;
}

ConfineOrder order_of(const Confinement& confinement) {
  ConfineOrder order;
  if (confinement.user) {
    order.uid = confinement.user->uid;
    order.gid = confinement.user->gid;
    order.changes_user = 1;
    // Of the whole user; the worker's own has more to do than tasks.
    order.processes_max = confinement.processes_max;
  }
  order.no_new_privileges = confinement.no_new_privileges ? 1 : 0;
  order.open_files_max = confinement.open_files_max;
  order.core_bytes_max = confinement.core_bytes_max;
  order.read_only_root = confinement.read_only_root ? 1 : 0;
  order.no_network = confinement.no_network ? 1 : 0;
  return order;
}

ConfineOrder order_of(const Confinement& confinement, const AllowedUser& chosen) {
  Confinement as = confinement;
  as.no_new_privileges = true;
  as.user = chosen.is_own ? std::nullopt : std::optional(chosen.user);
  return order_of(as);
}

const AllowedUser* find_allowed(const Confinement& confinement, std::string_view user) {
  const auto at = std::ranges::lower_bound(confinement.allowed, user, {}, &AllowedUser::as);
  return at != confinement.allowed.end() && at->as == user ? &*at : nullptr;
}

int enter_namespaces(const ConfineOrder& order, const char* writable) {
  if (order.no_network != 0) {
    if (::unshare(CLONE_NEWNET) != 0) return errno;
    if (const int error = raise_loopback()) return error;
  }
  if (order.read_only_root != 0) {
    if (::unshare(CLONE_NEWNS) != 0) return errno;
    if (const int error = make_read_only(writable)) return error;
  }
  return 0;
}

// By system call: the library would have every thread of the parent follow, whose memory this is.
[[gnu::no_sanitize_address]] int give_up_rights(const ConfineOrder& order) {
  if (const int error = limit(RLIMIT_CORE, order.core_bytes_max)) return error;
  if (order.open_files_max > 0) {
    if (const int error = limit(RLIMIT_NOFILE, order.open_files_max)) return error;
  }
  if (order.processes_max > 0) {
    if (const int error = limit(RLIMIT_NPROC, order.processes_max)) return error;
  }
  if (order.changes_user != 0) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
    if (::syscall(SYS_setresgid, order.gid, order.gid, order.gid) != 0) return errno;
    if (::syscall(SYS_setresuid, order.uid, order.uid, order.uid) != 0) return errno;
  }
  if (order.no_new_privileges != 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return 0;
}

}  // namespace vortex::worker
