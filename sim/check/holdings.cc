#include "sim/check/holdings.h"

namespace vortex::sim {

namespace {

bool same_hold(const TaskRow& a, const TaskRow& b) {
  return is_held(a.state) && is_held(b.state) && a.worker == b.worker &&
         a.incarnation == b.incarnation;
}

}  // namespace

void Holdings::begin_commit() {
  touched_holders_.clear();
  touched_machines_.clear();
}

void Holdings::task_changed(const TaskRow* before, const TaskRow& after, const Resources& demand) {
  if (before != nullptr && same_hold(*before, after)) return;
  if (before != nullptr && is_held(before->state)) add(*before, demand, -1);
  if (is_held(after.state)) add(after, demand, 1);
}

void Holdings::add(const TaskRow& row, const Resources& demand, std::int64_t sign) {
  const Holder& holder = touched_holders_.emplace_back(row.worker, row.incarnation);
  Load& load = loads_[holder];
  load.held += static_cast<std::uint32_t>(sign);
  load.cpu_milli += sign * demand.cpu_milli;
  load.memory_bytes += sign * demand.memory_bytes;
  for (const auto& [name, amount] : demand.named) load.named[name] += sign * amount;
}

void Holdings::worker_changed(const WorkerRow* before, const WorkerRow& after) {
  touched_holders_.emplace_back(after.info->id, after.incarnation);
  if (before != nullptr && before->incarnation != after.incarnation) {
    touched_holders_.emplace_back(before->info->id, before->incarnation);
  }
  const bool same_place = before != nullptr && before->info->machine == after.info->machine &&
                          is_present(before->state) == is_present(after.state);
  if (same_place) return;
  if (before != nullptr) count_present(*before, static_cast<std::uint32_t>(-1));
  count_present(after, 1);
}

void Holdings::count_present(const WorkerRow& row, std::uint32_t one) {
  touched_machines_.push_back(row.info->machine);
  if (!is_present(row.state)) return;
  present_ += one;
  present_on_[row.info->machine] += one;
}

const Load& Holdings::load_of(const Holder& holder) const {
  static const Load nothing;
  const auto found = loads_.find(holder);
  return found == loads_.end() ? nothing : found->second;
}

std::uint32_t Holdings::present_on(const MachineId& machine) const {
  const auto found = present_on_.find(machine);
  return found == present_on_.end() ? 0 : found->second;
}

}  // namespace vortex::sim
