// Schemas of DAGs, runs, tasks, and of what happens to tasks that go wrong.
#include "api/schema.h"

namespace vortex::api {

namespace {

constexpr std::string_view kVerdictNames[] = {
    "completed",       "exit_code",         "signal",          "out_of_memory",
    "could_not_start", "execution_timeout", "stale",           "not_started_in_time",
    "self_fenced",     "drained",           "lost_in_transit", "worker_lost",
    "cancelled",       "given_back"};
constexpr std::string_view kReasonNames[] = {
    "retries_exhausted", "not_retryable",        "crash_limit",  "stall_limit",
    "never_started",     "worker_queue_expired", "release_limit"};
constexpr std::string_view kEvidenceNames[] = {"exit", "new_incarnation", "operator",  "goodbye",
                                               "hint", "silence",         "reconciler"};

constexpr Field kDag[] = {
    text("name", "the name runs are made by"),
    text("digest", "of everything in the specification, 16 hexadecimal digits"),
    integer("nodes", "nodes it has"),
    integer("tasks", "tasks a run of it has, maps counted out"),
    time("updated_at", "when this version was applied"),
};
constexpr Field kDagList[] = {list("dags", "Dag", "by name"), kNextCursor};
constexpr Field kDagSpec[] = {
    text("name", "of the DAG"),
    text("digest", "of everything in the specification, 16 hexadecimal digits"),
    integer("nodes", "nodes it has"),
    integer("tasks", "tasks a run of it has, maps counted out"),
    integer("levels", "levels it has"),
    any("spec", "the canonical specification"),
};
constexpr Field kDagDetail[] = {time("updated_at", "when this version was applied")};
constexpr Field kDagCheck[] = {
    boolean("valid", "always true: an invalid DAG is answered with a problem"),
    text("name", "of the DAG"),
    text("digest", "of everything in the specification, 16 hexadecimal digits"),
    integer("nodes", "nodes it has"),
    integer("tasks", "tasks a run of it has, maps counted out"),
    integer("levels", "levels it has"),
};

constexpr Field kRun[] = {
    text("id", "r42"),
    text("dag", "name of its DAG"),
    text("dag_digest", "which version of it, 16 hexadecimal digits"),
    one_of("state", kRunStateNames, "where it is"),
    one_of("ending", kEndingNames, "why it takes no more work although tasks are open"),
    boolean("paused", "nothing of it is handed out"),
    time("created_at", "when it was submitted"),
    nullable(time("finished_at", "null: not yet")),
    text_map("labels", "as submitted"),
    any("params", "as submitted"),
    nullable(text("idempotency_key", "as submitted")),
    integer("levels", "levels of its DAG"),
    integer("levels_passed", "levels whose tasks all ended"),
    integer("tasks", "tasks in all, maps counted out"),
    count_map("counts", "tasks made so far, by state"),
};
constexpr Field kRunList[] = {list("runs", "Run", "newest first"), kNextCursor};

constexpr Field kTask[] = {
    text("id", "r42-L1-7: run 42, level 1, index 7"),
    text("run", "r42"),
    text("node", "name of its node in the DAG"),
    integer("index", "within the run"),
    nullable(integer("level", "of its node")),
    one_of("state", kTaskStateNames, "where it is"),
    one_of("stop", kStopNames, "why its worker was asked to stop it"),
    integer("epoch", "of its present or last attempt; the fence"),
    nullable(text("worker", "that holds it")),
    nullable(integer("incarnation", "of that worker")),
    nullable(text("previous_worker", "the one it keeps away from")),
    nullable(integer("recovery", "the ledger entry that waits for its new worker")),
    integer("attempts", "times it was handed out, over operators' retries too"),
    integer("failures", "its own faults; they use up retries"),
    integer("crashes", "times its worker died under it"),
    integer("stalls", "times it timed out or went stale"),
    integer("releases", "times it was given back, nobody to blame"),
    integer("unstarted", "those releases where it was never started"),
    time("created_at", "when it was made"),
    time("updated_at", "last change"),
    nullable(time("ready_at", "not handed out before this")),
    nullable(time("started_at", "of the present or last attempt; null: not started")),
    integer("percent", "progress as it reported it; 100 once completed"),
    text("step", "the step it said it is in; empty: none"),
    integer("exit_code", "of its last attempt that ended by itself"),
    text("error_message", "of its last attempt; empty: none"),
};
constexpr Field kTaskList[] = {list("tasks", "Task", "by id"), kNextCursor};
constexpr Field kCommand[] = {
    texts("argv", "program and arguments"),
    texts("shell", "empty: no shell"),
    text_map("env", "added to the environment"),
    text("workdir", "empty: one is made for the attempt"),
};
constexpr Field kMapItem[] = {
    integer("index", "within its map"),
    text("item", "what this task works on"),
    optional(text("as", "what expressions call it, unless it is `item`")),
};
constexpr Field kTaskDetail[] = {
    text("dag", "name of its DAG"),
    object("command", "Command", "what is run"),
    nullable(object("map", "MapItem", "null: not an item of a map")),
    texts("needs", "nodes that must end first"),
    text("queue", "it waits in"),
    integer("priority", "-100 to 100, higher first"),
    boolean("exclusive", "never two copies at once"),
    nullable(any("outputs", "what it wrote, once completed")),
    nullable(integer("checkpoint_bytes", "size of the last checkpoint it saved")),
};

constexpr Field kAttempt[] = {
    text("task", "its task"),
    integer("epoch", "the fence of this attempt"),
    integer("number", "1 for the first"),
    text("worker", "it was given to"),
    integer("incarnation", "of that worker"),
    nullable(time("granted_at", "when it was handed to the worker")),
    nullable(time("started_at", "null: its start was not reported")),
    nullable(time("ended_at", "null: it is open")),
    nullable(one_of("verdict", kVerdictNames, "how it ended; null: it is open")),
    nullable(integer("code", "exit code or signal number")),
    nullable(text("message", "what was said about its end")),
};
constexpr Field kAttemptList[] = {list("attempts", "Attempt", "oldest first")};

constexpr Field kLog[] = {
    text("task", "its task"),
    nullable(integer("epoch", "of the attempt; null: there was none yet")),
    integer("offset", "of the first byte of text in all that the attempt wrote"),
    integer("next_offset", "where to read on"),
    integer("size", "bytes the attempt wrote so far"),
    integer("skipped", "bytes that were cut out after text"),
    boolean("ended", "the attempt is over: no more will come"),
    text("text", "bytes that are not UTF-8 are replaced"),
};

constexpr Field kExplanation[] = {
    text("task", "its id"),
    one_of("state", kTaskStateNames, "where it is"),
    text("reason", "one word that programs can act on"),
    texts("details", "the facts behind it"),
    text("moves_when", "what would change it"),
    nullable(time("moves_at", "when the time is known")),
};
constexpr Field kCheckpointUpload[] = {
    integer("upload", "names it in the calls that follow"),
    integer("piece_bytes_max", "the largest piece"),
};

constexpr Field kFence[] = {
    text("task", "its id"),
    integer("epoch", "that was asked about"),
    boolean("held", "always true: else the answer is 409"),
};

constexpr Field kDeadLetter[] = {
    text("task", "its id"),
    text("run", "its run"),
    text("dag", "name of its DAG"),
    text("node", "name of its node"),
    integer("level", "of its node"),
    integer("epoch", "of the attempt it died with"),
    one_of("reason", kReasonNames, "why it was given up"),
    one_of("state", kLetterStateNames, "what was done about it"),
    time("at", "when it died"),
    text("message", "the last error"),
};
constexpr Field kDeadLetterList[] = {list("dead_letters", "DeadLetter", "newest first"),
                                     kNextCursor};

constexpr Field kRecovery[] = {
    integer("id", "of the ledger entry"),
    text("worker", "that was lost"),
    integer("incarnation", "which life of it"),
    one_of("evidence", kEvidenceNames, "what the decision rests on"),
    integer("num_tasks", "tasks taken back"),
    time("at", "when"),
};
constexpr Field kRecoveryList[] = {list("recoveries", "Recovery", "newest first"), kNextCursor};
constexpr Field kRecoveryItem[] = {
    text("task", "its id"),
    integer("old_epoch", "that was fenced out"),
    integer("new_epoch", "of the next attempt"),
    text("old_worker", "it was taken from"),
    nullable(text("new_worker", "it was given to; null: not yet")),
    integer("attempts", "times it had been handed out"),
};
constexpr Field kRecoveryDetail[] = {list("items", "RecoveryItem", "one per task"), kNextCursor};

constexpr Field kSubmit[] = {
    any("dag", "a specification, or the name of a DAG that was applied"),
    optional(any("params", "an object")),
    optional(text_map("labels", "to find it again")),
};
constexpr Field kSubmitNamed[] = {
    optional(any("params", "an object")),
    optional(text_map("labels", "to find it again")),
};

constexpr Schema kSchemas[] = {
    {"Dag", "A DAG that was applied.", kDag},
    {"DagList", "A page of DAGs.", kDagList},
    {"DagSpec", "A specification and what it comes to.", kDagSpec},
    {"DagDetail", "A DAG with its specification.", kDagDetail, "DagSpec"},
    {"DagCheck", "What a specification comes to.", kDagCheck},
    {"DagDocument", "The canonical specification: name and tasks.", {}, {}, true},
    {"Run", "One execution of a DAG.", kRun},
    {"RunList", "A page of runs.", kRunList},
    {"Task", "One node of one run, or one item of its map.", kTask},
    {"TaskList", "A page of tasks.", kTaskList},
    {"Command", "What is run, as argv.", kCommand},
    {"MapItem", "Which item of a map.", kMapItem},
    {"TaskDetail", "A task with its definition and outputs.", kTaskDetail, "Task"},
    {"Attempt", "One try at a task on one worker.", kAttempt},
    {"AttemptList", "All attempts at a task.", kAttemptList},
    {"Log", "A piece of the output of an attempt.", kLog},
    {"Explanation", "Why a task is where it is, and what would move it.", kExplanation},
    {"CheckpointUpload", "A checkpoint may be sent.", kCheckpointUpload},
    {"Fence", "The attempt still holds its task.", kFence},
    {"DeadLetter", "A task that was given up.", kDeadLetter},
    {"DeadLetterList", "A page of dead letters.", kDeadLetterList},
    {"Recovery", "A worker was lost and its tasks taken back.", kRecovery},
    {"RecoveryList", "A page of recoveries.", kRecoveryList},
    {"RecoveryItem", "One task that was taken back.", kRecoveryItem},
    {"RecoveryDetail", "A recovery with its tasks, by pages.", kRecoveryDetail, "Recovery"},
    {"SubmitRequest", "A run to be made.", kSubmit},
    {"SubmitNamedRequest", "A run of a named DAG to be made.", kSubmitNamed},
};

}  // namespace

std::span<const Schema> work_schemas() { return kSchemas; }

}  // namespace vortex::api
