// Sub-DAGs: tasks that are runs of another DAG, what they are given, what a DAG gives back, and
// the DAGs that a document carries.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/dag_json.h"
#include "codec/dag_read.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

// What a task with a sub-DAG may say of itself.
constexpr std::array<std::string_view, 12> kBesideDag{
    "needs",  "if",    "continue_on_error", "trigger_rule", "dag",     "params",
    "matrix", "retry", "retries",           "priority",     "timeout", "map"};

std::string_view words_for(std::string_view name) {
  if (name == "outputs") return "remove it: its outputs are those that the sub-DAG declares";
  if (name == "run" || name == "wait") return "make it two tasks, one of which needs the other";
  return "remove it, or say it of the tasks of the sub-DAG, which are what runs";
}

}  // namespace

void read_child_dag(Reading& in, NodeIx node, TaskDraft& out) {
  out.dag = node;
  if (!out.spec.child) out.spec.child.emplace();
  if (in.document().kind(node) == NodeKind::kObject) {
    return in.wrong_type(node, "a string", "write dag: NAME or dag: ./file.yaml");
  }
  read_text(in, node, out.spec.child->dag);
}

void read_child_params(Reading& in, NodeIx node, TaskDraft& out) {
  out.params = node;
  if (!out.spec.child) out.spec.child.emplace();
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, object_word(in.document().syntax()),
                         "write params: {day: \"${{ params.day }}\"}");
  }
  if (!is_object_of_names(in, node)) return;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    auto& [name, json] = out.spec.child->params.emplace_back();
    name = in.document().text(key);
    append_compact(json, in.document(), value);
  });
}

void refuse_beside_dag(Reading& in, const TaskDraft& draft, NodeIx task) {
  if (draft.dag == 0) {
    if (draft.params == 0 || in.full()) return;
    return in.problem(draft.params - 1, "'params' of a task needs 'dag'",
                      "name the sub-DAG that is given them: dag: NAME or dag: ./file.yaml");
  }
  in.document().each_member(task, [&](NodeIx key, NodeIx) {
    const std::string_view name = in.document().text(key);
    if (in.full() || std::ranges::find(kBesideDag, name) != kBesideDag.end()) return;
    const auto known = task_keys();
    if (std::ranges::find(known, name) == known.end()) return;  // told already
    in.problem(key, fmt::format("'{}' cannot stand beside 'dag'", name),
               std::string(words_for(name)));
  });
}

void write_child(JsonWriter& json, const ChildSpec& child) {
  json.field("dag", std::string_view(child.dag));
  if (child.params.empty()) return;
  json.key("params").begin_object();
  for (const auto& [name, value] : child.params) json.key(name).raw(value);
  json.end_object();
}

void read_dag_outputs(Reading& in, NodeIx node, DagSpec& out) {
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, object_word(in.document().syntax()),
                         "write outputs: {rows: \"${{ tasks.count.outputs.rows }}\"}");
  }
  if (!is_object_of_names(in, node)) return;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    if (in.full()) return;
    auto& [name, text] = out.outputs.emplace_back();
    name = in.document().text(key);
    if (in.document().kind(value) != NodeKind::kText) {
      return in.wrong_type(value, "a string",
                           "write an expression such as ${{ tasks.count.outputs.rows }}");
    }
    text = in.document().text(value);
  });
}

void read_carried_dags(Reading& in, NodeIx node, DagSpec& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    auto dag = std::make_shared<DagSpec>();
    read_dag_document(in, item, *dag);
    out.dags.push_back(std::move(dag));
  });
}

void write_dag_outputs(JsonWriter& json, const DagSpec& spec) {
  if (spec.outputs.empty()) return;
  json.key("outputs").begin_object();
  for (const auto& [name, text] : spec.outputs) json.field(name, std::string_view(text));
  json.end_object();
}

void write_carried_dags(JsonWriter& json, const DagSpec& spec) {
  if (spec.dags.empty()) return;
  json.key("dags").begin_array();
  for (const auto& dag : spec.dags) json.raw(write_dag(*dag));
  json.end_array();
}

}  // namespace vortex::codec
