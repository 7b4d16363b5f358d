// Routes of DAGs, runs, tasks, dead letters and recoveries.
#include "api/handlers.h"
#include "api/route_rows.h"
#include "api/routes.h"

namespace vortex::api {

namespace {

using net::Method;
using namespace rows;

constexpr QueryParam kPage[] = {kLimit, kCursor};
constexpr QueryParam kRuns[] = {
    {"state", Type::kText, "only runs in this state", words_of<RunState>()},
    {"dag", Type::kText, "only runs of the DAG with this name"},
    {"label", Type::kText, "only runs with this label, key=value; may be repeated"},
    kLimit,
    kCursor};
constexpr QueryParam kRunTasks[] = {
    {"state", Type::kText, "only tasks in this state", words_of<TaskState>()},
    {"node", Type::kText, "only tasks of the node with this name"},
    kLimit,
    kCursor};
constexpr QueryParam kTasks[] = {
    {"run", Type::kText, "only tasks of this run"},
    {"state", Type::kText, "only tasks in this state", words_of<TaskState>()},
    {"worker", Type::kText, "only tasks that this worker holds"},
    {"node", Type::kText, "only tasks of the node with this name; requires run"},
    kLimit,
    kCursor};
constexpr QueryParam kRunEvents[] = {
    {"after", Type::kInteger, "only events after this sequence number"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "stream the events, as with Accept: text/event-stream"},
    kLimit};
constexpr QueryParam kReadLog[] = {
    {"attempt", Type::kInteger, "number of the attempt; defaults to the latest"},
    {"epoch", Type::kInteger, "epoch of the attempt"},
    {"offset", Type::kInteger, "offset of the first byte"},
    {"tail", Type::kInteger, "only this many bytes at the end"},
    {"limit", Type::kInteger, "maximum number of bytes"},
    {"follow", Type::kBoolean, "stream the output until the attempt ends"}};
constexpr QueryParam kWriteLog[] = {
    {"epoch", Type::kInteger, "epoch of the attempt that wrote it", {}, true},
    {"offset", Type::kInteger, "offset of its first byte in the attempt's output", {}, true}};
constexpr QueryParam kHolder[] = {
    {"epoch", Type::kInteger, "epoch of the attempt", {}, true},
    {"worker", Type::kText, "worker that holds it", {}, true},
    {"incarnation", Type::kInteger, "incarnation of that worker", {}, true},
    {"bytes", Type::kInteger, "size of the whole checkpoint"},
    {"upload", Type::kInteger, "id returned by the first call"},
    {"offset", Type::kInteger, "offset of the first byte of the piece"},
    {"refused", Type::kText, "why the worker does not send it; for the monitor log"}};
constexpr QueryParam kPiece[] = {
    {"upload", Type::kInteger, "from the assignment (checkpoint_upload)", {}, true},
    {"offset", Type::kInteger, "where the piece starts"}};
constexpr QueryParam kFence[] = {{"epoch", Type::kInteger, "VORTEX_EPOCH of the task", {}, true}};
constexpr QueryParam kLetters[] = {
    {"state", Type::kText, "only dead letters in this state", words_of<DeadLetterState>()},
    {"run", Type::kText, "only dead letters of this run"},
    kLimit,
    kCursor};
constexpr QueryParam kRecoveries[] = {{"worker", Type::kText, "only recoveries of this worker"},
                                      {"task", Type::kText, "only recoveries of this task"},
                                      kLimit,
                                      kCursor};

constexpr Route kRoutes[] = {
    with(get("/api/dags", "list_dags", "List stored DAGs", "DagList", list_dags), kPage),
    taking(post("/api/dags/validate", Need::kViewer, "validate_dag",
                "Check a DAG without storing it", "DagCheck", validate_dag),
           "DagDocument"),
    get("/api/dags/{name}", "get_dag", "Show a stored DAG with its specification", "DagDetail",
        get_dag),
    taking(as(post("/api/dags/{name}", Need::kSubmitter, "put_dag",
                   "Store a DAG under its name; 201 if it is new", "DagDetail", put_dag),
              Method::kPut),
           "DagDocument"),
    nothing(as(post("/api/dags/{name}", Need::kOperator, "delete_dag",
                    "Delete a stored DAG; its runs continue", {}, delete_dag),
               Method::kDelete)),
    taking(post("/api/dags/{name}/runs", Need::kSubmitter, "submit_named_run",
                "Submit a run of a stored DAG; Idempotency-Key as for POST /api/runs", "Run",
                submit_named_run),
           "SubmitNamedRequest", 201),

    with(get("/api/runs", "list_runs", "List runs, newest first", "RunList", list_runs), kRuns),
    taking(post("/api/runs", Need::kSubmitter, "submit_run",
                "Submit a run. With the header Idempotency-Key, repeated requests start it only "
                "once: 201 the first time, 200 after that",
                "Run", submit_run),
           "SubmitRequest", 201),
    get("/api/runs/{run}", "get_run", "Show a run", "Run", get_run),
    post("/api/runs/{run}/cancel", Need::kSubmitter, "cancel_run",
         "Cancel a run: stop its running tasks and start no more", "Run", cancel_run),
    post("/api/runs/{run}/pause", Need::kSubmitter, "pause_run",
         "Pause a run: start no more of its tasks", "Run", pause_run),
    post("/api/runs/{run}/resume", Need::kSubmitter, "resume_run", "Resume a run", "Run",
         resume_run),
    with(get("/api/runs/{run}/tasks", "list_run_tasks", "List the tasks of a run", "TaskList",
             list_run_tasks),
         kRunTasks),
    get("/api/runs/{run}/dag", "get_run_dag", "Show the DAG of a run", "DagSpec", get_run_dag),
    with(get("/api/runs/{run}/events", "get_run_events",
             "Read the events of a run, as a page or stream", "EventPage", get_run_events),
         kRunEvents),

    with(get("/api/tasks", "list_tasks", "Tasks", "TaskList", list_tasks), kTasks),
    get("/api/tasks/{task}", "get_task", "Show a task with its definition and outputs",
        "TaskDetail", get_task),
    get("/api/tasks/{task}/attempts", "list_attempts", "List the attempts of a task", "AttemptList",
        list_attempts),
    with(text(get("/api/tasks/{task}/logs", "get_log",
                  "Read the output of an attempt as text, or with Accept: application/json as an "
                  "object; X-Vortex-Log-Offset, -Next and -Size say which part",
                  "Log", get_log)),
         kReadLog),
    with(raw(post("/api/tasks/{task}/logs", Need::kWorker, "write_log",
                  "Add output of an attempt; 409 if it is not the latest one", {}, write_log)),
         kWriteLog),
    with(post("/api/tasks/{task}/checkpoint", Need::kWorker, "begin_checkpoint",
              "Start to save a checkpoint in pieces; 413 if it is rejected, which is logged in the "
              "monitor log",
              "CheckpointUpload", begin_checkpoint),
         kHolder),
    with(raw(as(post("/api/tasks/{task}/checkpoint", Need::kWorker, "write_checkpoint_piece",
                     "Add a piece of at most 1 MiB, in order; 503 with Retry-After while others "
                     "are being written",
                     {}, write_checkpoint_piece),
                Method::kPut)),
         kHolder),
    with(nothing(post("/api/tasks/{task}/checkpoint/keep", Need::kWorker, "keep_checkpoint",
                      "Finish the upload and make it the task's checkpoint", {}, keep_checkpoint)),
         kHolder),
    with(bytes(as(post("/api/tasks/{task}/checkpoint", Need::kWorker, "read_checkpoint",
                       "Read one piece of a checkpoint; the next one starts where it ends", {},
                       read_checkpoint),
                  Method::kGet)),
         kPiece),
    get("/api/tasks/{task}/explain", "explain_task",
        "Explain the state of a task and what it is waiting for", "Explanation", explain_task),
    post("/api/tasks/{task}/retry", Need::kOperator, "retry_task",
         "Retry a failed task, and the tasks skipped because of it", "Task", retry_task),
    post("/api/tasks/{task}/cancel", Need::kOperator, "cancel_task", "Cancel a task", "Task",
         cancel_task),
    with(as(post("/api/tasks/{task}/fence", Need::kWorker, "check_fence",
                 "Check before an irreversible step that the attempt still holds its task: 200, "
                 "otherwise 409",
                 "Fence", check_fence),
            Method::kGet),
         kFence),

    with(get("/api/dead-letters", "list_dead_letters", "List dead letters, newest first",
             "DeadLetterList", list_dead_letters),
         kLetters),
    get("/api/dead-letters/{task}", "get_dead_letter", "Show the newest dead letter of a task",
        "DeadLetter", get_dead_letter),
    post("/api/dead-letters/{task}/retry", Need::kOperator, "redrive_dead_letter",
         "Retry the task of a dead letter", "DeadLetter", redrive_dead_letter),
    post("/api/dead-letters/{task}/discard", Need::kOperator, "discard_dead_letter",
         "Discard a dead letter; the task stays failed", "DeadLetter", discard_dead_letter),
    with(get("/api/recoveries", "list_recoveries",
             "List the recoveries of lost workers, newest first", "RecoveryList", list_recoveries),
         kRecoveries),
    with(get("/api/recoveries/{recovery}", "get_recovery",
             "Show a recovery with the reclaimed tasks", "RecoveryDetail", get_recovery),
         kPage),
};

}  // namespace

std::span<const Route> work_routes() { return kRoutes; }

}  // namespace vortex::api
