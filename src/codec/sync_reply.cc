// What the controller answers to a sync call, as the worker reads it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/text.h"
#include "codec/units.h"
#include "model/dag.h"
#include "model/rows.h"

namespace vortex::codec {
namespace {

using enum Presence;

constexpr Field<MapItem> kMapFields[] = {
    {"index", [](Reading& in, NodeIx node, MapItem& out) { read_number(in, node, out.index); },
     kRequired},
    {"item", [](Reading& in, NodeIx node, MapItem& out) { read_text(in, node, out.item); },
     kRequired},
};

void read_secret_value(Reading& in, NodeIx node, SecretText& out) {
  const auto text = text_of(in, node);
  if (!text) return;
  auto value = decode_base64(*text);
  if (!value) return in.problem(node, "the value of a secret is not base64");
  out = SecretText(std::string_view(*value));
  wipe(*value);
}

constexpr Field<SecretValue> kSecretFields[] = {
    {"env", [](Reading& in, NodeIx node, SecretValue& out) { read_text(in, node, out.as); }},
    {"file",
     [](Reading& in, NodeIx node, SecretValue& out) {
       read_text(in, node, out.as);
       out.file = true;
     }},
    {"value_base64",
     [](Reading& in, NodeIx node, SecretValue& out) { read_secret_value(in, node, out.value); },
     kRequired},
};

void read_secrets(Reading& in, NodeIx node, SecretsPtr& out) {
  if (!is_array(in, node)) return;
  out = std::make_shared<SecretSet>();
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kSecretFields, out->values.emplace_back());
  });
}

struct AssignmentDraft {
  Assignment assignment;
  WorkOrder order;
};
using Draft = AssignmentDraft;

constexpr Field<Draft> kAssignmentFields[] = {
    {"task",
     [](Reading& in, NodeIx node, Draft& out) {
       read_task_id(in, node, out.assignment.attempt.task);
       out.order.task_text = in.document().text(node);
     },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, Draft& out) {
       read_strong(in, node, out.assignment.attempt.epoch);
     },
     kRequired},
    {"attempt",
     [](Reading& in, NodeIx node, Draft& out) { read_number(in, node, out.assignment.number); }},
    {"name", [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.task); }},
    {"dag", [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.dag); }},
    {"run",
     [](Reading& in, NodeIx node, Draft& out) { read_texts(in, node, out.order.command.argv); }},
    {"env",
     [](Reading& in, NodeIx node, Draft& out) { read_env(in, node, out.order.command.env); }},
    {"workdir",
     [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.command.workdir); }},
    {"resources",
     [](Reading& in, NodeIx node, Draft& out) { read_resources(in, node, out.order.resources); }},
    {"outputs",
     [](Reading& in, NodeIx node, Draft& out) { read_texts(in, node, out.order.outputs); }},
    {"user", [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.user); }},
    {"map", [](Reading& in, NodeIx node,
               Draft& out) { read_object(in, node, "", kMapFields, out.order.map.emplace()); }},
    {"report_output",
     [](Reading& in, NodeIx node, Draft& out) { read_flag(in, node, out.order.report_output); }},
    {"inputs",
     [](Reading& in, NodeIx node, Draft& out) { read_passed_object(in, node, out.order.inputs); }},
    {"secrets",
     [](Reading& in, NodeIx node, Draft& out) { read_secrets(in, node, out.order.secrets); }},
    {"timeout_ms", [](Reading& in, NodeIx node,
                      Draft& out) { read_millis(in, node, out.assignment.execution_timeout); }},
    {"kill_grace_ms", [](Reading& in, NodeIx node,
                         Draft& out) { read_millis(in, node, out.assignment.kill_grace); }},
    {"checkpoint",
     [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.assignment.checkpoint); }},
    {"checkpoint_base64", [](Reading& in, NodeIx node,
                             Draft& out) { read_base64(in, node, out.assignment.checkpoint); }},
    {"checkpoint_upload",
     [](Reading& in, NodeIx node, Draft& out) {
       read_number(in, node, out.assignment.uploaded.number);
     }},
    {"checkpoint_bytes", [](Reading& in, NodeIx node,
                            Draft& out) { read_number(in, node, out.assignment.uploaded.bytes); }},
    {"token",
     [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.assignment.token); }},
};

void read_assignments(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  out.assignments.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    Draft draft;
    read_object(in, item, "", kAssignmentFields, draft);
    draft.assignment.work = std::make_shared<const WorkOrder>(std::move(draft.order));
    out.assignments.push_back(std::move(draft.assignment));
  });
}

constexpr Field<StopOrder> kStopFields[] = {
    {"task",
     [](Reading& in, NodeIx node, StopOrder& out) { read_task_id(in, node, out.attempt.task); },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, StopOrder& out) { read_strong(in, node, out.attempt.epoch); },
     kRequired},
    {"why", [](Reading& in, NodeIx node, StopOrder& out) { read_word(in, node, out.why); }},
};

void read_stops(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kStopFields, out.stops.emplace_back());
  });
}

constexpr Field<Attempt> kAttemptFields[] = {
    {"task", [](Reading& in, NodeIx node, Attempt& out) { read_task_id(in, node, out.task); },
     kRequired},
    {"epoch", [](Reading& in, NodeIx node, Attempt& out) { read_strong(in, node, out.epoch); },
     kRequired},
};

void read_stale(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kAttemptFields, out.stale.emplace_back());
  });
}

constexpr Field<SyncReply> kReplyFields[] = {
    {"mark", [](Reading& in, NodeIx node, SyncReply& out) { read_mark(in, node, out.mark); },
     kRequired},
    {"seq_seen",
     [](Reading& in, NodeIx node, SyncReply& out) { read_number(in, node, out.seq_seen); },
     kRequired},
    {"lease_ms", [](Reading& in, NodeIx node, SyncReply& out) { read_millis(in, node, out.lease); },
     kRequired},
    {"assignments", read_assignments},
    {"stops", read_stops},
    {"stale", read_stale},
    {"drain", [](Reading& in, NodeIx node, SyncReply& out) { read_flag(in, node, out.drain); }},
    {"drain_within_ms", [](Reading& in, NodeIx node,
                           SyncReply& out) { read_millis(in, node, out.drain_within.emplace()); }},
};

}  // namespace

Decoded<SyncReply> read_sync_reply(std::string_view json) {
  return decode<SyncReply>(json, UnknownKeys::kIgnored,
                           [](Reading& in, NodeIx root, SyncReply& out) {
                             read_object(in, root, "", kReplyFields, out);
                           });
}

// What the controller answers to a sync call, written.
//
// Hundreds of tasks of one map go out in one answer and differ in a few numbers only: the part of
// an assignment that is the same for all tasks of a node is written once and then copied.

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
  bool report_output = false;
  const std::string& user;
};

// What the process is given, in one list: a shell is only the program that reads the script.
void write_whole_command(JsonWriter& json, const CommandLine& command) {
  if (!command.argv.empty() || !command.shell.empty()) {
    json.key("run").begin_array();
    for (const std::string& word : command.shell) json.text(word);
    for (const std::string& word : command.argv) json.text(word);
    json.end_array();
  }
  write_pairs(json, "env", command.env);
  if (!command.workdir.empty()) json.field("workdir", std::string_view(command.workdir));
}

void write_definition(JsonWriter& json, const Definition& what) {
  json.field("name", std::string_view(what.name)).field("dag", std::string_view(what.dag));
  write_whole_command(json, what.command);
  write_resources(json, what.resources);
  write_texts(json, "outputs", what.outputs);
  if (what.report_output) json.field("report_output", true);
  if (!what.user.empty()) json.field("user", std::string_view(what.user));
}

constexpr std::size_t base64_bytes(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

const CommandLine& spec_of(const PlannedWork& work) {
  return work.command ? *work.command : work.plan->node_spec(work.node).command;
}

// So that the text need not grow once a secret is in it, which would leave a copy behind.
std::size_t bytes_with_secrets(const SyncReply& reply) {
  constexpr std::size_t kAround = 64;    // names of members
  constexpr std::size_t kUsual = 4'096;  // and of tasks, commands, variables
  std::size_t bytes = 0;
  for (const Assignment& assignment : reply.assignments) {
    const auto* work = std::get_if<PlannedWork>(&assignment.work);
    if (work == nullptr || !work->secrets) continue;
    for (const SecretValue& secret : work->secrets->values) {
      bytes += base64_bytes(secret.value.size()) + secret.as.size() + kAround;
    }
    for (const std::string& word : spec_of(*work).argv) bytes += 2 * word.size() + kAround;
    for (const auto& [name, value] : spec_of(*work).env) bytes += 2 * value.size() + kAround;
    bytes += kUsual;
  }
  return bytes;
}

// Where in the text the definition of a node already stands. Fixed in size: two nodes that want the
// same place push each other out, and that costs time only.
class WrittenDefinitions {
 public:
  struct Entry {
    const DagPlan* plan = nullptr;
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
  const std::uint32_t first = work.plan->first_task(work.node);
  VX_ASSERT(task.index >= first && task.index - first < work.plan->tasks_of(work.node));
  return task.index - first;
}

void write_map(JsonWriter& json, const MapItem& map) {
  json.key("map").begin_object();
  json.field("index", map.index).field("item", std::string_view(map.item));
  json.end_object();
}

void write_secrets(JsonWriter& json, const SecretsPtr& secrets) {
  if (!secrets || secrets->values.empty()) return;
  json.key("secrets").begin_array();
  for (const SecretValue& secret : secrets->values) {
    std::string value;
    value.reserve(base64_bytes(secret.value.size()));
    append_base64(value, secret.value.view());
    json.begin_object().field(secret.file ? "file" : "env", std::string_view(secret.as));
    json.field("value_base64", std::string_view(value)).end_object();
    wipe(value);
  }
  json.end_array();
}

class AssignmentWriter {
 public:
  explicit AssignmentWriter(std::string& out, JsonWriter& json) : out_(out), json_(json) {}

  void write(const Assignment& assignment) {
    json_.begin_object();
    write_attempt(json_, assignment.attempt);
    json_.field("attempt", assignment.number);
    if (!assignment.token.empty()) json_.field("token", std::string_view(assignment.token));
    if (const auto* planned = std::get_if<PlannedWork>(&assignment.work)) {
      write_planned(*planned, assignment.attempt.task);
    } else if (const OrderPtr& order = std::get<OrderPtr>(assignment.work)) {
      write_order(*order);
    }
    if (assignment.execution_timeout > Duration{}) {
      json_.field("timeout_ms", whole_millis(assignment.execution_timeout));
    }
    if (assignment.kill_grace > Duration{}) {
      json_.field("kill_grace_ms", whole_millis(assignment.kill_grace));
    }
    if (!assignment.checkpoint.empty()) {
      write_bytes(json_, {.text = "checkpoint", .base64 = "checkpoint_base64"},
                  assignment.checkpoint);
    }
    if (assignment.uploaded.number != 0) {
      json_.field("checkpoint_upload", assignment.uploaded.number);
      json_.field("checkpoint_bytes", assignment.uploaded.bytes);
    }
    json_.end_object();
  }

 private:
  void write_planned(const PlannedWork& work, const TaskId& task) {
    const NodeSpec& spec = work.plan->node_spec(work.node);
    if (work.command) {
      // Its values are its own: nothing to copy, and nothing for others to copy.
      write_definition(json_,
                       {spec.name, work.plan->spec.name, *work.command, spec.requirements.resources,
                        spec.outputs, spec.stale_counts.output, spec.requirements.user});
    } else {
      write_shared(work, spec);
    }
    if (const auto map = map_item_of(work, task)) write_map(json_, *map);
    if (work.inputs) json_.key("inputs").raw(*work.inputs);
    write_secrets(json_, work.secrets);
  }

  void write_shared(const PlannedWork& work, const NodeSpec& spec) {
    auto& entry = written_.entry_of(work);
    if (entry.plan == work.plan.get() && entry.node == work.node) {
      // Begins with its comma: members stand before it every time.
      out_.append(out_, entry.at, entry.bytes);
      return;
    }
    const std::size_t at = out_.size();
    write_definition(json_,
                     {spec.name, work.plan->spec.name, spec.command, spec.requirements.resources,
                      spec.outputs, spec.stale_counts.output, spec.requirements.user});
    entry = {.plan = work.plan.get(), .node = work.node, .at = at, .bytes = out_.size() - at};
  }

  void write_order(const WorkOrder& order) {
    write_definition(json_, {order.task, order.dag, order.command, order.resources, order.outputs,
                             order.report_output, order.user});
    if (order.map) write_map(json_, *order.map);
    if (!order.inputs.empty()) json_.key("inputs").raw(order.inputs);
    write_secrets(json_, order.secrets);
  }

  std::string& out_;
  JsonWriter& json_;
  WrittenDefinitions written_;
};

std::size_t write_assignments(std::string& out, JsonWriter& json, const SyncReply& reply,
                              std::size_t bytes_max) {
  std::size_t written = 0;
  if (reply.assignments.empty()) return written;
  json.key("assignments").begin_array();
  AssignmentWriter writer(out, json);
  for (const Assignment& assignment : reply.assignments) {
    if (written > 0 && out.size() >= bytes_max) break;
    writer.write(assignment);
    ++written;
  }
  json.end_array();
  return written;
}

void write_stops(JsonWriter& json, const SyncReply& reply) {
  if (reply.stops.empty()) return;
  json.key("stops").begin_array();
  for (const StopOrder& stop : reply.stops) {
    json.begin_object();
    write_attempt(json, stop.attempt);
    json.field("why", to_text(stop.why)).end_object();
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

WrittenReply write_bounded_reply(const SyncReply& reply, std::size_t bytes_max) {
  WrittenReply written;
  std::string& out = written.json;
  out.reserve((reply.assignments.size() + 1) * kBytesPerAssignment +
              (reply.stops.size() + reply.stale.size()) * kBytesPerStop +
              bytes_with_secrets(reply));
  JsonWriter json(out);
  json.begin_object();
  write_mark(json, "mark", reply.mark);
  json.field("seq_seen", reply.seq_seen).field("lease_ms", whole_millis(reply.lease));
  written.assignments = write_assignments(out, json, reply, bytes_max);
  write_stops(json, reply);
  write_stale(json, reply);
  if (reply.drain) json.field("drain", true);
  if (reply.drain_within) json.field("drain_within_ms", whole_millis(*reply.drain_within));
  json.end_object();
  return written;
}

std::string write_sync_reply(const SyncReply& reply) {
  return write_bounded_reply(reply, std::numeric_limits<std::size_t>::max()).json;
}

std::optional<MapItem> map_item_of(const PlannedWork& work, const TaskId& task) {
  const auto& map = work.plan->node_spec(work.node).map;
  if (!map) return std::nullopt;
  const std::uint32_t position = position_in_map(work, task);
  return MapItem{.index = position, .item = work.plan->map_item(task.index), .as = map->as};
}

WorkOrder order_from(const PlannedWork& work, const Attempt& attempt) {
  const NodeSpec& spec = work.plan->node_spec(work.node);
  WorkOrder order;
  order.task_text = to_text(attempt.task);
  order.dag = work.plan->spec.name;
  order.task = spec.name;
  order.command = work.command ? *work.command : spec.command;
  CommandLine& command = order.command;
  command.argv.insert(command.argv.begin(), command.shell.begin(), command.shell.end());
  command.shell.clear();
  order.map = map_item_of(work, attempt.task);
  if (order.map) order.map->as = MapItem{}.as;
  order.resources = spec.requirements.resources;
  order.outputs = spec.outputs;
  order.report_output = spec.stale_counts.output;
  order.secrets = work.secrets;
  order.user = spec.requirements.user;
  if (work.inputs) order.inputs = *work.inputs;
  return order;
}

}  // namespace vortex::codec
