#include "worker/container.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/small_files.h"

namespace vortex::worker {
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
