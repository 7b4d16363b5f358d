// Schemas of DAGs, runs, tasks, and of what happens to tasks that go wrong.
#include "api/schema.h"

namespace vortex::api {

namespace {

constexpr Field kDag[] = {
    text("name", "name of the DAG"),
    text("digest", "digest of the specification, 16 hexadecimal digits"),
    integer("nodes", "number of nodes"),
    integer("tasks", "number of tasks in a run, with maps expanded"),
    time("updated_at", "when this version was applied"),
};
constexpr Field kDagList[] = {list("dags", "Dag", "by name"), kNextCursor};
constexpr Field kDagSpec[] = {
    text("name", "name of the DAG"),
    text("digest", "digest of the specification, 16 hexadecimal digits"),
    integer("nodes", "number of nodes"),
    integer("tasks", "number of tasks in a run, with maps expanded"),
    integer("levels", "number of levels"),
    any("spec", "the canonical specification"),
};
constexpr Field kDagDetail[] = {time("updated_at", "when this version was applied")};
constexpr Field kDagCheck[] = {
    boolean("valid", "always true: an invalid DAG is answered with a problem"),
    text("name", "name of the DAG"),
    text("digest", "digest of the specification, 16 hexadecimal digits"),
    integer("nodes", "number of nodes"),
    integer("tasks", "number of tasks in a run, with maps expanded"),
    integer("levels", "number of levels"),
};

constexpr Field kRun[] = {
    text("id", "r42"),
    text("dag", "name of its DAG"),
    text("dag_digest", "digest of its DAG, 16 hexadecimal digits"),
    one_of("state", words_of<RunState>(), "state of the run"),
    one_of("ending", words_of<RunEnding>(), "why it starts no more tasks although some are open"),
    boolean("paused", "no tasks of it are assigned"),
    time("created_at", "when it was submitted"),
    nullable(time("finished_at", "null: not yet")),
    text_map("labels", "as submitted"),
    any("params", "as submitted"),
    nullable(text("idempotency_key", "as submitted")),
    integer("levels", "number of levels of its DAG"),
    integer("levels_passed", "number of levels whose tasks have all ended"),
    integer("tasks", "total number of tasks, with maps expanded"),
    count_map("counts", "tasks created so far, by state"),
};
constexpr Field kRunList[] = {list("runs", "Run", "newest first"), kNextCursor};

constexpr Field kTask[] = {
    text("id", "r42-L1-7: run 42, level 1, index 7"),
    text("run", "r42"),
    text("node", "name of its node in the DAG"),
    integer("index", "index within the run"),
    nullable(integer("level", "level of its node")),
    one_of("state", words_of<TaskState>(), "state of the task"),
    one_of("stop", words_of<StopReason>(), "why its worker was asked to stop it"),
    integer("epoch", "the fence: epoch of its current or last attempt"),
    nullable(text("worker", "worker that holds it")),
    nullable(integer("incarnation", "incarnation of that worker")),
    nullable(text("previous_worker", "worker that it avoids")),
    nullable(integer("recovery", "ledger entry that waits for its new worker")),
    integer("attempts", "how often it was assigned, including operators' retries"),
    integer("failures", "its own failures; they use up retries"),
    integer("crashes", "how often its worker died while running it"),
    integer("stalls", "how often it timed out or went stale"),
    integer("releases", "how often it was released without blame"),
    integer("unstarted", "releases where it was never started"),
    time("created_at", "time of creation"),
    time("updated_at", "time of the last change"),
    nullable(time("ready_at", "not assigned before this time")),
    nullable(time("started_at", "start of the current or last attempt; null: not started")),
    integer("percent", "progress reported by the task; 100 once completed"),
    text("step", "step reported by the task; empty: none"),
    integer("exit_code", "exit code of its last attempt that ended by itself"),
    text("error_message", "error of its last attempt; empty: none"),
};
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
constexpr Field kTaskDetail[] = {
    text("dag", "name of its DAG"),
    object("command", "Command", "the command to run"),
    nullable(object("map", "MapItem", "null: not an item of a map")),
    texts("needs", "nodes that must end first"),
    text("queue", "queue it waits in"),
    integer("priority", "-100 to 100, higher first"),
    boolean("exclusive", "never two copies at once"),
    nullable(any("outputs", "its outputs, once completed")),
    nullable(integer("checkpoint_bytes", "size of the last checkpoint it saved")),
};

constexpr Field kAttempt[] = {
    text("task", "id of the task"),
    integer("epoch", "the fence of this attempt"),
    integer("number", "number of the attempt, starting at 1"),
    text("worker", "worker it was assigned to"),
    integer("incarnation", "incarnation of that worker"),
    nullable(time("granted_at", "when it was assigned to the worker")),
    nullable(time("started_at", "null: its start was not reported")),
    nullable(time("ended_at", "null: still open")),
    nullable(one_of("verdict", words_of<Verdict>(), "how it ended; null: still open")),
    nullable(integer("code", "exit code or signal number")),
    nullable(text("message", "message about its end")),
};
constexpr Field kAttemptList[] = {list("attempts", "Attempt", "oldest first")};

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

constexpr Field kExplanation[] = {
    text("task", "id of the task"),
    one_of("state", words_of<TaskState>(), "state of the task"),
    text("reason", "one word that programs can act on"),
    texts("details", "details of the reason"),
    text("moves_when", "what would change its state"),
    nullable(time("moves_at", "when, if the time is known")),
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

constexpr Field kDeadLetter[] = {
    text("task", "id of the task"),
    text("run", "id of its run"),
    text("dag", "name of its DAG"),
    text("node", "name of its node"),
    integer("level", "level of its node"),
    integer("epoch", "epoch of its last attempt"),
    one_of("reason", words_of<DeathReason>(), "why it was given up"),
    one_of("state", words_of<DeadLetterState>(), "what was done about it"),
    time("at", "when it was given up"),
    text("message", "the last error"),
};
constexpr Field kDeadLetterList[] = {list("dead_letters", "DeadLetter", "newest first"),
                                     kNextCursor};

constexpr Field kRecovery[] = {
    integer("id", "number of the ledger entry"),
    text("worker", "worker that was lost"),
    integer("incarnation", "incarnation of that worker"),
    one_of("evidence", words_of<Evidence>(), "evidence for the decision"),
    integer("num_tasks", "number of reclaimed tasks"),
    time("at", "time of the recovery"),
};
constexpr Field kRecoveryList[] = {list("recoveries", "Recovery", "newest first"), kNextCursor};
constexpr Field kRecoveryItem[] = {
    text("task", "id of the task"),
    integer("old_epoch", "epoch that was fenced off"),
    integer("new_epoch", "epoch of the next attempt"),
    text("old_worker", "worker it was reclaimed from"),
    nullable(text("new_worker", "worker it was assigned to; null: not yet")),
    integer("attempts", "how often it had been assigned"),
};
constexpr Field kRecoveryDetail[] = {list("items", "RecoveryItem", "one per task"), kNextCursor};

constexpr Field kSubmit[] = {
    any("dag", "a specification, or the name of a stored DAG"),
    optional(any("params", "an object")),
    optional(text_map("labels", "labels for finding it")),
};
constexpr Field kSubmitNamed[] = {
    optional(any("params", "an object")),
    optional(text_map("labels", "labels for finding it")),
};

constexpr Schema kSchemas[] = {
    {"Dag", "A stored DAG.", kDag},
    {"DagList", "A page of DAGs.", kDagList},
    {"DagSpec", "A specification and its properties.", kDagSpec},
    {"DagDetail", "A DAG with its specification.", kDagDetail, "DagSpec"},
    {"DagCheck", "The properties of a specification.", kDagCheck},
    {"DagDocument", "The canonical specification: name and tasks.", {}, {}, true},
    {"Run", "One execution of a DAG.", kRun},
    {"RunList", "A page of runs.", kRunList},
    {"Task", "One node of one run, or one item of its map.", kTask},
    {"TaskList", "A page of tasks.", kTaskList},
    {"Command", "The command of a task.", kCommand},
    {"MapItem", "An item of a map.", kMapItem},
    {"TaskDetail", "A task with its definition and outputs.", kTaskDetail, "Task"},
    {"Attempt", "One try at a task on one worker.", kAttempt},
    {"AttemptList", "All attempts at a task.", kAttemptList},
    {"Log", "A part of the output of an attempt.", kLog},
    {"Explanation", "The state of a task and what it is waiting for.", kExplanation},
    {"CheckpointUpload", "An accepted checkpoint upload.", kCheckpointUpload},
    {"Fence", "The attempt still holds its task.", kFence},
    {"DeadLetter", "A task that was given up.", kDeadLetter},
    {"DeadLetterList", "A page of dead letters.", kDeadLetterList},
    {"Recovery", "The recovery of a lost worker.", kRecovery},
    {"RecoveryList", "A page of recoveries.", kRecoveryList},
    {"RecoveryItem", "A reclaimed task.", kRecoveryItem},
    {"RecoveryDetail", "A recovery with a page of its tasks.", kRecoveryDetail, "Recovery"},
    {"SubmitRequest", "A run to submit.", kSubmit},
    {"SubmitNamedRequest", "A run of a stored DAG to submit.", kSubmitNamed},
};

}  // namespace

std::span<const Schema> work_schemas() { return kSchemas; }

}  // namespace vortex::api
