#include <fmt/format.h>

#include "api/schema.h"
#include "api/views.h"
#include "codec/dag_json.h"

namespace vortex::api {

namespace {

void write_counts(JsonWriter& json, const TaskCounts& counts) {
  json.key("counts").begin_object();
  for (std::size_t i = 0; i < counts.size(); ++i) json.field(words_of<TaskState>()[i], counts[i]);
  json.end_object();
}

void write_task_fields(JsonWriter& json, const store::TaskView& view) {
  const TaskRow& row = view.row;
  json.field("id", to_text(row.id)).field("run", to_text(row.id.run)).field("node", view.name);
  json.field("index", row.id.index).key("level");
  row.level ? json.number(std::uint64_t{*row.level}) : json.null();
  json.field("state", to_text(row.state)).field("stop", to_text(row.stop));
  json.field("epoch", row.epoch.value);
  write_name(json, "worker", row.worker.text);
  json.key("incarnation");
  row.worker.empty() ? json.null() : json.number(row.incarnation.value);
  write_name(json, "previous_worker", row.previous_worker.text);
  json.key("recovery");
  row.recovery.value == 0 ? json.null() : json.number(row.recovery.value);
  const TaskCounters& n = row.counters;
  json.field("attempts", std::uint32_t{n.attempts}).field("failures", std::uint32_t{n.failures});
  json.field("crashes", std::uint32_t{n.crashes}).field("stalls", std::uint32_t{n.stalls});
  json.field("releases", std::uint32_t{n.releases});
  json.field("unstarted", std::uint32_t{n.unstarted});
  json.field("created_at", row.created_at).field("updated_at", row.updated_at);
  write_time(json, "ready_at", row.ready_at);
  write_time(json, "started_at", row.started_at);
  json.field("percent", std::uint32_t{row.percent}).field("step", row.step);
  json.field("exit_code", std::int64_t{row.exit_code}).field("error_message", row.error_message);
}

void write_command(JsonWriter& json, const CommandLine& command) {
  json.key("command").begin_object();
  write_texts(json, "argv", command.argv);
  write_texts(json, "shell", command.shell);
  json.key("env").begin_object();
  for (const auto& [name, value] : command.env) json.field(name, value);
  json.end_object().field("workdir", command.workdir).end_object();
}

void write_map_item(JsonWriter& json, const DagPlan& plan, TaskId id, std::uint32_t node) {
  json.key("map");
  if (!plan.node_spec(node).map) {
    json.null();
    return;
  }
  json.begin_object().field("index", id.index - plan.nodes[node].first_task);
  json.field("item", plan.map_item(id.index)).end_object();
}

void write_plan_size(JsonWriter& json, const DagPlan& plan) {
  json.field("name", plan.spec.name).field("digest", digest_text(plan.digest));
  json.field("nodes", static_cast<std::uint64_t>(plan.nodes.size())).field("tasks", plan.tasks);
  json.field("levels", plan.levels);
}

}  // namespace

void write_time(JsonWriter& json, std::string_view name, Instant at) {
  json.key(name);
  at.us == 0 ? json.null() : json.time(at);
}

void write_name(JsonWriter& json, std::string_view name, std::string_view text) {
  json.key(name);
  text.empty() ? json.null() : json.text(text);
}

void write_labels(JsonWriter& json, std::string_view name, const Labels& labels) {
  json.key(name).begin_object();
  for (const auto& [key, value] : labels) json.field(key, value);
  json.end_object();
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

void write_cursor(JsonWriter& json, const std::string& next_cursor) {
  write_name(json, "next_cursor", next_cursor);
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

void write_run(JsonWriter& json, const store::RunView& run) {
  json.begin_object().field("id", to_text(run.id)).field("dag", run.dag);
  json.field("dag_digest", digest_text(run.dag_digest)).field("state", to_text(run.state));
  json.field("ending", to_text(run.ending)).field("paused", run.paused);
  json.field("created_at", run.created_at);
  write_time(json, "finished_at", run.finished_at);
  static const RunRequest kNoRequest;
  const RunRequest& request = run.request ? *run.request : kNoRequest;
  write_labels(json, "labels", request.labels);
  json.key("params").raw(request.params.empty() ? std::string_view("{}") : request.params);
  write_name(json, "idempotency_key", request.idempotency_key);
  json.field("levels", run.levels).field("levels_passed", run.levels_passed);
  json.field("tasks", run.tasks);
  write_counts(json, run.made);
  json.end_object();
}

void write_dag(JsonWriter& json, const store::DagView& dag) {
  json.begin_object().field("name", dag.name).field("digest", digest_text(dag.digest));
  json.field("nodes", dag.nodes).field("tasks", dag.tasks).field("updated_at", dag.updated_at);
  json.end_object();
}

void write_dag_spec(JsonWriter& json, const DagDetail& dag) {
  json.begin_object();
  write_plan_size(json, dag.plan);
  json.key("spec").raw(codec::write_dag(dag.plan.spec));
  if (dag.updated_at) json.field("updated_at", *dag.updated_at);
  json.end_object();
}

void write_dag_check(JsonWriter& json, const DagPlan& plan) {
  json.begin_object().field("valid", true);
  write_plan_size(json, plan);
  json.end_object();
}

void write_task(JsonWriter& json, const store::TaskView& task) {
  json.begin_object();
  write_task_fields(json, task);
  json.end_object();
}

void write_task_detail(JsonWriter& json, const TaskDetail& detail) {
  const NodeSpec& spec = detail.plan.node_spec(detail.task.row.node);
  json.begin_object();
  write_task_fields(json, detail.task);
  json.field("dag", detail.plan.spec.name);
  write_command(json, spec.command);
  write_map_item(json, detail.plan, detail.task.row.id, detail.task.row.node);
  write_texts(json, "needs", spec.needs);
  json.field("queue", spec.requirements.queue).field("priority", std::int64_t{spec.priority});
  json.field("exclusive", spec.exclusive).key("outputs");
  const auto& outputs = detail.data.outputs;
  outputs && !outputs->empty() ? json.raw(*outputs) : json.null();
  json.key("checkpoint_bytes");
  const auto& checkpoint = detail.data.checkpoint;
  if (detail.data.uploaded) {
    json.number(detail.data.uploaded->bytes);
  } else {
    checkpoint ? json.number(std::uint64_t{checkpoint->size()}) : json.null();
  }
  json.end_object();
}

void write_attempt(JsonWriter& json, const AttemptRow& row) {
  json.begin_object().field("task", to_text(row.attempt.task));
  json.field("epoch", row.attempt.epoch.value).field("number", row.number);
  json.field("worker", row.worker.text).field("incarnation", row.incarnation.value);
  write_time(json, "granted_at", row.granted_at);
  write_time(json, "started_at", row.started_at);
  write_time(json, "ended_at", row.ended_at);
  json.field("verdict", to_text(row.verdict)).field("code", std::int64_t{row.code});
  json.field("message", row.message).end_object();
}

void write_open_attempt(JsonWriter& json, const TaskRow& row) {
  json.begin_object().field("task", to_text(row.id)).field("epoch", row.epoch.value);
  json.field("number", std::uint32_t{row.counters.attempts}).field("worker", row.worker.text);
  json.field("incarnation", row.incarnation.value);
  write_time(json, "granted_at", row.granted_at);
  write_time(json, "started_at", row.state == TaskState::kRunning ? row.started_at : kNever);
  for (const auto* name : {"ended_at", "verdict", "code", "message"}) json.key(name).null();
  json.end_object();
}

void write_explanation(JsonWriter& json, TaskId task, const core::Explanation& explanation) {
  json.begin_object().field("task", to_text(task)).field("state", to_text(explanation.state));
  json.field("reason", core::to_text(explanation.reason));
  write_texts(json, "details", explanation.details);
  json.field("moves_when", explanation.moves_when);
  write_time(json, "moves_at", explanation.moves_at.value_or(kNever));
  json.end_object();
}

void write_dead_letter(JsonWriter& json, const store::DeadLetterView& letter) {
  const DeadLetterRow& row = letter.row;
  json.begin_object().field("task", to_text(row.attempt.task));
  json.field("run", to_text(row.attempt.task.run)).field("dag", letter.dag);
  json.field("node", letter.name).field("level", letter.level);
  json.field("epoch", row.attempt.epoch.value).field("reason", to_text(row.reason));
  json.field("state", to_text(row.state)).field("at", row.at);
  json.field("message", row.message).end_object();
}

void write_recovery_fields(JsonWriter& json, const RecoveryRow& row) {
  json.field("id", row.id.value).field("worker", row.worker.text);
  json.field("incarnation", row.incarnation.value).field("evidence", to_text(row.evidence));
  json.field("num_tasks", row.num_tasks).field("at", row.at);
}

void write_recovery_item(JsonWriter& json, const RecoveryItemRow& row) {
  json.begin_object().field("task", to_text(row.task)).field("old_epoch", row.old_epoch.value);
  json.field("new_epoch", row.new_epoch.value).field("old_worker", row.old_worker.text);
  write_name(json, "new_worker", row.new_worker.text);
  json.field("attempts", std::uint32_t{row.attempts}).end_object();
}

}  // namespace vortex::api
