#include "controller/metrics_gauges.h"

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace vortex::controller {
namespace {

class Text {
 public:
  void family(std::string_view name, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
    name_ = name;
  }
  template <class Value>
  void sample(std::string_view labels, Value value) {
    fmt::format_to(std::back_inserter(out_), "{}{}{}{} {}\n", name_, labels.empty() ? "" : "{",
                   labels, labels.empty() ? "" : "}", value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string_view name_;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

double seconds_since(Instant then, Instant now) {
  return static_cast<double>((now - then).us) / 1e6;
}

void add_workers(Text& text, const Gauges& gauges) {
  std::array<std::uint32_t, 6> by_state{};
  for (const auto& view : gauges.workers) ++by_state[static_cast<std::size_t>(view.row.state)];
  text.family("vortex_workers", "Workers by state");
  for (std::size_t i = 0; i < by_state.size(); ++i) {
    const auto state = static_cast<WorkerState>(i);
    text.sample(fmt::format("state={}", quoted(to_text(state))), by_state[i]);
  }
  text.family("vortex_worker_up", "Whether a worker is present");
  for (const auto& view : gauges.workers) {
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)),
                is_present(view.row.state) ? 1 : 0);
  }
  text.family("vortex_worker_heartbeat_age_seconds", "Time since the last recorded heartbeat");
  for (const auto& view : gauges.workers) {
    if (!is_present(view.row.state) || view.row.last_heartbeat == kNever) continue;
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)),
                seconds_since(view.row.last_heartbeat, gauges.now));
  }
  text.family("vortex_worker_leases", "Number of tasks that a worker holds");
  for (const auto& view : gauges.workers) {
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)), view.held);
  }
}

void add_queues(Text& text, const Gauges& gauges) {
  text.family("vortex_queue_tasks", "Tasks that are ready or held by workers, by queue");
  for (const auto& depth : gauges.queues) {
    text.sample(fmt::format("queue={},state=\"ready\"", quoted(depth.name)), depth.ready);
    text.sample(fmt::format("queue={},state=\"held\"", quoted(depth.name)), depth.held);
  }
  text.family("vortex_queue_oldest_ready_age_seconds",
              "How long the oldest ready task has been waiting");
  for (const auto& depth : gauges.queues) {
    const double age = depth.oldest_ready ? seconds_since(*depth.oldest_ready, gauges.now) : 0;
    text.sample(fmt::format("queue={}", quoted(depth.name)), age);
  }
}

void add_leases(Text& text, const Gauges& gauges) {
  std::uint64_t orphaned = 0;
  text.family("vortex_lease_epoch", "Epoch of a partition lease");
  for (const PartitionLeaseRow& lease : gauges.leases) {
    text.sample(fmt::format("topic={},partition=\"{}\"", quoted(lease.partition.topic),
                            lease.partition.partition),
                lease.epoch.value);
    orphaned += lease.holder.empty() || lease.expires_at <= gauges.now ? 1 : 0;
  }
  text.family("vortex_partitions", "Number of partitions that were ever leased");
  text.sample("", gauges.leases.size());
  text.family("vortex_orphaned_partitions", "Number of partitions without a holder");
  text.sample("", orphaned);
}

}  // namespace

std::string gauges_text(const Gauges& gauges) {
  Text text;
  text.family("vortex_leader", "Whether this controller is the leader");
  text.sample("", gauges.health.leads ? 1 : 0);
  text.family("vortex_brake_engaged", "Whether reclaiming on weak evidence is on hold");
  text.sample("", gauges.health.brake_engaged ? 1 : 0);
  text.family("vortex_damaged_rows", "Number of database rows that cannot be read");
  text.sample("", gauges.health.damaged.size());
  text.family("vortex_engine_inbox", "Number of requests waiting for the engine");
  text.sample("", gauges.health.inbox);
  text.family("vortex_tasks", "Tasks of all runs ever, by state");
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    text.sample(fmt::format("state={}", quoted(to_text(static_cast<TaskState>(i)))),
                gauges.totals.counters.tasks[i]);
  }
  text.family("vortex_dlq_tasks", "Number of open dead letters");
  text.sample("", gauges.totals.open_dead_letters);
  add_workers(text, gauges);
  add_queues(text, gauges);
  add_leases(text, gauges);
  return text.take();
}

}  // namespace vortex::controller
