#include "worker/launch.h"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.h"
#include "codec/time_text.h"

namespace vortex::worker {

namespace {

// One trace for a run, one span for an attempt, the same whoever computes it
// (W3C Trace Context).
std::string trace_parent(const Assignment& assignment, const WorkOrder& order) {
  Hasher run;
  run.add(order.dag);
  run.add(assignment.attempt.task.run.value);
  Hasher attempt;
  attempt.add(order.task_text);
  attempt.add(assignment.attempt.epoch.value);
  return fmt::format("00-{:016x}{:016x}-{:016x}-01", run.value(), run.value() ^ ~0ULL,
                     attempt.value() | 1U);
}

std::string time_text(Instant at) {
  std::string quoted;
  codec::append_time(quoted, at);
  return quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : quoted;
}

}  // namespace

Launch make_launch(const Assignment& assignment, const LaunchContext& context) {
  const WorkOrder& order = *std::get<OrderPtr>(assignment.work);
  Launch launch;
  launch.attempt = assignment.attempt;
  launch.argv = order.command.argv;
  launch.env = order.command.env;
  launch.workdir = order.command.workdir;
  launch.kill_grace = assignment.kill_grace;
  launch.resources = order.resources;
  launch.checkpoint = assignment.checkpoint;
  launch.outputs = order.outputs;
  launch.report_output = order.report_output;
  const auto set = [&launch](std::string name, std::string value) {
    launch.env.emplace_back(std::move(name), std::move(value));
  };
  set("VORTEX_RUN_ID", to_text(assignment.attempt.task.run));
  set("VORTEX_TASK_ID", order.task_text);
  set("VORTEX_TASK", order.task);
  set("VORTEX_DAG", order.dag);
  set("VORTEX_ATTEMPT", std::to_string(assignment.number));
  set("VORTEX_EPOCH", std::to_string(assignment.attempt.epoch.value));
  set("VORTEX_URL", context.url);
  set("VORTEX_WORKER", context.worker);
  set("VORTEX_WORKER_PID", std::to_string(::getpid()));
  set("TRACEPARENT", trace_parent(assignment, order));
  if (order.map) {
    set("VORTEX_MAP_INDEX", std::to_string(order.map->index));
    set("VORTEX_MAP_ITEM", order.map->item);
  }
  if (assignment.execution_timeout > Duration{}) {
    set("VORTEX_DEADLINE", time_text(context.wall_now + assignment.execution_timeout));
  }
  return launch;
}

}  // namespace vortex::worker
