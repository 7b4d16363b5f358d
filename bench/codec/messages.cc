#include "bench/codec/messages.h"

#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/dag_json.h"

namespace vortex::bench {
namespace {

Attempt attempt_of(std::uint32_t index) {
  return {.task = {.run = {42}, .index = index, .level = 1}, .epoch = {1}};
}

NodeSpec node_of(std::uint32_t number) {
  NodeSpec node;
  node.name = fmt::format("resize{}", number);
  node.command.argv = {"convert", "in.jpg", "-resize", "256x256", "out.png"};
  node.command.env = {{"DIR", "/srv/photos"}};
  node.requirements.resources.cpu_milli = 1'000;
  node.requirements.resources.memory_bytes = 512LL << 20;
  node.execution_timeout = minutes(5);
  return node;
}

PlanPtr plan_of(DagSpec spec) {
  auto plan = compile(std::move(spec), {});
  VX_ASSERT(plan.has_value());
  return *plan;
}

SyncReply reply_for(const PlanPtr& plan, std::uint32_t assignments) {
  SyncReply reply;
  reply.mark = {.term = {1}, .reply = 100};
  reply.lease = seconds(60);
  for (std::uint32_t i = 0; i < assignments; ++i) {
    Assignment assignment;
    assignment.attempt = attempt_of(i);
    assignment.work = PlannedWork{.plan = plan, .node = plan->node_of_task(i)};
    assignment.execution_timeout = minutes(5);
    reply.assignments.push_back(std::move(assignment));
  }
  return reply;
}

DagSpec spec_of(std::uint32_t tasks) {
  DagSpec spec;
  spec.name = "thumbnails";
  for (std::uint32_t i = 0; i < tasks; ++i) spec.nodes.push_back(node_of(i));
  return spec;
}

}  // namespace

SyncRequest request_with(std::uint32_t reports) {
  SyncRequest request;
  request.worker = WorkerId("w1");
  request.incarnation = {1};
  request.seq = 1'000;
  request.slots = reports;
  for (std::uint32_t i = 0; i < reports; ++i) {
    Report report{.attempt = attempt_of(i), .body = Started{}};
    if (i % 4 != 0) report.body = Completed{R"({"files":12,"path":"/srv/photos/out.png"})"};
    request.reports.push_back(std::move(report));
  }
  return request;
}

SyncReply reply_of_map(std::uint32_t assignments) {
  DagSpec spec = spec_of(1);
  spec.nodes[0].map = MapSpec{.over = MapRange{.first = 1, .last = assignments, .step = 1},
                              .max_parallel = 0,
                              .max_failures = {}};
  return reply_for(plan_of(std::move(spec)), assignments);
}

SyncReply reply_of_nodes(std::uint32_t assignments) {
  return reply_for(plan_of(spec_of(assignments)), assignments);
}

std::string dag_text(std::uint32_t tasks) { return codec::write_dag(spec_of(tasks)); }

Event task_event() {
  Event event;
  event.seq = 123'456;
  event.at = Instant{1'771'801'195'123'456};
  event.kind = EventKind::kTaskComplete;
  event.worker = WorkerId("worker-17");
  event.task = attempt_of(7).task;
  event.run = RunId{42};
  event.data = {{"attempt", std::int64_t{1}}, {"duration_ms", std::int64_t{153}}};
  return event;
}

}  // namespace vortex::bench
