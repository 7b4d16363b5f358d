#include "worker/leftovers.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/files.h"
#include "worker/own_folder.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/slot_record.h"

namespace vortex::worker {
namespace {

namespace fs = std::filesystem;

constexpr auto kLeftoverPause = std::chrono::milliseconds(5);
constexpr int kWorkerGoneMs = 2'000;
constexpr Duration kTurnLongest = seconds(30);
constexpr std::string_view kRecordEnding = ".slots";

enum class LockState { kTaken, kHeld, kFault };
struct Locked {
  LockState state = LockState::kFault;
  Fd file;
};

// Takes the lock of a folder. The file may be removed by whoever held it before: then it is another
// file by now, and taking it means nothing.
Locked lock_folder(const std::string& folder) {
  const std::string path = folder + "/lock";
  for (int tries = 0; tries < 16; ++tries) {
    Fd file = open_own_file(path, O_RDWR);
    if (!file) return {};
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return {errno == EWOULDBLOCK ? LockState::kHeld : LockState::kFault, {}};
    }
    struct stat held{};
    struct stat named{};
    if (::fstat(file.get(), &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino) {
      return {LockState::kTaken, std::move(file)};
    }
  }
  return {};
}

// The first line is the start of the machine for which the rest holds.
bool write_groups(const std::string& folder, Containment containment, const std::string& name) {
  std::string text = boot_id() + "\n";
  if (containment == Containment::kAuto) {
    const CgroupRoots roots = find_cgroup_roots(name);
    for (const std::string* root : {&roots.unified, &roots.memory, &roots.cpu, &roots.pids}) {
      if (!root->empty()) text += group_folder(*root, {.supervisor = name, .worker = {}}) + "\n";
    }
  }
  const std::string draft = folder + "/groups.new";
  const Fd file = open_own_file(draft, O_WRONLY | O_TRUNC);
  return file && ::write(file.get(), text.data(), text.size()) == std::ssize(text) &&
         ::rename(draft.c_str(), (folder + "/groups").c_str()) == 0;
}

std::vector<std::string> read_groups(const std::string& folder) {
  std::istringstream lines(read_own_file(folder + "/groups"));
  std::vector<std::string> groups;
  std::string line;
  if (!std::getline(lines, line) || line != boot_id()) return groups;
  while (std::getline(lines, line)) {
    if (line.contains("/vortex/")) groups.push_back(line);
  }
  return groups;
}

// Whether the environment of a process has one of our paths in it.
bool carries(pid_t pid, const std::string& work_dir) {
  const std::string environment = read_text_file(fmt::format("/proc/{}/environ", pid));
  const std::string mark = fmt::format("VORTEX_TMPDIR={}/", work_dir);
  const std::size_t at = environment.find(mark);
  return at != environment.npos && (at == 0 || environment[at - 1] == '\0');
}

// A handle on the process that `is_it` still knows after the handle was taken; none otherwise.
template <class IsIt>
Fd handle_on(pid_t pid, IsIt is_it) {
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle || !is_it()) return {};
  return handle;
}

bool send_to(const Fd& handle, int signal) {
  return handle && ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

template <class IsIt>
bool kill_exactly(pid_t pid, IsIt is_it) {
  return send_to(handle_on(pid, is_it), SIGKILL);
}

// Dying takes a moment: who is met again meanwhile is counted once.
using Killed = std::set<pid_t>;

// When this returns, the worker says nothing any more.
void kill_worker(const RecordedProcess& worker, Killed& killed) {
  if (worker.pid == ::getpid()) return;
  const Fd handle = handle_on(worker.pid, [&] { return is_alive(worker); });
  if (!send_to(handle, SIGKILL)) return;
  killed.insert(worker.pid);
  pollfd gone{.fd = handle.get(), .events = POLLIN, .revents = 0};
  ::poll(&gone, 1, kWorkerGoneMs);
}

void kill_recorded(const RecordContents& record, Killed& killed) {
  for (const RecordedProcess& process : record.processes) {
    if (!is_alive(process)) continue;
    // A runner would tell how its task ended.
    send_to(handle_on(process.pid, [&] { return is_alive(process); }), SIGSTOP);
    for (const TreeProcess below : processes_below(process.pid)) {
      const bool done = kill_exactly(below.pid, [&] {
        const auto stat = read_process_stat(below.pid);
        return stat && stat->parent == below.parent;
      });
      if (done) killed.insert(below.pid);
    }
    if (kill_exactly(process.pid, [&] { return is_alive(process); })) killed.insert(process.pid);
  }
}

void kill_carriers(const std::string& work_dir, Killed& killed) {
  for (const std::string& name : names_in("/proc")) {
    pid_t pid = 0;
    const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (fault != std::errc() || *end != '\0' || pid == ::getpid()) continue;
    const auto is_carrier = [&] { return carries(pid, work_dir); };
    if (is_carrier() && kill_exactly(pid, is_carrier)) killed.insert(pid);
  }
}

// One round; who was found alive.
Killed kill_of_records(const std::string& folder) {
  Killed killed;
  std::vector<RecordContents> records;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kRecordEnding)) continue;
    records.push_back(read_record(path_in(folder, name)));
    if (records.back().boot_id != boot_id()) records.pop_back();
  }
  for (const RecordContents& record : records) {
    if (record.worker && is_of_own_pid_space(record)) kill_worker(*record.worker, killed);
  }
  for (const RecordContents& record : records) {
    // The ids that a container's worker wrote are those of others here; the record of the container
    // itself has the one that ends them all.
    if (is_of_own_pid_space(record)) kill_recorded(record, killed);
    if (!record.work_dir.empty()) kill_carriers(record.work_dir, killed);
  }
  return killed;
}

std::vector<EndedWorker> workers_of_records(const std::string& folder) {
  std::vector<EndedWorker> ended;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kRecordEnding)) continue;
    RecordContents record = read_record(path_in(folder, name));
    if (record.worker_id.empty()) continue;
    ended.push_back({WorkerId(record.worker_id), std::move(record.lives), std::move(record.session),
                     recorded_attempts(record)});
  }
  return ended;
}

// Also of an earlier start of the machine: files stay.
void remove_work_of_records(const std::string& folder, Instant until) {
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kRecordEnding)) continue;
    const RecordContents record = read_record(path_in(folder, name));
    if (record.work_dir.empty()) continue;
    remove_work(record.work_dir, [until] { return boot_clock_now() > until; });
  }
}

// True: nothing of that supervisor is left and its folder is empty but for the lock.
bool clean_up(const std::string& folder, Instant until, LeftoverReport& report) {
  const std::vector<std::string> groups = read_groups(folder);
  // Before the dead are no longer on record.
  const std::vector<EndedWorker> workers = workers_of_records(folder);
  Killed ever;
  for (;;) {
    bool empty = true;
    for (const std::string& group : groups) {
      if (group_is_empty(group).value_or(true)) continue;
      empty = false;
      kill_group(group);
    }
    const Killed killed = kill_of_records(folder);
    for (const pid_t pid : killed) report.processes += ever.insert(pid).second ? 1 : 0;
    if (empty && killed.empty()) break;
    if (boot_clock_now() > until) return false;
    std::this_thread::sleep_for(kLeftoverPause);
  }
  for (const std::string& group : groups) remove_group(group);
  remove_work_of_records(folder, until);
  std::error_code ignored;
  for (const std::string& name : names_in(folder)) {
    if (name != "lock") fs::remove_all(path_in(folder, name), ignored);
  }
  report.ended.insert(report.ended.end(), workers.begin(), workers.end());
  return true;
}

// One at a time makes and cleans up folders: a folder that was made but is not locked yet would
// look like one that was left behind. A lock that is never given back keeps nobody waiting for
// ever.
std::expected<Fd, std::string> take_turn(const std::string& state_dir) {
  auto turn = open_own_folder(state_dir);
  if (!turn) return turn;
  const Instant until = boot_clock_now() + kTurnLongest;
  while (::flock(turn->get(), LOCK_EX | LOCK_NB) != 0) {
    if (boot_clock_now() > until) {
      return std::unexpected(fmt::format("another process keeps {} locked", state_dir));
    }
    std::this_thread::sleep_for(kLeftoverPause);
  }
  return turn;
}

using Refusal = SupervisorFolder::Refusal;

std::unexpected<Refusal> unusable(const std::string& why) {
  return std::unexpected(
      Refusal{Refusal::Why::kUnusable, fmt::format("cannot use the state directory: {}", why)});
}

}  // namespace

std::expected<SupervisorFolder, SupervisorFolder::Refusal> SupervisorFolder::open(
    const Config& config) {
  const auto turn = take_turn(config.state_dir);
  if (!turn) return unusable(turn.error());
  const std::string folder = config.state_dir + "/" + group_component(config.name);
  const auto own = open_own_folder(folder);
  if (!own) return unusable(own.error());
  static_cast<void>(::fchmod(own->get(), 0700));  // older versions let others look into it
  Locked lock = lock_folder(folder);
  if (lock.state == LockState::kHeld) {
    return std::unexpected(Refusal{
        Refusal::Why::kNameIsTaken,
        fmt::format("a supervisor named '{}' is already running here; use another name or state "
                    "directory",
                    config.name)});
  }
  if (lock.state == LockState::kFault) {
    return unusable(fmt::format("{}/lock: {}", folder, std::strerror(errno)));
  }
  LeftoverReport left;
  if (!clean_up(folder, boot_clock_now() + seconds(5), left)) {
    return std::unexpected(Refusal{
        Refusal::Why::kNameIsTaken,
        fmt::format("cannot kill processes of an earlier supervisor named '{}'", config.name)});
  }
  std::string life = new_life();
  // What is not on record could not be cleaned up after us.
  if (!write_groups(folder, config.containment, work_folder_name(config.name, life))) {
    return unusable(fmt::format("{}/groups: {}", folder, std::strerror(errno)));
  }
  SupervisorFolder opened(folder, std::move(life), std::move(lock.file));
  opened.ended_ = std::move(left.ended);
  return opened;
}

std::string SupervisorFolder::record_path(const std::string& worker) const {
  return fmt::format("{}/{}{}", path_, group_component(worker), kRecordEnding);
}

void SupervisorFolder::remove() {
  const auto turn = take_turn(fs::path(path_).parent_path().string());
  for (const std::string& group : read_groups(path_)) remove_group(group);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  lock_.reset();
}

LeftoverReport kill_leftovers(const std::string& state_dir, Duration limit) {
  LeftoverReport report;
  const auto turn = take_turn(state_dir);
  if (!turn) {
    report.refused = turn.error();
    return report;
  }
  const Instant until = boot_clock_now() + limit;
  std::error_code ignored;
  for (const std::string& name : folders_in(state_dir)) {
    const std::string folder = path_in(state_dir, name);
    if (::access((folder + "/lock").c_str(), F_OK) != 0) continue;  // not one of ours
    if (const auto own = open_own_folder(folder); !own) {
      report.refused = own.error();
      continue;
    }
    const Locked lock = lock_folder(folder);
    if (lock.state != LockState::kTaken) continue;
    if (clean_up(folder, until, report)) {
      fs::remove_all(folder, ignored);
      ++report.folders;
    } else {
      ++report.left;
    }
  }
  return report;
}

}  // namespace vortex::worker
