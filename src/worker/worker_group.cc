#include "worker/worker_group.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/process_tree.h"

namespace vortex::worker {
namespace {

constexpr auto kPause = std::chrono::milliseconds(1);

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
    std::this_thread::sleep_for(kPause);
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

}  // namespace vortex::worker
