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

constexpr std::uint32_t kCalls = 200;

PlanPtr one_task(const Requirements& requirements) {
  DagSpec spec;
  spec.name = "one";
  NodeSpec& node = spec.nodes.emplace_back();
  node.name = "only";
  node.requirements = requirements;
  node.command.argv = {"work"};
  return compiled(std::move(spec));
}

Requirements labelled(const std::string& value) {
  Requirements requirements;
  requirements.labels = {{"only", value}};
  return requirements;
}

void submit_one(MeasuredCore& core, const PlanPtr& plan) {
  core::SubmitRun command;
  command.dag = plan;
  core.apply(command);
}

// Tasks of many different requirements wait, none of which the calling worker meets.
double call_past_classes_us(std::uint32_t classes) {
  MeasuredCore core;
  Fleet fleet(core, {kCalls, 1});
  for (std::uint32_t i = 0; i < classes; ++i) {
    submit_one(core, one_task(labelled(std::to_string(i))));
  }
  core.watch().begin_lap();
  for (std::uint32_t i = 0; i < kCalls; ++i) fleet.heartbeat(i, seconds(9));
  return core.watch().lap().cpu_ns / kCalls / 1000;
}

// Many idle workers offer themselves and none of them may have the task.
double submit_past_workers_us(std::uint32_t workers) {
  MeasuredCore core;
  Fleet fleet(core, {workers, 1});
  for (std::uint32_t i = 0; i < workers; ++i) fleet.heartbeat(i, seconds(9));
  const PlanPtr plan = one_task(labelled("nobody"));
  submit_one(core, plan);
  core.watch().begin_lap();
  for (std::uint32_t i = 0; i < kCalls; ++i) submit_one(core, plan);
  return core.watch().lap().cpu_ns / kCalls / 1000;
}

// Runs of one task, very many of which end in the same call.
double ends_together_us(std::uint32_t ends) {
  MeasuredCore core;
  Fleet fleet(core, {1, ends});
  const PlanPtr plan = one_task({});
  for (std::uint32_t i = 0; i < ends; ++i) submit_one(core, plan);
  core.watch().begin_lap();
  fleet.work_off(ends);
  return core.watch().lap().cpu_ns / ends / 1000;
}

// A barrier after each of very many levels of ten nodes.
double barriers_us(std::uint32_t levels) {
  constexpr std::uint32_t kWidth = 10;
  DagSpec spec;
  spec.name = "barriers";
  spec.barrier_levels = true;
  for (std::uint32_t i = 0; i < levels * kWidth; ++i) {
    NodeSpec& node = spec.nodes.emplace_back();
    node.name = fmt::format("n{}", i);
    if (i >= kWidth) node.needs = {fmt::format("n{}", i - kWidth)};
    node.command.argv = {"work"};
  }
  MeasuredCore core;
  Fleet fleet(core, {1, kWidth});
  submit_one(core, compiled(std::move(spec)));
  core.watch().begin_lap();
  fleet.work_off(levels * kWidth);
  return core.watch().lap().cpu_ns / (levels * kWidth) / 1000;
}

// One run with very many maps, all ready at once: per map, until all tasks are made.
double many_maps_us(std::uint32_t maps) {
  DagSpec spec;
  spec.name = "maps";
  for (std::uint32_t i = 0; i < maps; ++i) {
    NodeSpec& node = spec.nodes.emplace_back();
    node.name = fmt::format("n{}", i);
    node.map = MapSpec{MapRange{0, 0, 1}, 0, std::nullopt};
    node.command.argv = {"work"};
  }
  const PlanPtr plan = compiled(std::move(spec));
  MeasuredCore core;
  core.watch().begin_lap();
  submit_one(core, plan);
  core.finish_bulk();
  return core.watch().lap().cpu_ns / maps / 1000;
}

struct Case {
  std::string name;
  std::string key;
  double (*measure)(std::uint32_t);
  std::uint32_t small = 0;
  std::uint32_t large = 0;
};

}  // namespace

void measure_awkward(Sheet& sheet, const Scale& scale) {
  const std::uint32_t many = scale.workers;
  const std::vector<Case> cases{
      {"call past other classes", "past_classes", call_past_classes_us, 10, many / 10},
      {"submit past other workers", "past_workers", submit_past_workers_us, 10, many},
      {"runs ending in one call", "ends_together", ends_together_us, 100, many},
      {"levels with barriers", "barriers", barriers_us, many / 100, many / 10},
      {"maps in one run", "many_maps", many_maps_us, 100, many * 5},
  };
  sheet.title("Awkward loads, microseconds each, few and many: they should cost the same");
  sheet.columns({"what there are many of", "few", "each", "many", "each"});
  for (const Case& item : cases) {
    item.measure(item.small);  // warms up
    const double small = item.measure(item.small);
    const double large = item.measure(item.large);
    sheet.row({item.name, std::to_string(item.small), short_number(small),
               std::to_string(item.large), sheet.figure("awkward_us_" + item.key, large)});
  }
}

}  // namespace vortex::bench
