#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "bench/core/fleet.h"
#include "bench/core/measures.h"
#include "bench/core/shapes.h"

namespace vortex::bench {

namespace {

constexpr std::uint32_t kTasks = 1'000;
constexpr int kLosses = 15;

// The same tasks are lost again and again here, which must not count against them.
core::Policy patient_policy() {
  core::Policy policy;
  policy.crash_limit = std::numeric_limits<std::uint16_t>::max();
  return policy;
}

struct Loss {
  std::uint32_t live = 0;  // tasks in all
  std::uint32_t others = 0;
  Labels others_have;
};

const Labels kRequired{{"kind", "large"}};

PlanPtr labelled_map(std::uint32_t tasks) {
  DagSpec spec;
  spec.name = "labelled";
  NodeSpec& node = spec.nodes.emplace_back();
  node.name = "items";
  node.requirements.labels = kRequired;
  node.map = MapSpec{MapRange{1, tasks, 1}, 0, std::nullopt};
  node.command.argv = {"work"};
  return compiled(std::move(spec));
}

// One step takes everything back from a worker that runs 1,000 tasks, its end being proved.
double reclaim_us(const Loss& loss) {
  MeasuredCore core(patient_policy());
  FleetSize size{loss.others, 1};
  size.labels = loss.others_have;
  Fleet others(core, size, "other");
  submit(core, Shape{ShapeKind::kMap, loss.live, {labelled_map(loss.live)}, 1});
  std::vector<double> costs;
  for (int i = 0; i < kLosses; ++i) {
    FleetSize lost{1, kTasks};
    lost.labels = kRequired;
    Fleet victim(core, lost, fmt::format("victim-{}", i));
    victim.start_tasks(kTasks);
    core::WorkerExited command;
    command.worker = victim.id(0);
    command.incarnation = Incarnation{1};
    core.watch().begin_lap();
    core.apply(command);
    costs.push_back(core.watch().lap().cpu_ns / 1000);
    // What was taken back becomes ready over a while; the others stay present and ask for nothing.
    core.let_pass(seconds(3));
    others.rest();
  }
  return undisturbed(costs);
}

void show(Sheet& sheet, const std::string& label, const std::string& key, const Loss& loss) {
  const double us = reclaim_us(loss);
  sheet.row({label, std::to_string(loss.live), std::to_string(loss.others),
             sheet.figure("reclaim_us" + key, us),
             sheet.figure("reclaim_us_per_task" + key, us / kTasks)});
}

}  // namespace

void measure_reclaim(Sheet& sheet, const Scale& scale) {
  sheet.title(fmt::format("Taking back {} tasks of a lost worker, microseconds", kTasks));
  sheet.columns({"other workers", "live tasks", "workers", "in all", "per task"});
  const std::uint32_t few = scale.live_tasks.front() * 2;
  const std::uint32_t many = scale.live_tasks.back();
  show(sheet, "all could take them", "", {few, 16, kRequired});
  show(sheet, "all could take them", "_large", {many, scale.workers, kRequired});
  show(sheet, "none could take them", "_none_fits", {few, scale.workers, {}});
}

}  // namespace vortex::bench
