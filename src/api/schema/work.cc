// Schemas of DAGs, runs, tasks, and of what happens to tasks that go wrong.
#include "api/schema/schema.h"
#include "api/views.h"

namespace vortex::api {

namespace {

constexpr Field kScheduleList[] = {list("schedules", "Schedule", "by DAG"), kNextCursor};
constexpr Field kTrigger[] = {
    optional(boolean("unless_running", "refuse it while a run of the schedule has not ended"))};
constexpr Field kDagList[] = {list("dags", "Dag", "by name"), kNextCursor};
constexpr Field kDagDetail[] = {time("updated_at", "when this version was applied")};

constexpr Field kDagVersion[] = {
    text("digest", "digest of the specification, 16 hexadecimal digits"),
    boolean("stored", "it is the one stored under the name"),
    integer("runs", "runs that used it, of those that were looked at"),
    nullable(text("first_run", "the oldest of them")),
    nullable(time("first_at", "when that was submitted")),
    nullable(text("last_run", "the newest of them; GET /api/runs/{run}/dag has the specification")),
    nullable(time("last_at", "when that was submitted")),
};
constexpr Field kDagVersionList[] = {
    list("versions", "DagVersion", "the one used last first"),
    integer("runs_looked_at", "the newest ones"),
    boolean("complete", "there are no older runs"),
};

constexpr Field kRunList[] = {list("runs", "Run", "newest first"), kNextCursor};

constexpr Field kTaskList[] = {list("tasks", "Task", "by id"), kNextCursor};
constexpr Field kCommand[] = {
    texts("argv", "program and arguments"),
    texts("shell", "empty: no shell"),
    text_map("env", "added to the environment"),
    text("workdir", "empty: a directory is created for the attempt"),
};
constexpr Field kMapItem[] = {
    integer("index", "index within its map"),
    text("item", "item that this task processes"),
    optional(text("as", "its name in expressions, unless it is `item`")),
};

constexpr Field kAttemptList[] = {list("attempts", "Attempt", "oldest first")};

constexpr Field kRunAttemptList[] = {list("attempts", "Attempt", "by task, then oldest first"),
                                     kNextCursor};

constexpr Field kLog[] = {
    text("task", "id of the task"),
    nullable(integer("epoch", "epoch of the attempt; null: there was none yet")),
    integer("offset", "offset of the first byte of text in the attempt's output"),
    integer("next_offset", "where to continue reading"),
    integer("size", "bytes written by the attempt so far"),
    integer("skipped", "bytes dropped after text"),
    boolean("ended", "the attempt has ended: there will be no more output"),
    text("text", "bytes that are not UTF-8 are replaced"),
};

constexpr Field kCheckpointUpload[] = {
    integer("upload", "identifies it in the following calls"),
    integer("piece_bytes_max", "maximum size of a piece"),
};

constexpr Field kFence[] = {
    text("task", "id of the task"),
    integer("epoch", "epoch that was checked"),
    boolean("held", "always true: otherwise the response is 409"),
};

constexpr Field kDeadLetterList[] = {list("dead_letters", "DeadLetter", "newest first"),
                                     kNextCursor};

constexpr Field kBulkLetters[] = {
    integer("expected", "how many open dead letters match, as the caller has seen them"),
    optional(text("run", "only dead letters of this run")),
};
constexpr Field kBulkRefusal[] = {
    text("task", "id of the task"),
    text("code", "as in a problem"),
    text("detail", "why it was not possible"),
};
constexpr Field kBulkOutcome[] = {
    integer("done", "dead letters that were retried or discarded"),
    list("refused", "BulkRefusal", "those where it was not possible"),
};

constexpr Field kRecoveryList[] = {list("recoveries", "Recovery", "newest first"), kNextCursor};
constexpr Field kRecoveryDetail[] = {list("items", "RecoveryItem", "one per task"), kNextCursor};

constexpr Field kKeep[] = {
    text("run", "id of the earlier run"),
    optional(texts("again", "tasks that run again, with everything behind them")),
};
constexpr Field kRerun[] = {
    optional(any("params", "an object: the params that change")),
    optional(boolean("keep", "keep the results of the run that are still valid")),
    optional(texts("again", "with `keep`: tasks that run again, with everything behind them")),
};
constexpr Field kStartsAt =
    optional(time("starts_at", "when the run starts, at most 366 days ahead; not given: at once"));
constexpr Field kKeepOf =
    optional(object("keep", "Keep", "results of an earlier run to keep where they are valid"));
constexpr Field kSubmit[] = {
    any("dag", "a specification, or the name of a stored DAG"),
    optional(any("params", "an object")),
    optional(text_map("labels", "labels for finding it")),
    kStartsAt,
    kKeepOf,
};
constexpr Field kSubmitNamed[] = {
    optional(time("slot", "slot of the DAG's schedule that the run makes up for")),
    kStartsAt,
    kKeepOf,
    optional(any("params", "an object")),
    optional(text_map("labels", "labels for finding it")),
};
constexpr Field kSubmitItem[] = {
    optional(text("dag", "the name of a stored DAG, if it is not the common one")),
    optional(any("params", "an object")),
    optional(text_map("labels", "labels for finding it")),
    optional(text("idempotency_key", "identifies this run, at most 200 bytes")),
};
constexpr Field kSubmitMany[] = {
    optional(any("dag", "a specification, or the name of a stored DAG, for all runs")),
    list("runs", "SubmitItem", "1 to 10,000 runs"),
};
constexpr Field kSubmittedRun[] = {
    integer("status",
            "201: started; 200: an earlier request with the same key started it; else "
            "the status of the error"),
    optional(text("id", "id of the run")),
    optional(object("problem", "Problem", "why it was not started")),
};
constexpr Field kSubmittedRuns[] = {
    integer("started", "runs that this request started"),
    integer("repeated", "runs that an earlier request started"),
    integer("refused", "runs that were not started"),
    list("runs", "SubmittedRun", "in the order of the request"),
};
constexpr Field kSignalList[] = {list("signals", "Signal", "in the order of their arrival")};
constexpr Field kSignalRequest[] = {
    optional(any("data", "an object: the outputs of the task that takes it")),
};
constexpr Field kApproveRequest[] = {
    optional(text("comment", "comment for the record, at most 1,000 bytes")),
    optional(any("data", "an object: more outputs of the task")),
};
constexpr Field kRejectRequest[] = {text("reason", "why, at most 1,000 bytes")};
constexpr Field kApprovalList[] = {
    list("approvals", "Approval", "by run and task, at most 1,000"),
};

constexpr Field kRunExplanation[] = {
    text("run", "id of the run"),
    one_of("state", words_of<RunState>(), "state of the run"),
    integer("held", "tasks that are on workers"),
    list("standstills", "Standstill",
         "what does not move until somebody acts, the most tasks first; empty: nothing"),
};

}  // namespace

std::span<const Schema> work_schemas() {
  static const Schema schemas[] = {
      {"Dag", "A stored DAG.", fields::dag()},
      {"DagList", "A page of DAGs.", kDagList},
      {"Schedule", "A stored DAG that starts runs by itself.", fields::schedule()},
      {"ScheduleList", "A page of schedules.", kScheduleList},
      {"TriggerRequest", "How a run outside of the slots is started.", kTrigger},
      {"DagSpec", "A specification and its properties.", fields::dag_spec()},
      {"DagDetail", "A DAG with its specification.", kDagDetail, "DagSpec"},
      {"DagVersion", "One specification that runs of a DAG used.", kDagVersion},
      {"DagVersionList", "The versions of a DAG.", kDagVersionList},
      {"DagCheck", "The properties of a specification.", fields::dag_check()},
      {"DagDocument", "The canonical specification: name and tasks.", {}, {}, true},
      {"Run", "One execution of a DAG.", fields::run()},
      {"RunList", "A page of runs.", kRunList},
      {"Task", "One node of one run, or one item of its map.", fields::task()},
      {"TaskList", "A page of tasks.", kTaskList},
      {"Command", "The command of a task.", kCommand},
      {"MapItem", "An item of a map.", kMapItem},
      {"TaskDetail", "A task with its definition and outputs.", fields::task_detail(), "Task"},
      {"Attempt", "One try at a task on one worker.", fields::attempt()},
      {"AttemptList", "All attempts at a task.", kAttemptList},
      {"RunAttemptList", "The attempts of a page of tasks of a run.", kRunAttemptList},
      {"Log", "A part of the output of an attempt.", kLog},
      {"Explanation", "The state of a task and what it is waiting for.", fields::explanation()},
      {"Obstacle", "One of the things that keep a task from running.", fields::obstacle()},
      {"WorkerObstacle", "Why one worker does not run a task.", fields::worker_obstacle()},
      {"Standstill", "Tasks that do not move until somebody acts.", fields::standstill()},
      {"RunExplanation", "Why a run does not move.", kRunExplanation},
      {"CheckpointUpload", "An accepted checkpoint upload.", kCheckpointUpload},
      {"Fence", "The attempt still holds its task.", kFence},
      {"DeadLetter", "A task that was given up.", fields::dead_letter()},
      {"DeadLetterList", "A page of dead letters.", kDeadLetterList},
      {"BulkLettersRequest", "Which dead letters to act on.", kBulkLetters},
      {"BulkOutcome", "What became of all dead letters that matched.", kBulkOutcome},
      {"BulkRefusal", "A dead letter that nothing was done to.", kBulkRefusal},
      {"Recovery", "The recovery of a lost worker.", fields::recovery()},
      {"RecoveryList", "A page of recoveries.", kRecoveryList},
      {"RecoveryItem", "A reclaimed task.", fields::recovery_item()},
      {"RecoveryDetail", "A recovery with a page of its tasks.", kRecoveryDetail, "Recovery"},
      {"Signal", "A signal that a run was sent, or the answer to an approval.", fields::signal()},
      {"SignalList", "What a run was told.", kSignalList},
      {"SignalRequest", "The payload of a signal.", kSignalRequest},
      {"ApproveRequest", "The approval of what a task asks.", kApproveRequest},
      {"RejectRequest", "The rejection of what a task asks.", kRejectRequest},
      {"Approval", "A question that nobody has answered.", fields::approval()},
      {"ApprovalList", "Questions that nobody has answered.", kApprovalList},
      {"SubmitRequest", "A run to submit.", kSubmit},
      {"SubmitNamedRequest", "A run of a stored DAG to submit.", kSubmitNamed},
      {"Keep", "Which results of an earlier run a new one may keep.", kKeep},
      {"RerunRequest", "A new run like an earlier one.", kRerun},
      {"SubmitItem", "One of many runs to submit.", kSubmitItem},
      {"SubmitManyRequest", "Many runs to submit.", kSubmitMany},
      {"SubmittedRun", "What came of one of many submits.", kSubmittedRun},
      {"SubmittedRuns", "What came of many submits.", kSubmittedRuns},
  };
  return schemas;
}

}  // namespace vortex::api
