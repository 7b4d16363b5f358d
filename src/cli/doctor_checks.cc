#include "cli/doctor_checks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/human.h"
#include "worker/cgroup.h"
#include "worker/spawn_worker.h"

namespace vortex::cli {
namespace {

namespace fs = std::filesystem;
using Mark = Check::Mark;

constexpr std::uint64_t kFilesMin = 4'096;
constexpr std::uint64_t kProcessesMin = 1'024;
constexpr std::uint64_t kSpaceWarn = 1ULL << 30U;
constexpr std::uint64_t kSpaceFail = 64ULL << 20U;

std::string limit_text(rlim_t value) {
  return value == RLIM_INFINITY ? std::string("no limit") : fmt::format("{}", value);
}

bool may_write(const fs::path& path) { return ::access(path.c_str(), W_OK) == 0; }

std::optional<std::uint64_t> free_bytes(const fs::path& folder) {
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) return std::nullopt;
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

Check check_space(const fs::path& folder) {
  const auto bytes = free_bytes(folder);
  Check check{"database space", Mark::kOk, "", ""};
  if (!bytes) return {"database space", Mark::kWarn, "cannot be determined", ""};
  check.found = fmt::format("{} free in {}", human_bytes(*bytes), folder.string());
  if (*bytes < kSpaceWarn) {
    check.mark = *bytes < kSpaceFail ? Mark::kFail : Mark::kWarn;
    check.fix = "free some space, or move the database with --database.path";
  }
  return check;
}

// Who holds the lock, asked of the kernel: trying it could get in the way of a controller.
std::string lock_holder(const fs::path& lock) {
  struct stat info{};
  if (::stat(lock.c_str(), &info) != 0) return {};
  const std::string inode = fmt::format(":{}", info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") == std::string::npos) continue;
    const auto at = line.find(inode + " ");
    if (at == std::string::npos) continue;
    // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
    const auto end = line.rfind(' ', at);
    const auto begin = line.rfind(' ', end - 1);
    return line.substr(begin + 1, end - begin - 1);
  }
  return {};
}

Check check_lock(const std::string& database) {
  const fs::path lock = database + ".lock";
  std::error_code ec;
  const std::string holder = lock_holder(lock);
  if (!holder.empty()) {
    return {"database lock", Mark::kOk, fmt::format("held by process {}", holder), ""};
  }
  const bool there = fs::exists(lock, ec);
  return {"database lock", Mark::kOk, there ? "free (the leftover file is harmless)" : "free", ""};
}

bool may_hold_groups(const fs::path& group) {
  return !group.empty() && may_write(group) && may_write(group / "cgroup.procs");
}

// By version 2 of control groups, where it passes the controller on, or by version 1.
bool may_limit(const char* controller, const std::string& unified, const std::string& one) {
  std::ifstream file(fs::path(unified) / "cgroup.controllers");
  for (std::string word; file >> word;) {
    if (word == controller) return may_hold_groups(unified);
  }
  return may_hold_groups(one);
}

}  // namespace

std::string_view to_text(Check::Mark mark) {
  switch (mark) {
    case Mark::kOk:
      return "ok";
    case Mark::kWarn:
      return "warn";
    case Mark::kFail:
      return "fail";
  }
  return "fail";
}

Check check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Check check{
      "open files", Mark::kOk,
      fmt::format("{} (hard limit {})", limit_text(limit.rlim_cur), limit_text(limit.rlim_max)),
      ""};
  if (limit.rlim_cur < kFilesMin) {
    check.mark = Mark::kWarn;
    check.fix =
        "run `ulimit -n 65536`, or set LimitNOFILE=65536 in the service: each worker uses a "
        "connection";
  }
  return check;
}

Check check_processes() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  Check check{"processes", Mark::kOk, limit_text(limit.rlim_cur), ""};
  if (limit.rlim_cur < kProcessesMin) {
    check.mark = Mark::kWarn;
    check.fix = "run `ulimit -u 4096`, or set TasksMax= in the service: tasks are processes";
  }
  return check;
}

Check check_cgroups() {
  const std::string name = "cgroups";
  const worker::CgroupRoots roots = worker::find_cgroup_roots({});
  const bool memory = may_limit("memory", roots.unified, roots.memory);
  const bool cpu = may_limit("cpu", roots.unified, roots.cpu);
  const bool all = memory && cpu;
  std::string limits = "memory and CPU limits of tasks work";
  if (!all) limits = "limits of tasks do not work:";
  if (!memory) limits += " memory";
  if (!cpu) limits += " cpu";
  const std::string fix = "run the worker as a service with Delegate=yes, or as root";
  if (roots.unified.empty()) {
    return {name, Mark::kWarn, "no cgroup v2: tasks are killed by process tree; " + limits,
            "boot with systemd.unified_cgroup_hierarchy=1"};
  }
  if (!may_hold_groups(roots.unified)) {
    return {name, Mark::kWarn,
            fmt::format("{} is not writable: tasks are killed by process tree; {}", roots.unified,
                        limits),
            fix};
  }
  return {name, all ? Mark::kOk : Mark::kWarn,
          fmt::format("{} is writable: tasks are killed as a group; {}", roots.unified, limits),
          all ? "" : fix};
}

Check check_containers(Launcher launcher) {
  const std::string why = worker::why_no_container();
  const std::string name = "containers";
  if (why.empty()) {
    return {name, Mark::kOk, "available (--launcher container)", ""};
  }
  if (launcher == Launcher::kContainer) {
    return {name, Mark::kFail, "worker.launcher is container: " + why,
            std::string(worker::kContainerHelp)};
  }
  return {name, Mark::kOk, why + " (only --launcher container needs it)", ""};
}

Check check_temporary_folder() {
  std::error_code ec;
  const fs::path folder = fs::temp_directory_path(ec);
  if (!ec && may_write(folder)) return {"temp directory", Mark::kOk, folder.string(), ""};
  return {"temp directory", Mark::kFail, "none is writable", "set TMPDIR to a writable directory"};
}

Check check_token_file(const std::string& path) {
  const std::string name = "token file";
  if (path.empty()) return {name, Mark::kOk, "not used", ""};
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || ::access(path.c_str(), R_OK) != 0) {
    return {name, Mark::kFail, fmt::format("{} cannot be read", path),
            "check --token-file and VORTEX_TOKEN_FILE"};
  }
  if ((info.st_mode & 077U) == 0) return {name, Mark::kOk, path, ""};
  return {name, Mark::kWarn, fmt::format("{} is readable by others", path),
          fmt::format("chmod 600 {}", path)};
}

Checks check_database(const DatabaseSettings& settings) {
  fs::path folder = fs::path(settings.path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    return {{"database directory", Mark::kWarn, fmt::format("{} does not exist", folder.string()),
             "only a controller needs it: create it, or choose another with --database.path"}};
  }
  Checks checks;
  if (may_write(folder)) {
    checks.push_back({"database directory", Mark::kOk, folder.string(), ""});
  } else {
    checks.push_back({"database directory", Mark::kWarn,
                      fmt::format("{} is not writable by this user", folder.string()),
                      "only a controller needs it: run as its owner, or change --database.path"});
  }
  checks.push_back(check_space(folder));
  checks.push_back(check_lock(settings.path));
  return checks;
}

}  // namespace vortex::cli
