#include "sim/model/abilities.h"

#include <string>

namespace vortex::sim {

namespace {

template <class List, class Item>
bool is_among(const List& list, const Item& wanted) {
  for (const auto& item : list) {
    if (item == wanted) return true;
  }
  return false;
}

std::int64_t amount_of(const NamedAmounts& amounts, const std::string& name) {
  std::int64_t found = 0;
  for (const auto& [known, amount] : amounts) {
    if (known == name) found = amount;
  }
  return found;
}

}  // namespace

const char* lacks(const WorkerInfo& worker, const Requirements& need) {
  if (!need.worker.empty() && need.worker != worker.id) return "it is another worker";
  if (!is_among(worker.queues, need.queue)) return "it does not listen to the queue";
  if (!need.runtime.empty() && !is_among(worker.runtimes, need.runtime)) return "the runtime";
  if (!need.user.empty() && !is_among(worker.users, need.user)) return "the user";
  for (const auto& label : need.labels) {
    if (!is_among(worker.labels, label)) return "a label";
  }
  // A worker that states no amount of cpu or memory does not ration it.
  const Resources& has = worker.resources;
  if (has.cpu_milli > 0 && need.resources.cpu_milli > has.cpu_milli) return "cpu";
  if (has.memory_bytes > 0 && need.resources.memory_bytes > has.memory_bytes) return "memory";
  for (const auto& [name, amount] : need.resources.named) {
    if (amount > amount_of(has.named, name)) return "a named resource";
  }
  return nullptr;
}

}  // namespace vortex::sim
