#include "bench/core/shapes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/rng.h"

namespace vortex::bench {

namespace {

constexpr std::uint32_t kNodes = 1'000;
constexpr std::uint32_t kLayers = 10;
constexpr std::uint32_t kWidth = kNodes / kLayers;
constexpr std::uint32_t kLayeredPlans = 4;

std::string name_of(std::uint32_t node) { return "n" + std::to_string(node); }

NodeSpec make_node(std::uint32_t index) {
  NodeSpec node;
  node.name = name_of(index);
  node.command.argv = {"work", "--item", node.name};
  return node;
}

DagSpec map_of(std::uint32_t tasks) {
  DagSpec spec;
  spec.name = "map";
  spec.nodes.push_back(make_node(0));
  spec.nodes[0].map = MapSpec{MapRange{0, std::int64_t{tasks} - 1, 1}, 0, std::nullopt};
  return spec;
}

DagSpec chain() {
  DagSpec spec;
  spec.name = "chain";
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    spec.nodes.push_back(make_node(i));
    if (i > 0) spec.nodes[i].needs = {name_of(i - 1)};
  }
  return spec;
}

DagSpec layered(std::uint64_t seed) {
  Rng rng(seed);
  DagSpec spec;
  spec.name = "layered" + std::to_string(seed);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    NodeSpec& node = spec.nodes.emplace_back(make_node(i));
    if (i < kWidth) continue;
    const std::uint32_t above = (i / kWidth - 1) * kWidth;
    const std::uint64_t needs = 1 + rng.below(3);
    for (std::uint64_t n = 0; n < needs; ++n) {
      std::string need = name_of(above + static_cast<std::uint32_t>(rng.below(kWidth)));
      if (std::find(node.needs.begin(), node.needs.end(), need) == node.needs.end()) {
        node.needs.push_back(std::move(need));
      }
    }
  }
  return spec;
}

}  // namespace

std::string_view to_text(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::kMap:
      return "map";
    case ShapeKind::kChain:
      return "chain";
    case ShapeKind::kLayered:
      return "layered";
  }
  return "";
}

PlanPtr compiled(DagSpec spec) {
  auto plan = compile(std::move(spec), DagLimits{});
  if (!plan) give_up("a measured DAG does not compile");
  return *plan;
}

Shape make_shape(ShapeKind kind, std::uint32_t tasks) {
  Shape shape{kind, tasks, {}, kind == ShapeKind::kMap ? 1 : tasks / kNodes};
  if (kind == ShapeKind::kMap) shape.plans.push_back(compiled(map_of(tasks)));
  if (kind == ShapeKind::kChain) shape.plans.push_back(compiled(chain()));
  if (kind == ShapeKind::kLayered) {
    for (std::uint64_t i = 0; i < kLayeredPlans; ++i) {
      shape.plans.push_back(compiled(layered(i + 1)));
    }
  }
  return shape;
}

// A chain lets one task of a run start at a time, so with few runs a call carries one report. One
// slot per worker keeps it so with many runs, else the sizes would differ in reports per call.
FleetSize fleet_for(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::kMap:
      return {16, 64};
    case ShapeKind::kChain:
      return {16, 1};
    case ShapeKind::kLayered:
      return {16, 2};
  }
  return {};
}

void submit(MeasuredCore& core, const Shape& shape) {
  for (std::uint32_t run = 0; run < shape.runs; ++run) {
    core::SubmitRun command;
    command.dag = shape.plans[run % shape.plans.size()];
    core.apply(command);
    core.finish_bulk();
  }
}

}  // namespace vortex::bench
