#include "worker/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/files.h"
#include "worker/slot/process_tree.h"

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

namespace {

constexpr auto kGroupPause = std::chrono::milliseconds(1);

}  // namespace

WorkerGroup::WorkerGroup(Containment containment, GroupName name) : name_(std::move(name)) {
  if (containment == Containment::kAuto) roots_ = find_cgroup_roots(name_.supervisor);
}

bool WorkerGroup::prepare() {
  if (roots_.unified.empty()) return false;
  const std::string folder = group_folder(roots_.unified, name_);
  if (!make_group(folder)) return false;
  // The worker itself lives beside its slots: a group with processes cannot have limited ones
  // below.
  if (!make_group(folder + "/agent")) return false;
  entrance_.reset(::open((folder + "/agent/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!entrance_) return false;
  folder_ = folder;
  return true;
}

void WorkerGroup::enter() const noexcept {
  if (!entrance_) return;
  [[maybe_unused]] const ssize_t written = ::write(entrance_.get(), "0", 1);
}

bool WorkerGroup::enter(pid_t pid) const {
  const std::string text = std::to_string(pid);
  return entrance_ &&
         ::write(entrance_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool WorkerGroup::kill_once(std::span<const pid_t> known) {
  if (!folder_.empty()) kill_group(folder_);
  // Also with groups: what was killed there has become our child, to be reaped, and a task that may
  // write to groups may have left its own.
  if (reap_children(known) > 0) kill_and_reap_tree(known);
  return reap_children(known) == 0 && is_empty(known);
}

bool WorkerGroup::kill_all(std::span<const pid_t> known, Duration limit) {
  const Instant until = boot_clock_now() + limit;
  while (!kill_once(known)) {
    if (boot_clock_now() > until) return false;
    std::this_thread::sleep_for(kGroupPause);
  }
  return true;
}

bool WorkerGroup::is_empty(std::span<const pid_t> known) const {
  if (!folder_.empty()) return group_is_empty(folder_).value_or(true);
  return processes_below(::getpid(), known).empty();
}

void WorkerGroup::remove() {
  entrance_.reset();
  for (const std::string* root : {&roots_.unified, &roots_.memory, &roots_.cpu, &roots_.pids}) {
    if (!root->empty()) remove_group(group_folder(*root, name_));
  }
  folder_.clear();
}

namespace {

constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kQuotaUsMin = 1'000;  // the kernel takes no less

bool has_file(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }

std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return 0;
  text.remove_prefix(at + key.size());
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

SlotGroup::SlotGroup(const CgroupRoots& roots, const SlotGroupConfig& config) {
  const std::string slot = fmt::format("/slot-{}", config.slot);
  const auto folder_in = [&](const std::string& root) {
    return root.empty() ? std::string() : group_folder(root, config.name) + slot;
  };
  if (!roots.unified.empty() && make_group(group_folder(roots.unified, config.name))) {
    pass_on_controllers(roots.unified, group_folder(roots.unified, config.name));
    if (make_group(folder_in(roots.unified))) unified_ = folder_in(roots.unified);
    add(unified_);
  }
  memory_ = control_folder("/memory.max", folder_in(roots.memory));
  cpu_ = control_folder("/cpu.max", folder_in(roots.cpu));
  const ControlFolder pids = control_folder("/pids.max", folder_in(roots.pids));
  if (config.processes_max > 0 && pids.version != Version::kNone) {
    write_text_file(pids.folder + "/pids.max", std::to_string(config.processes_max));
  }
  for (const ControlFolder& place : {memory_, cpu_, pids}) {
    if (place.version == Version::kOne) add(place.folder);
  }
}

void SlotGroup::add(const std::string& folder) {
  if (!folder.empty() && std::ranges::find(folders_, folder) == folders_.end()) {
    folders_.push_back(folder);
  }
}

SlotGroup::ControlFolder SlotGroup::control_folder(const std::string& unified_file,
                                                   const std::string& v1_folder) const {
  if (!unified_.empty() && has_file(unified_ + unified_file)) return {Version::kTwo, unified_};
  if (!v1_folder.empty() && make_group(v1_folder)) return {Version::kOne, v1_folder};
  return {};
}

std::vector<Fd> SlotGroup::entrances() const {
  std::vector<Fd> files;
  for (const std::string& folder : folders_) {
    Fd file(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (file) files.push_back(std::move(file));
  }
  return files;
}

std::string SlotGroup::limit(const Resources& resources) {
  std::string left_out;
  if (resources.memory_bytes != memory_bytes_ && !limit_memory(resources.memory_bytes)) {
    left_out = "memory";
  }
  if (resources.cpu_milli != cpu_milli_ && !limit_cpu(resources.cpu_milli)) {
    left_out += left_out.empty() ? "cpu" : " and cpu";
  }
  if (left_out.empty()) return {};
  return fmt::format("tasks run without their limits of {}: no writable control group", left_out);
}

bool SlotGroup::limit_memory(std::int64_t bytes) {
  bool done = false;
  if (memory_.version == Version::kTwo) {
    const std::string text = bytes > 0 ? std::to_string(bytes) : "max";
    done = write_text_file(memory_.folder + "/memory.max", text);
    write_text_file(memory_.folder + "/memory.swap.max", bytes > 0 ? "0" : "max");
  } else if (memory_.version == Version::kOne) {
    done = write_text_file(memory_.folder + "/memory.limit_in_bytes",
                           std::to_string(bytes > 0 ? bytes : -1));
  }
  if (done) memory_bytes_ = bytes;
  return done;
}

bool SlotGroup::limit_cpu(std::int64_t milli) {
  const std::int64_t quota = std::max(kQuotaUsMin, milli * (kPeriodUs / 1000));
  bool done = false;
  if (cpu_.version == Version::kTwo) {
    const std::string text = milli > 0 ? fmt::format("{} {}", quota, kPeriodUs) : "max";
    done = write_text_file(cpu_.folder + "/cpu.max", text);
  } else if (cpu_.version == Version::kOne) {
    write_text_file(cpu_.folder + "/cpu.cfs_period_us", std::to_string(kPeriodUs));
    done =
        write_text_file(cpu_.folder + "/cpu.cfs_quota_us", std::to_string(milli > 0 ? quota : -1));
  }
  if (done) cpu_milli_ = milli;
  return done;
}

void SlotGroup::lift_cpu() {
  if (cpu_milli_ > 0) limit_cpu(0);
}

std::uint64_t SlotGroup::out_of_memory_count() const {
  if (memory_.version == Version::kTwo) {
    return number_after(read_text_file(memory_.folder + "/memory.events"), "oom_kill ");
  }
  if (memory_.version == Version::kOne) {
    return number_after(read_text_file(memory_.folder + "/memory.oom_control"), "oom_kill ");
  }
  return 0;
}

bool SlotGroup::kill_all() const { return !unified_.empty() && kill_group(unified_); }

void SlotGroup::remove() {
  for (const std::string& folder : folders_) remove_group(folder);
  folders_.clear();
}

}  // namespace vortex::worker
