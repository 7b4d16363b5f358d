// What the controller answers to a sync call, written.
//
// Hundreds of tasks of one map go out in one answer and differ in a few numbers only: the part of
// an assignment that is the same for all tasks of a node is written once and then copied.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/sync_words.h"
#include "codec/units.h"
#include "model/map_items.h"
#include "model/rows.h"

namespace vortex::codec {
namespace {

constexpr std::size_t kBytesPerAssignment = 240;
constexpr std::size_t kBytesPerStop = 80;

// What all tasks of a node share, wherever it comes from.
struct Definition {
  const std::string& name;
  const std::string& dag;
  const CommandLine& command;
  const Resources& resources;
  const std::vector<std::string>& outputs;
  std::string_view params;  // JSON; empty: none
};

void write_definition(JsonWriter& json, const Definition& what) {
  json.field("name", std::string_view(what.name)).field("dag", std::string_view(what.dag));
  write_command(json, what.command);
  write_resources(json, what.resources);
  write_texts(json, "outputs", what.outputs);
  if (!what.params.empty()) json.key("params").raw(what.params);
}

std::string_view params_of(const PlannedWork& work) {
  return work.request ? std::string_view(work.request->params) : std::string_view{};
}

// Where in the text the definition of a node already stands. Fixed in size: two nodes that want the
// same place push each other out, and that costs time only.
class WrittenDefinitions {
 public:
  struct Entry {
    const DagPlan* plan = nullptr;
    const RunRequest* request = nullptr;
    std::uint32_t node = 0;
    std::size_t at = 0;
    std::size_t bytes = 0;
  };

  Entry& entry_of(const PlannedWork& work) {
    const auto address = reinterpret_cast<std::uintptr_t>(work.plan.get());
    const std::size_t place = (address / sizeof(DagPlan) + work.node) % entries_.size();
    return entries_[place];
  }

 private:
  std::array<Entry, 61> entries_{};
};

std::uint32_t position_in_map(const PlannedWork& work, const TaskId& task) {
  const PlanNode& node = work.plan->nodes[work.node];
  VX_ASSERT(task.index >= node.first_task && task.index - node.first_task < node.tasks);
  return task.index - node.first_task;
}

MapItem item_of(const PlannedWork& work, const MapSpec& map, const TaskId& task) {
  const std::uint32_t position = position_in_map(work, task);
  return {.index = position, .item = item_text(map, position), .as = map.as};
}

void write_map(JsonWriter& json, const MapItem& map) {
  json.key("map").begin_object();
  json.field("index", map.index).field("item", std::string_view(map.item));
  if (map.as != MapItem{}.as) json.field("as", std::string_view(map.as));
  json.end_object();
}

void write_inputs(JsonWriter& json, std::string_view inputs) {
  if (!inputs.empty()) json.key("inputs").raw(inputs);
}

class AssignmentWriter {
 public:
  explicit AssignmentWriter(std::string& out, JsonWriter& json) : out_(out), json_(json) {}

  void write(const Assignment& assignment) {
    json_.begin_object();
    write_attempt(json_, assignment.attempt);
    json_.field("attempt", assignment.number);
    if (const auto* planned = std::get_if<PlannedWork>(&assignment.work)) {
      write_planned(*planned, assignment.attempt.task);
    } else if (const OrderPtr& order = std::get<OrderPtr>(assignment.work)) {
      write_order(*order);
    }
    if (assignment.execution_timeout > Duration{}) {
      json_.field("timeout_ms", whole_millis(assignment.execution_timeout));
    }
    if (!assignment.checkpoint.empty()) {
      write_bytes(json_, {.text = "checkpoint", .base64 = "checkpoint_base64"},
                  assignment.checkpoint);
    }
    json_.end_object();
  }

 private:
  void write_planned(const PlannedWork& work, const TaskId& task) {
    const NodeSpec& spec = work.plan->node_spec(work.node);
    auto& entry = written_.entry_of(work);
    const bool same = entry.plan == work.plan.get() && entry.node == work.node &&
                      entry.request == work.request.get();
    if (same) {
      // Begins with its comma: members stand before it every time.
      out_.append(out_, entry.at, entry.bytes);
    } else {
      const std::size_t at = out_.size();
      write_definition(json_, {spec.name, work.plan->spec.name, spec.command,
                               spec.requirements.resources, spec.outputs, params_of(work)});
      entry = {.plan = work.plan.get(),
               .request = work.request.get(),
               .node = work.node,
               .at = at,
               .bytes = out_.size() - at};
    }
    write_inputs(json_, work.inputs);
    if (spec.map) write_map(json_, item_of(work, *spec.map, task));
  }

  void write_order(const WorkOrder& order) {
    write_definition(json_, {order.task, order.dag, order.command, order.resources, order.outputs,
                             order.params});
    write_inputs(json_, order.inputs);
    if (order.map) write_map(json_, *order.map);
  }

  std::string& out_;
  JsonWriter& json_;
  WrittenDefinitions written_;
};

void write_assignments(std::string& out, JsonWriter& json, const SyncReply& reply) {
  if (reply.assignments.empty()) return;
  json.key("assignments").begin_array();
  AssignmentWriter writer(out, json);
  for (const Assignment& assignment : reply.assignments) writer.write(assignment);
  json.end_array();
}

void write_stops(JsonWriter& json, const SyncReply& reply) {
  if (reply.stops.empty()) return;
  json.key("stops").begin_array();
  for (const StopOrder& stop : reply.stops) {
    json.begin_object();
    write_attempt(json, stop.attempt);
    json.field("why", word_for(kStopWhys, stop.why)).end_object();
  }
  json.end_array();
}

void write_stale(JsonWriter& json, const SyncReply& reply) {
  if (reply.stale.empty()) return;
  json.key("stale").begin_array();
  for (const Attempt& attempt : reply.stale) {
    json.begin_object();
    write_attempt(json, attempt);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string write_sync_reply(const SyncReply& reply) {
  std::string out;
  out.reserve((reply.assignments.size() + 1) * kBytesPerAssignment +
              (reply.stops.size() + reply.stale.size()) * kBytesPerStop);
  JsonWriter json(out);
  json.begin_object();
  write_mark(json, "mark", reply.mark);
  json.field("seq_seen", reply.seq_seen).field("lease_ms", whole_millis(reply.lease));
  write_assignments(out, json, reply);
  write_stops(json, reply);
  write_stale(json, reply);
  if (reply.drain) json.field("drain", true);
  json.end_object();
  return out;
}

WorkOrder order_from(const PlannedWork& work, const Attempt& attempt) {
  const NodeSpec& spec = work.plan->node_spec(work.node);
  WorkOrder order;
  order.task_text = to_text(attempt.task);
  order.dag = work.plan->spec.name;
  order.task = spec.name;
  order.command = spec.command;
  if (spec.map) order.map = item_of(work, *spec.map, attempt.task);
  order.resources = spec.requirements.resources;
  order.outputs = spec.outputs;
  order.params = params_of(work);
  order.inputs = work.inputs;
  return order;
}

}  // namespace vortex::codec
