#include "codec/dag_read.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/dag_json.h"
#include "codec/dag_schedule.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "codec/mistakes.h"
#include "codec/params.h"
#include "codec/reading.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

using enum Presence;

// Tasks are read when the defaults are known, and those may stand behind them.
struct DagDraft {
  DagSpec spec;
  NodeIx tasks = 0;
  NodeIx finally = 0;
  NodeIx finally_timeout = 0;
  NodeIx defaults = 0;
};

void read_version(Reading& in, NodeIx node, DagDraft& /*out*/) {
  std::int64_t version = kDagVersion;
  read_number(in, node, version);
  if (version == kDagVersion || in.full()) return;
  in.problem(node,
             fmt::format("'vortex' is {}; only version {} is supported", version, kDagVersion));
}

// ---- params ----

struct ParamDraft {
  ParamSpec spec;
  NodeIx fallback = 0;
};

constexpr Field<ParamDraft> kParamFields[] = {
    {"type", [](Reading& in, NodeIx node,
                ParamDraft& out) { read_word(in, node, kParamTypes, out.spec.type); }},
    {"default", keep_node<&ParamDraft::fallback, ParamDraft>},
    {"help", [](Reading& in, NodeIx node, ParamDraft& out) { read_text(in, node, out.spec.help); }},
};

void read_param(Reading& in, NodeIx key, NodeIx value, DagDraft& out) {
  if (in.full()) return;
  if (in.document().kind(value) != NodeKind::kObject) {
    return in.wrong_type(value, object_word(in.document().syntax()),
                         R"(write it as {"type": "string", "default": "..."})");
  }
  ParamDraft draft;
  draft.spec.name = in.document().text(key);
  read_object(in, value, "param", kParamFields, draft);
  if (draft.fallback != 0) {
    if (has_type(in.document(), draft.fallback, draft.spec.type)) {
      append_compact(draft.spec.fallback.emplace(), in.document(), draft.fallback);
    } else {
      in.wrong_type(draft.fallback, shown_type(draft.spec.type));
    }
  }
  out.spec.params.push_back(std::move(draft.spec));
}

void read_params(Reading& in, NodeIx node, DagDraft& out) {
  if (!is_object_of_names(in, node)) return;
  in.document().each_member(node,
                            [&](NodeIx key, NodeIx value) { read_param(in, key, value, out); });
}

// ---- the whole ----

constexpr Field<DagDraft> kDagFields[] = {
    {"vortex", read_version},
    {"name", [](Reading& in, NodeIx node, DagDraft& out) { read_text(in, node, out.spec.name); },
     kRequired},
    {"timeout",
     [](Reading& in, NodeIx node, DagDraft& out) { read_timeout(in, node, out.spec.run_timeout); }},
    {"barrier", [](Reading& in, NodeIx node,
                   DagDraft& out) { read_word(in, node, kBarriers, out.spec.barrier_levels); }},
    {"params", read_params},
    {"schedule",
     [](Reading& in, NodeIx node, DagDraft& out) { read_schedule(in, node, out.spec.schedule); }},
    {"concurrency", [](Reading& in, NodeIx node,
                       DagDraft& out) { read_concurrency(in, node, out.spec.concurrency); }},
    {"tasks", keep_node<&DagDraft::tasks, DagDraft>, kRequired},
    {"finally", keep_node<&DagDraft::finally, DagDraft>},
    {"finally_timeout",
     [](Reading& in, NodeIx node, DagDraft& out) {
       out.finally_timeout = node;
       read_timeout(in, node, out.spec.finally_timeout);
     }},
    {"outputs",
     [](Reading& in, NodeIx node, DagDraft& out) { read_dag_outputs(in, node, out.spec); }},
    {"dags",
     [](Reading& in, NodeIx node, DagDraft& out) { read_carried_dags(in, node, out.spec); }},
};

void not_here(Reading& in, NodeIx value, DagDraft& /*out*/) {
  if (in.full()) return;
  in.problem(value - 1, in.document().name_of(value) + " belongs to a task",
             "put it into the task that needs it, or into defaults for all tasks");
}

constexpr Field<DagDraft> kYamlFields[] = {
    {"defaults", keep_node<&DagDraft::defaults, DagDraft>},
    {"secrets", not_here},
    {"hooks", not_yet<DagDraft>},
};

constexpr auto kYamlDagFields = joined(kDagFields, kYamlFields);

void read_finally(Reading& in, DagDraft& draft, const TaskDraft& defaults) {
  if (draft.finally_timeout != 0 && draft.finally == 0 && !in.full()) {
    in.problem(draft.finally_timeout - 1, "'finally_timeout' is given without 'finally'",
               "remove it, or add tasks to finally");
  }
  if (draft.finally == 0) return;
  if (in.document().kind(draft.finally) == NodeKind::kArray) {
    return in.wrong_type(draft.finally, "a map", "write finally: {cleanup: {run: [./cleanup.sh]}}");
  }
  if (!is_object_of_names(in, draft.finally)) return;
  if (in.document().count(draft.finally) == 0 && !in.full()) {
    return in.problem(draft.finally, "'finally' has no tasks", "add one, or remove 'finally'");
  }
  in.document().each_member(draft.finally, [&](NodeIx key, NodeIx value) {
    if (in.full()) return;
    NodeSpec node = read_task(in, {key, value}, defaults);
    node.finally = true;
    draft.spec.nodes.push_back(std::move(node));
  });
}

void read_tasks(Reading& in, DagDraft& draft) {
  TaskDraft defaults;
  if (draft.defaults != 0) read_defaults(in, draft.defaults, defaults);
  if (draft.tasks != 0 && in.document().kind(draft.tasks) == NodeKind::kArray) {
    return in.wrong_type(draft.tasks, "a map", tasks_form(in.document(), draft.tasks));
  }
  if (draft.tasks == 0 || !is_object_of_names(in, draft.tasks)) return;
  draft.spec.nodes.reserve(in.document().count(draft.tasks));
  in.document().each_member(draft.tasks, [&](NodeIx key, NodeIx value) {
    if (!in.full()) draft.spec.nodes.push_back(read_task(in, {key, value}, defaults));
  });
  read_finally(in, draft, defaults);
}

}  // namespace

void read_dag_document(Reading& in, NodeIx root, DagSpec& out) {
  DagDraft draft;
  if (in.document().syntax() == Syntax::kYaml) {
    read_object(in, root, "", kYamlDagFields.fields, draft);
  } else {
    read_object(in, root, "", kDagFields, draft);
  }
  read_tasks(in, draft);
  out = std::move(draft.spec);
}

std::vector<std::string_view> dag_keys() {
  std::vector<std::string_view> keys = keys_of(kYamlDagFields.fields);
  std::erase(keys, "secrets");
  return keys;
}
std::vector<std::string_view> param_keys() { return keys_of(kParamFields); }

Decoded<DagSpec> read_dag(std::string_view json) {
  return decode<DagSpec>(json, UnknownKeys::kRefused, read_dag_document);
}

Decoded<DagSpec> read_stored_dag(std::string_view json) {
  return decode<DagSpec>(json, UnknownKeys::kRefused, read_dag_document, WrittenBy::kController);
}

namespace {

using Kind = DagError::Kind;

// What the error is about when no task is named.
std::string_view member_of_dag(Kind kind) {
  switch (kind) {
    case Kind::kBadValue:
      return "/timeout";  // the one value that a DAG has of its own
    case Kind::kBadName:
    case Kind::kEmpty:
    case Kind::kDuplicateName:
    case Kind::kUnknownNeed:
    case Kind::kSelfNeed:
    case Kind::kDuplicateNeed:
    case Kind::kCycle:
    case Kind::kTooManyNodes:
    case Kind::kTooManyTasks:
    case Kind::kTooManyNeeds:
    case Kind::kTooDeep:
      return "/tasks";
  }
  VX_ASSERT(false && "a value outside DagError::Kind");
}

std::string_view member_of_task(Kind kind) {
  switch (kind) {
    case Kind::kUnknownNeed:
    case Kind::kSelfNeed:
    case Kind::kDuplicateNeed:
    case Kind::kCycle:
    case Kind::kTooDeep:
      return "/needs";
    case Kind::kTooManyTasks:
      return "/map";
    case Kind::kEmpty:
    case Kind::kBadName:
    case Kind::kDuplicateName:
    case Kind::kTooManyNodes:
    case Kind::kTooManyNeeds:
    case Kind::kBadValue:
      return "";
  }
  VX_ASSERT(false && "a value outside DagError::Kind");
}

std::string pointer_of(const DagError& error) {
  const std::string carried = error.dag.empty() ? "" : fmt::format("/dags/{}", error.dag_at);
  if (error.node.empty()) {
    if (!error.member.empty()) {
      std::string pointer = carried;
      for (const std::string& token : error.member) append_pointer(pointer, token);
      return pointer;
    }
    // Names of tasks are told by their number where they cannot be shown; the DAG's own is not.
    const bool own = error.kind == Kind::kBadName && !error.detail.starts_with("node ");
    return carried + std::string(own ? "/name" : member_of_dag(error.kind));
  }
  std::string pointer = carried + (error.in_finally ? "/finally" : "/tasks");
  append_pointer(pointer, error.node);
  if (error.member.empty()) pointer += member_of_task(error.kind);
  for (const std::string& token : error.member) append_pointer(pointer, token);
  return pointer;
}

}  // namespace

Problem explain_dag_error(const DagError& error) {
  constexpr std::string_view kHint = "; did you mean ";
  Problem problem;
  problem.pointer = pointer_of(error);
  problem.help = error.help;
  std::string_view detail = error.detail;
  if (const std::size_t hint = detail.rfind(kHint); hint != detail.npos) {
    problem.help = detail.substr(hint + 2);
    detail = detail.substr(0, hint);
  }
  problem.message = error.node.empty() ? std::string(detail)
                                       : fmt::format("task {}: {}", in_quotes(error.node), detail);
  if (!error.dag.empty()) {
    problem.message = fmt::format("sub-DAG {}: {}", in_quotes(error.dag), problem.message);
  }
  return problem;
}

}  // namespace vortex::codec
