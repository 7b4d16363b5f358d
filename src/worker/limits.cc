#include "worker/limits.h"

#include <algorithm>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "worker/small_files.h"

namespace vortex::worker {
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
  memory_ = place_of("/memory.max", folder_in(roots.memory));
  cpu_ = place_of("/cpu.max", folder_in(roots.cpu));
  const Place pids = place_of("/pids.max", folder_in(roots.pids));
  if (config.processes_max > 0 && pids.version != Version::kNone) {
    write_text_file(pids.folder + "/pids.max", std::to_string(config.processes_max));
  }
  for (const Place& place : {memory_, cpu_, pids}) {
    if (place.version == Version::kOne) add(place.folder);
  }
}

void SlotGroup::add(const std::string& folder) {
  if (!folder.empty() && std::ranges::find(folders_, folder) == folders_.end()) {
    folders_.push_back(folder);
  }
}

SlotGroup::Place SlotGroup::place_of(const std::string& unified_file,
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
