#include "sim/check/say.h"

#include <fmt/format.h>

namespace vortex::sim {

std::string say(Duration d) {
  const char* sign = d.us < 0 ? "-" : "";
  const std::int64_t us = d.us < 0 ? -d.us : d.us;
  return fmt::format("{}{}.{:06}s", sign, us / 1'000'000, us % 1'000'000);
}

std::string say(Instant t) { return t == kNever ? "never" : say(t - Instant{}); }

std::string say(TaskId task) { return fmt::format("r{}/{}", task.run.value, task.index); }

std::string say(const Attempt& attempt) {
  return fmt::format("{} epoch {}", say(attempt.task), attempt.epoch.value);
}

std::string say(const Holder& holder) {
  return fmt::format("worker '{}' life {}", holder.worker.text, holder.incarnation.value);
}

std::string say(const TaskRow& row) {
  std::string text = fmt::format("{} {}", say(Attempt{row.id, row.epoch}), to_text(row.state));
  if (!row.worker.empty()) text += " on " + say(Holder{row.worker, row.incarnation});
  return text;
}

std::string say(const PartitionKey& partition) {
  return fmt::format("{}/{}", partition.topic, partition.partition);
}

std::string say(const TaskCounters& c) {
  return fmt::format("attempts {}, failures {}, crashes {}, stalls {}, releases {} (unstarted {})",
                     c.attempts, c.failures, c.crashes, c.stalls, c.releases, c.unstarted);
}

}  // namespace vortex::sim
