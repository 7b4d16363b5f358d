#include "worker/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/small_files.h"

namespace vortex::worker {
namespace {

// One line of /proc/self/mountinfo, as far as it is needed.
struct Mount {
  std::string root;   // which part of the hierarchy is seen
  std::string point;  // where
  std::string type;
  std::string options;
};

std::optional<Mount> read_mount(const std::string& line) {
  std::istringstream fields(line);
  Mount mount;
  std::string skipped;
  fields >> skipped >> skipped >> skipped >> mount.root >> mount.point;
  while (fields >> skipped && skipped != "-") {
  }
  fields >> mount.type >> skipped >> mount.options;
  if (!fields || !mount.type.starts_with("cgroup")) return std::nullopt;
  return mount;
}

bool lists(std::string_view comma_list, std::string_view word) {
  while (!comma_list.empty()) {
    const std::size_t comma = comma_list.find(',');
    if (comma_list.substr(0, comma) == word) return true;
    if (comma == comma_list.npos) return false;
    comma_list.remove_prefix(comma + 1);
  }
  return false;
}

// Our path in the hierarchy with this controller (version 1), or in version 2 when it is empty.
std::optional<std::string> own_path(std::string_view own, std::string_view controller) {
  std::istringstream lines{std::string(own)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view names = std::string_view(line).substr(first + 1, second - first - 1);
    const bool ours = controller.empty() ? names.empty() : lists(names, controller);
    if (ours) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::string folder_of(const Mount& mount, std::string path) {
  if (path.contains("/..")) return {};  // outside of what this container may see
  if (mount.root != "/") {
    if (path.starts_with(mount.root)) path.erase(0, mount.root.size());
  }
  if (path == "/") path.clear();
  return mount.point + path;
}

std::string without_own_groups(std::string folder, std::string_view supervisor) {
  const std::string ours = fmt::format("/vortex/{}/", group_component(supervisor));
  const std::size_t at = (folder + "/").rfind(ours);
  if (at != folder.npos) folder.erase(at);
  return folder;
}

void kill_listed(const std::string& folder) {
  std::istringstream pids(read_text_file(folder + "/cgroup.procs"));
  for (pid_t pid = 0; pids >> pid;) {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
  for (const std::string& name : folders_in(folder)) kill_listed(path_in(folder, name));
}

}  // namespace

std::string group_component(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && !out.empty());
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out.empty() ? "%" : out;
}

std::string group_folder(const std::string& root, const GroupName& name) {
  std::string folder = root + "/vortex/" + group_component(name.supervisor);
  if (!name.worker.empty()) folder += "/" + group_component(name.worker);
  return folder;
}

CgroupRoots cgroup_roots(CgroupTexts texts, std::string_view supervisor) {
  CgroupRoots roots;
  const auto set = [&](std::string& root, const Mount& mount, std::string_view controller) {
    if (!root.empty()) return;
    const auto path = own_path(texts.own, controller);
    if (path) root = without_own_groups(folder_of(mount, *path), supervisor);
  };
  std::istringstream lines{std::string(texts.mounts)};
  for (std::string line; std::getline(lines, line);) {
    const auto mount = read_mount(line);
    if (!mount) continue;
    if (mount->type == "cgroup2") set(roots.unified, *mount, "");
    if (mount->type != "cgroup") continue;
    if (lists(mount->options, "memory")) set(roots.memory, *mount, "memory");
    if (lists(mount->options, "cpu")) set(roots.cpu, *mount, "cpu");
    if (lists(mount->options, "pids")) set(roots.pids, *mount, "pids");
  }
  return roots;
}

CgroupRoots find_cgroup_roots(std::string_view supervisor) {
  const std::string mounts = read_text_file("/proc/self/mountinfo");
  const std::string own = read_text_file("/proc/self/cgroup");
  return cgroup_roots({.mounts = mounts, .own = own}, supervisor);
}

bool make_group(const std::string& folder) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  // A folder somewhere else than in a hierarchy has no such file.
  return !fault && ::access((folder + "/cgroup.procs").c_str(), W_OK) == 0;
}

void pass_on_controllers(const std::string& root, const std::string& folder) {
  std::string at = root;
  std::string rest = folder.substr(std::min(folder.size(), root.size()));
  for (;;) {
    for (const char* controller : {"+memory", "+cpu", "+pids"}) {
      write_text_file(at + "/cgroup.subtree_control", controller);
    }
    if (rest.empty()) return;
    const std::size_t next = rest.find('/', 1);
    at += rest.substr(0, next);
    rest.erase(0, next);
  }
}

bool remove_group(const std::string& folder) {
  for (const std::string& name : folders_in(folder)) remove_group(path_in(folder, name));
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

bool kill_group(const std::string& folder) {
  if (write_text_file(folder + "/cgroup.kill", "1")) return true;
  // Kernels before 5.14.
  if (::access((folder + "/cgroup.procs").c_str(), R_OK) != 0) return false;
  kill_listed(folder);
  return true;
}

std::optional<bool> group_is_empty(const std::string& folder) {
  const std::string events = read_text_file(folder + "/cgroup.events");
  if (events.contains("populated 0")) return true;
  if (events.contains("populated 1")) return false;
  return std::nullopt;
}

}  // namespace vortex::worker
