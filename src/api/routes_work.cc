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
    {"state", Type::kText, "only runs in this state", kRunStateNames},
    {"dag", Type::kText, "only runs of the DAG with this name"},
    {"label", Type::kText, "only runs with this label, as key=value; may be repeated"},
    kLimit,
    kCursor};
constexpr QueryParam kRunTasks[] = {
    {"state", Type::kText, "only tasks in this state", kTaskStateNames},
    {"node", Type::kText, "only tasks of the node with this name"},
    kLimit,
    kCursor};
constexpr QueryParam kTasks[] = {
    {"run", Type::kText, "only tasks of this run"},
    {"state", Type::kText, "only tasks in this state", kTaskStateNames},
    {"worker", Type::kText, "only tasks that this worker holds"},
    {"node", Type::kText, "only tasks of the node with this name; with run"},
    kLimit,
    kCursor};
constexpr QueryParam kRunEvents[] = {
    {"after", Type::kInteger, "only events with a higher sequence"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "a stream, as with Accept: text/event-stream"},
    kLimit};
constexpr QueryParam kReadLog[] = {
    {"attempt", Type::kInteger, "which attempt, by number; without it the latest"},
    {"epoch", Type::kInteger, "which attempt, by epoch"},
    {"offset", Type::kInteger, "first byte"},
    {"tail", Type::kInteger, "only so many bytes at the end"},
    {"limit", Type::kInteger, "at most so many bytes"},
    {"follow", Type::kBoolean, "a stream until the attempt has ended"}};
constexpr QueryParam kWriteLog[] = {
    {"epoch", Type::kInteger, "of the attempt that wrote it", {}, true},
    {"offset", Type::kInteger, "of its first byte in all that the attempt wrote", {}, true}};
constexpr QueryParam kHolder[] = {
    {"epoch", Type::kInteger, "of the attempt", {}, true},
    {"worker", Type::kText, "that holds it", {}, true},
    {"incarnation", Type::kInteger, "of that worker", {}, true},
    {"bytes", Type::kInteger, "of the whole checkpoint"},
    {"upload", Type::kInteger, "as the first call answered"},
    {"offset", Type::kInteger, "of the first byte of the piece"},
    {"refused", Type::kText, "why the worker does not send it, for the monitor log"}};
constexpr QueryParam kPiece[] = {
    {"upload", Type::kInteger, "as the assignment says (checkpoint_upload)", {}, true},
    {"offset", Type::kInteger, "where the piece begins"}};
constexpr QueryParam kFence[] = {{"epoch", Type::kInteger, "VORTEX_EPOCH of the task", {}, true}};
constexpr QueryParam kLetters[] = {
    {"state", Type::kText, "only letters in this state", kLetterStateNames},
    {"run", Type::kText, "only letters of this run"},
    kLimit,
    kCursor};
constexpr QueryParam kRecoveries[] = {{"worker", Type::kText, "only recoveries from this worker"},
                                      {"task", Type::kText, "only recoveries of this task"},
                                      kLimit,
                                      kCursor};

constexpr Route kRoutes[] = {
    with(get("/api/dags", "list_dags", "All named DAGs", "DagList", list_dags), kPage),
    taking(post("/api/dags/validate", Need::kViewer, "validate_dag",
                "Checks a DAG and changes nothing", "DagCheck", validate_dag),
           "DagDocument"),
    get("/api/dags/{name}", "get_dag", "A named DAG with its specification", "DagDetail", get_dag),
    taking(as(post("/api/dags/{name}", Need::kSubmitter, "put_dag",
                   "Keeps a DAG under its name; 201 when it is new", "DagDetail", put_dag),
              Method::kPut),
           "DagDocument"),
    nothing(as(post("/api/dags/{name}", Need::kOperator, "delete_dag",
                    "Forgets the name; runs of it go on", {}, delete_dag),
               Method::kDelete)),
    taking(post("/api/dags/{name}/runs", Need::kSubmitter, "submit_named_run",
                "Makes a run of a named DAG; Idempotency-Key as for POST /api/runs", "Run",
                submit_named_run),
           "SubmitNamedRequest", 201),

    with(get("/api/runs", "list_runs", "Runs, newest first", "RunList", list_runs), kRuns),
    taking(post("/api/runs", Need::kSubmitter, "submit_run",
                "Makes a run. With the header Idempotency-Key it is made once however often this "
                "is sent: 201 the first time, 200 after that",
                "Run", submit_run),
           "SubmitRequest", 201),
    get("/api/runs/{run}", "get_run", "One run", "Run", get_run),
    post("/api/runs/{run}/cancel", Need::kSubmitter, "cancel_run",
         "Stops what runs and starts nothing more", "Run", cancel_run),
    post("/api/runs/{run}/pause", Need::kSubmitter, "pause_run", "Hands out no more of it", "Run",
         pause_run),
    post("/api/runs/{run}/resume", Need::kSubmitter, "resume_run", "Hands it out again", "Run",
         resume_run),
    with(get("/api/runs/{run}/tasks", "list_run_tasks", "Tasks of one run", "TaskList",
             list_run_tasks),
         kRunTasks),
    get("/api/runs/{run}/dag", "get_run_dag", "The DAG that the run was made from", "DagSpec",
        get_run_dag),
    with(get("/api/runs/{run}/events", "get_run_events", "Events of one run, as page or stream",
             "EventPage", get_run_events),
         kRunEvents),

    with(get("/api/tasks", "list_tasks", "Tasks", "TaskList", list_tasks), kTasks),
    get("/api/tasks/{task}", "get_task", "One task with its definition and outputs", "TaskDetail",
        get_task),
    get("/api/tasks/{task}/attempts", "list_attempts", "All attempts at one task", "AttemptList",
        list_attempts),
    with(text(get("/api/tasks/{task}/logs", "get_log",
                  "Output of an attempt as text, or with Accept: application/json as an object; "
                  "X-Vortex-Log-Offset, -Next and -Size say which part",
                  "Log", get_log)),
         kReadLog),
    with(raw(post("/api/tasks/{task}/logs", Need::kWorker, "write_log",
                  "Takes output of an attempt; 409 when it is not the latest one", {}, write_log)),
         kWriteLog),
    with(post("/api/tasks/{task}/checkpoint", Need::kWorker, "begin_checkpoint",
              "Begins to save a checkpoint in pieces; 413 when it is not taken, which the monitor "
              "log then says",
              "CheckpointUpload", begin_checkpoint),
         kHolder),
    with(raw(as(post("/api/tasks/{task}/checkpoint", Need::kWorker, "write_checkpoint_piece",
                     "Takes a piece of at most 1 MiB, in order; 503 with Retry-After when others "
                     "are being written",
                     {}, write_checkpoint_piece),
                Method::kPut)),
         kHolder),
    with(nothing(post("/api/tasks/{task}/checkpoint/keep", Need::kWorker, "keep_checkpoint",
                      "All pieces are there: it is the task's checkpoint from now on", {},
                      keep_checkpoint)),
         kHolder),
    with(bytes(as(
             post("/api/tasks/{task}/checkpoint", Need::kWorker, "read_checkpoint",
                  "One piece of a checkpoint; the next begins where it ends", {}, read_checkpoint),
             Method::kGet)),
         kPiece),
    get("/api/tasks/{task}/explain", "explain_task",
        "Why the task is where it is, and what would move it", "Explanation", explain_task),
    post("/api/tasks/{task}/retry", Need::kOperator, "retry_task",
         "Runs a failed task again, and what was skipped because of it", "Task", retry_task),
    post("/api/tasks/{task}/cancel", Need::kOperator, "cancel_task", "Stops one task", "Task",
         cancel_task),
    with(as(post("/api/tasks/{task}/fence", Need::kWorker, "check_fence",
                 "200 while the attempt holds its task, else 409: to be asked before an "
                 "irreversible step",
                 "Fence", check_fence),
            Method::kGet),
         kFence),

    with(get("/api/dead-letters", "list_dead_letters", "Tasks that were given up, newest first",
             "DeadLetterList", list_dead_letters),
         kLetters),
    get("/api/dead-letters/{task}", "get_dead_letter", "The newest dead letter of a task",
        "DeadLetter", get_dead_letter),
    post("/api/dead-letters/{task}/retry", Need::kOperator, "redrive_dead_letter",
         "Runs the task again", "DeadLetter", redrive_dead_letter),
    post("/api/dead-letters/{task}/discard", Need::kOperator, "discard_dead_letter",
         "Takes the letter off the list", "DeadLetter", discard_dead_letter),
    with(get("/api/recoveries", "list_recoveries", "The ledger of lost workers, newest first",
             "RecoveryList", list_recoveries),
         kRecoveries),
    with(get("/api/recoveries/{recovery}", "get_recovery",
             "One recovery with the tasks that were taken back", "RecoveryDetail", get_recovery),
         kPage),
};

}  // namespace

std::span<const Route> work_routes() { return kRoutes; }

}  // namespace vortex::api
