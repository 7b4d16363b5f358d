// Runs, tasks, attempts, dead letters, recoveries and DAGs as JSON.

#include "api/views.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/schema/shape.h"
#include "codec/dag_json.h"

namespace vortex::api {
namespace {

using store::DagView;
using store::DeadLetterView;
using store::RunView;
using store::TaskView;

constexpr std::string_view kDigestDoc = "digest of the specification, 16 hexadecimal digits";
constexpr std::string_view kTasksDoc = "number of tasks in a run, with maps expanded";

const NodeSpec& spec_of(const TaskDetail& detail) {
  return detail.plan.node_spec(detail.task.row.node);
}

void write_command(JsonWriter& json, const TaskDetail& detail) {
  const CommandLine& command = spec_of(detail).command;
  json.begin_object();
  write_text_list(json, "argv", command.argv);
  write_text_list(json, "shell", command.shell);
  write_labels(json, "env", command.env);
  json.field("workdir", command.workdir).end_object();
}

void write_map_item(JsonWriter& json, const TaskDetail& detail) {
  const TaskRow& row = detail.task.row;
  if (!spec_of(detail).map) {
    json.null();
    return;
  }
  json.begin_object().field("index", row.id.index - detail.plan.first_task(row.node));
  json.field("item", detail.plan.map_item(row.id.index)).end_object();
}

void write_outputs(JsonWriter& json, const TaskDetail& detail) {
  const auto& outputs = detail.data.outputs;
  outputs && !outputs->empty() ? json.raw(*outputs) : json.null();
}

std::optional<std::uint64_t> checkpoint_bytes(const TaskDetail& detail) {
  if (detail.data.uploaded) return detail.data.uploaded->bytes;
  if (detail.data.checkpoint) return detail.data.checkpoint->size();
  return std::nullopt;
}

// A task that ended on a worker still names it.
std::optional<Incarnation> incarnation_of(const TaskView& view) {
  if (view.row.worker.empty()) return std::nullopt;
  return view.row.incarnation;
}

const Shape<RunView>& run_shape() {
  static const auto shape =
      Shape<RunView>()
          .record<RunRow>("id")
          .shows<&RunView::dag>("dag", "name of its DAG")
          .shows<[](const RunView& run) { return digest_text(run.dag_digest); }>(
              "dag_digest", "digest of its DAG, 16 hexadecimal digits")
          .record<RunRow>("idempotency_key")
          .shows<&RunView::levels>("levels", "number of levels of its DAG")
          .record<RunRow>("levels_passed")
          .shows<&RunView::tasks>("tasks", "total number of tasks, with maps expanded")
          .record<RunRow>();
  return shape;
}

const Shape<DagView>& dag_shape() {
  static const auto shape =
      Shape<DagView>()
          .record<DagRow>("name")
          .shows<[](const DagView& dag) { return digest_text(dag.digest); }>("digest", kDigestDoc)
          .shows<&DagView::nodes>("nodes", "number of nodes")
          .shows<&DagView::tasks>("tasks", kTasksDoc)
          .record<DagRow>();
  return shape;
}

NamedAmounts late_maps_of(const DagPlan& plan) {
  NamedAmounts out;
  for (const LaidOut& map : plan.late) out.emplace_back(plan.node_spec(map.node).name, map.tasks);
  return out;
}

template <auto Times>
void write_times(JsonWriter& json, const ScheduleShown& shown) {
  json.begin_array();
  for (const Instant at : shown.*Times) json.time(at);
  json.end_array();
}

const Shape<ScheduleShown>& schedule_shape() {
  static const auto shape =
      Shape<ScheduleShown>()
          .record<ScheduleRow>("dag")
          .shows<&ScheduleShown::words>("schedule", "when it comes, in words")
          .shows<&ScheduleShown::timezone>("timezone", "its time zone")
          .shows<&ScheduleShown::overlap>("overlap",
                                          "what happens to a slot while a run has not ended")
          .shows(texts("next", "the next slots; empty: there are no more, or it is paused"),
                 write_times<&ScheduleShown::next>)
          .shows<[](const ScheduleShown& shown) {
            return shown.problem.empty() ? std::nullopt : std::optional(shown.problem);
          }>("problem", "why it cannot start runs; null: it can")
          .record<ScheduleRow>("decided_until")
          .shows(texts("waiting", "slots that wait for a run to end, oldest first"),
                 write_times<&ScheduleShown::waiting>)
          .record<ScheduleRow>("last_run")
          .shows<&ScheduleShown::last_run_state>("last_run_state",
                                                 "state of that run; null: it is not kept")
          .record<ScheduleRow>();
  return shape;
}

// Name and size of a plan.
Shape<DagPlan>& with_size(Shape<DagPlan>& shape) {
  return shape.shows<[](const DagPlan& plan) { return plan.spec.name; }>("name", "name of the DAG")
      .shows<[](const DagPlan& plan) { return digest_text(plan.digest); }>("digest", kDigestDoc)
      .shows<[](const DagPlan& plan) { return plan.nodes.size(); }>("nodes", "number of nodes")
      .shows<&DagPlan::tasks>("tasks", kTasksDoc)
      .shows<&DagPlan::levels>("levels", "number of levels");
}

const Shape<DagPlan>& dag_spec_shape() {
  static const auto shape = [] {
    Shape<DagPlan> made;
    return with_size(made)
        .shows<&late_maps_of>(
            "late_maps",
            "tasks of each map that this run made at run time, in the order they were made")
        .shows(
            any("spec", "the canonical specification"),
            [](JsonWriter& json, const DagPlan& plan) { json.raw(codec::write_dag(plan.spec)); });
  }();
  return shape;
}

const Shape<DagPlan>& dag_check_shape() {
  static const auto shape = [] {
    Shape<DagPlan> made;
    made.shows<[](const DagPlan&) { return true; }>(
        "valid", "always true: an invalid DAG is answered with a problem");
    return with_size(made);
  }();
  return shape;
}

const Shape<TaskView>& task_shape() {
  static const auto shape =
      Shape<TaskView>()
          .record<TaskRow>("id")
          .shows<[](const TaskView& task) { return task.row.id.run; }>("run", "r42")
          .shows<&TaskView::name>("node", "name of its node in the DAG")
          .shows<[](const TaskView& task) { return task.row.id.index; }>("index",
                                                                         "index within the run")
          .record<TaskRow>("worker")
          .shows<&incarnation_of>("incarnation", "incarnation of that worker")
          .record<TaskRow>();
  return shape;
}

const Shape<TaskDetail>& task_detail_shape() {
  using D = TaskDetail;
  static const auto shape =
      Shape<D>()
          .shows<[](const D& d) { return d.plan.spec.name; }>("dag", "name of its DAG")
          .shows(object("command", "Command", "the command to run"), write_command)
          .shows(nullable(object("map", "MapItem", "null: not an item of a map")), write_map_item)
          .shows<[](const D& d) -> const auto& { return spec_of(d).needs; }>(
              "needs", "nodes that must end first")
          .shows<[](const D& d) { return spec_of(d).requirements.queue; }>("queue",
                                                                           "queue it waits in")
          .shows<[](const D& d) { return spec_of(d).priority; }>("priority",
                                                                 "-100 to 100, higher first")
          .shows<[](const D& d) { return spec_of(d).exclusive; }>("exclusive",
                                                                  "never two copies at once")
          .shows(nullable(any("outputs", "its outputs, once completed")), write_outputs)
          .shows<&checkpoint_bytes>("checkpoint_bytes", "size of the last checkpoint it saved");
  return shape;
}

const Shape<AttemptRow>& attempt_shape() {
  static const auto shape = Shape<AttemptRow>().record<AttemptRow>();
  return shape;
}

const Shape<core::Obstacle>& obstacle_shape() {
  using O = core::Obstacle;
  static const auto shape =
      Shape<O>()
          .shows<[](const O& o) { return core::to_text(o.reason); }>(
              "reason", "one word that programs can act on")
          .shows<&O::permanent>("permanent", "stays until somebody acts")
          .shows<&O::what>("what", "the obstacle in a sentence")
          .shows<&O::action>("action", "what to do about it; empty: nothing but wait");
  return shape;
}

const Shape<core::WorkerObstacle>& worker_obstacle_shape() {
  using W = core::WorkerObstacle;
  static const auto shape = Shape<W>()
                                .shows<&W::worker>("worker", "id of the worker")
                                .shows<&W::why>("why", "why it does not run the task right now");
  return shape;
}

void write_obstacles(JsonWriter& json, const core::Explanation& why) {
  json.begin_array();
  for (const core::Obstacle& obstacle : why.obstacles) obstacle_shape().write(json, obstacle);
  json.end_array();
}

void write_worker_obstacles(JsonWriter& json, const core::Explanation& why) {
  json.begin_array();
  for (const core::WorkerObstacle& one : why.workers) worker_obstacle_shape().write(json, one);
  json.end_array();
}

constexpr Field kObstacles =
    list("obstacles", "Obstacle",
         "everything that keeps a queued task from running, permanent obstacles first");
constexpr Field kWorkerObstacles =
    list("workers", "WorkerObstacle", "each worker's own reason, the nearest to running it first");

const Shape<core::Standstill>& standstill_shape() {
  using S = core::Standstill;
  static const auto shape =
      Shape<S>()
          .shows<&S::tasks>("tasks", "how many tasks of this kind were seen")
          .shows<&S::example>("example", "id of one of them")
          .shows<[](const S& s) { return s.why.moves_at; }>(
              "moves_at", "when that changes by itself, if the time is known")
          .shows(kObstacles, [](JsonWriter& json, const S& s) { write_obstacles(json, s.why); })
          .shows(kWorkerObstacles,
                 [](JsonWriter& json, const S& s) { write_worker_obstacles(json, s.why); })
          .shows<[](const S& s) { return s.why.workers_unnamed; }>(
              "workers_unnamed", "how many more workers there are");
  return shape;
}

struct ExplanationShown {
  TaskId task;
  const core::Explanation& what;
};
const Shape<ExplanationShown>& explanation_shape() {
  using E = ExplanationShown;
  static const auto shape =
      Shape<E>()
          .shows<&E::task>("task", "id of the task")
          .shows<[](const E& e) { return e.what.state; }>("state", "state of the task")
          .shows<[](const E& e) { return core::to_text(e.what.reason); }>(
              "reason", "one word that programs can act on")
          .shows<[](const E& e) -> const auto& { return e.what.details; }>("details",
                                                                           "details of the reason")
          .shows<[](const E& e) { return e.what.moves_when; }>("moves_when",
                                                               "what would change its state")
          .shows<[](const E& e) { return e.what.moves_at; }>("moves_at",
                                                             "when, if the time is known")
          .shows(kObstacles, [](JsonWriter& json, const E& e) { write_obstacles(json, e.what); })
          .shows(kWorkerObstacles,
                 [](JsonWriter& json, const E& e) { write_worker_obstacles(json, e.what); })
          .shows<[](const E& e) { return e.what.workers_unnamed; }>(
              "workers_unnamed", "how many more workers there are");
  return shape;
}

const Shape<DeadLetterView>& dead_letter_shape() {
  static const auto shape =
      Shape<DeadLetterView>()
          .record<DeadLetterRow>("task")
          .shows<[](const DeadLetterView& l) { return l.row.attempt.task.run; }>("run",
                                                                                 "id of its run")
          .shows<&DeadLetterView::dag>("dag", "name of its DAG")
          .shows<&DeadLetterView::name>("node", "name of its node")
          .shows<&DeadLetterView::level>("level", "level of its node")
          .record<DeadLetterRow>();
  return shape;
}

const Shape<SignalRow>& signal_shape() {
  static const auto shape = Shape<SignalRow>().record<SignalRow>();
  return shape;
}

using core::OpenApproval;
const Shape<OpenApproval>& approval_shape() {
  static const auto shape =
      Shape<OpenApproval>()
          .shows<&OpenApproval::task>("task", "id of the task that asks")
          .shows<[](const OpenApproval& a) { return a.task.run; }>("run", "id of its run")
          .shows<&OpenApproval::name>("node", "name of the task")
          .shows<&OpenApproval::dag>("dag", "name of its DAG")
          .shows<&OpenApproval::question>("question", "what is asked")
          .shows<[](const OpenApproval& a) {
            std::vector<std::string> roles;
            for (const Role role : a.by) roles.emplace_back(to_text(role));
            return roles;
          }>("by", "roles that may answer, besides admins")
          .shows<[](const OpenApproval& a) {
            return a.due == kNever ? std::optional<Instant>() : a.due;
          }>("times_out_at", "when the task fails unless somebody answers; null: never");
  return shape;
}

const Shape<RecoveryRow>& recovery_shape() {
  static const auto shape = Shape<RecoveryRow>().record<RecoveryRow>();
  return shape;
}

const Shape<RecoveryItemRow>& recovery_item_shape() {
  static const auto shape = Shape<RecoveryItemRow>().record<RecoveryItemRow>();
  return shape;
}

}  // namespace

namespace fields {

Fields run() { return run_shape().fields(); }
Fields dag() { return dag_shape().fields(); }
Fields schedule() { return schedule_shape().fields(); }
Fields dag_spec() { return dag_spec_shape().fields(); }
Fields dag_check() { return dag_check_shape().fields(); }
Fields task() { return task_shape().fields(); }
Fields task_detail() { return task_detail_shape().fields(); }
Fields attempt() { return attempt_shape().fields(); }
Fields explanation() { return explanation_shape().fields(); }
Fields obstacle() { return obstacle_shape().fields(); }
Fields worker_obstacle() { return worker_obstacle_shape().fields(); }
Fields standstill() { return standstill_shape().fields(); }
Fields signal() { return signal_shape().fields(); }
Fields approval() { return approval_shape().fields(); }
Fields dead_letter() { return dead_letter_shape().fields(); }
Fields recovery() { return recovery_shape().fields(); }
Fields recovery_item() { return recovery_item_shape().fields(); }

}  // namespace fields

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

void write_text_list(JsonWriter& json, std::string_view name,
                     const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

void write_cursor(JsonWriter& json, const std::string& next_cursor) {
  write_name(json, "next_cursor", next_cursor);
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

void write_run(JsonWriter& json, const RunView& run) { run_shape().write(json, run); }

void write_dag(JsonWriter& json, const DagView& dag) { dag_shape().write(json, dag); }

void write_dag_spec(JsonWriter& json, const DagDetail& dag) {
  json.begin_object();
  dag_spec_shape().write_fields(json, dag.plan);
  if (dag.updated_at) json.field("updated_at", *dag.updated_at);
  json.end_object();
}

void write_schedule(JsonWriter& json, const ScheduleShown& schedule) {
  schedule_shape().write(json, schedule);
}

void write_dag_check(JsonWriter& json, const DagPlan& plan) { dag_check_shape().write(json, plan); }

void write_task(JsonWriter& json, const TaskView& task) { task_shape().write(json, task); }

void write_task_detail(JsonWriter& json, const TaskDetail& detail) {
  json.begin_object();
  task_shape().write_fields(json, detail.task);
  task_detail_shape().write_fields(json, detail);
  json.end_object();
}

void write_attempt(JsonWriter& json, const AttemptRow& row) { attempt_shape().write(json, row); }

void write_open_attempt(JsonWriter& json, const TaskRow& task) {
  AttemptRow row;
  row.attempt = {task.id, task.epoch};
  row.number = task.counters.attempts;
  row.worker = task.worker;
  row.incarnation = task.incarnation;
  row.granted_at = task.granted_at;
  row.started_at = task.state == TaskState::kRunning ? task.started_at : kNever;
  attempt_shape().write_until("ended_at", json, row);
}

void write_explanation(JsonWriter& json, TaskId task, const core::Explanation& explanation) {
  explanation_shape().write(json, {task, explanation});
}

void write_standstills(JsonWriter& json, const std::vector<core::Standstill>& all) {
  json.begin_array();
  for (const core::Standstill& one : all) standstill_shape().write(json, one);
  json.end_array();
}

void write_signal(JsonWriter& json, const SignalRow& row) { signal_shape().write(json, row); }

void write_approval(JsonWriter& json, const OpenApproval& approval) {
  approval_shape().write(json, approval);
}

void write_dead_letter(JsonWriter& json, const DeadLetterView& letter) {
  dead_letter_shape().write(json, letter);
}

void write_recovery_fields(JsonWriter& json, const RecoveryRow& row) {
  recovery_shape().write_fields(json, row);
}

void write_recovery_item(JsonWriter& json, const RecoveryItemRow& row) {
  recovery_item_shape().write(json, row);
}

}  // namespace vortex::api
