// Schemas of workers, machines, queues and partition leases.
#include "api/schema.h"

namespace vortex::api {

namespace {

constexpr std::string_view kReportKindNames[] = {"started", "checkpoint", "completed",
                                                 "failed",  "released",   "timed_out"};
constexpr std::string_view kReportCauseNames[] = {"exit_code",       "signal",     "out_of_memory",
                                                  "could_not_start", "drained",    "self_fenced",
                                                  "stopped",         "not_started"};
constexpr std::string_view kLeavingNames[] = {"no", "draining", "gone"};
constexpr std::string_view kStopWhyNames[] = {"cancelled", "stale", "execution_timeout",
                                              "not_started_in_time"};

constexpr Field kWorker[] = {
    text("id", "as it registered"),
    text("name", "for people"),
    text("machine", "it runs on"),
    one_of("state", kWorkerStateNames, "IDLE and RUNNING together are the active ones"),
    boolean("suspect", "there are signs that it is gone: it gets no new work"),
    boolean("cordoned", "it gets no new work until somebody says so"),
    integer("incarnation", "which life of it"),
    text("address", "of its health endpoint; empty: it can not be probed"),
    text("zone", "as it registered"),
    text("group", "as it registered"),
    text("version", "of its program"),
    text("metadata", "as it registered"),
    texts("queues", "it takes tasks from"),
    text_map("labels", "it offers"),
    texts("runtimes", "it offers"),
    integer("slots", "tasks it can hold"),
    integer("cpu_milli", "0: not rationed"),
    integer("memory_bytes", "0: not rationed"),
    count_map("resources", "named amounts it offers"),
    integer("held", "tasks it holds"),
    integer("completed", "attempts that completed on it, as far as they are kept"),
    integer("ended", "attempts that ended on it in any way"),
    integer("times_lost", "how often it was lost; kept over restarts and reset-state"),
    integer("lost_lately", "how often within controller.flapping_window_secs"),
    boolean("flapping", "it was lost too often lately"),
    time("registered_at", "start of this life"),
    nullable(time("last_heartbeat", "null: none yet")),
    nullable(integer("seconds_since_heartbeat", "null: none yet")),
    integer("uptime_seconds", "of this life; 0 when it is gone"),
};
constexpr Field kWorkerList[] = {list("workers", "Worker", "by id"), kNextCursor};

constexpr Field kMachine[] = {
    text("id", "as its workers named it"),
    boolean("online", "any of its workers is"),
    time("since", "of the last change"),
};
constexpr Field kMachineList[] = {list("machines", "Machine", "by id")};

constexpr Field kQueue[] = {
    text("name", "of the queue"),
    boolean("paused", "nothing of it is handed out"),
    integer("ready", "tasks that may start now"),
    integer("held", "tasks on workers"),
    integer("workers", "present ones that listen to it"),
    nullable(time("oldest_ready", "since when the oldest ready one waits")),
};
constexpr Field kQueueList[] = {list("queues", "Queue", "by name")};
constexpr Field kQueueState[] = {
    text("name", "of the queue"),
    boolean("paused", "nothing of it is handed out"),
};

constexpr Field kLease[] = {
    text("topic", "what is shared out"),
    integer("partition", "which part of it"),
    nullable(text("agent", "that holds it; null: free")),
    integer("epoch", "grows with every new holder; the fence"),
    nullable(time("expires_at", "unless renewed before")),
    boolean("live", "held and not expired"),
};
constexpr Field kLeaseGrant[] = {
    text("topic", "what is shared out"),
    integer("partition", "which part of it"),
    nullable(text("agent", "that holds it")),
    integer("epoch", "grows with every new holder; the fence"),
    nullable(time("expires_at", "unless renewed before")),
    boolean("live", "held and not expired"),
    nullable(time("renew_at", "when the holder should renew")),
    integer("renew_after_ms", "the same, from now on: count it from when you sent the request"),
    integer("expires_in_ms", "how long it is still held: count it from when you sent the request"),
};
constexpr Field kLeaseList[] = {list("leases", "Lease", "by topic and partition"), kNextCursor};
constexpr Field kLeaseRequest[] = {text("agent", "that wants to hold it")};
constexpr Field kLeaseHeld[] = {
    text("agent", "that holds it"),
    integer("epoch", "it was granted with"),
};

constexpr Field kDrain[] = {
    optional(text("deadline",
                  "how long running tasks may take to finish, as 10s; then they are "
                  "stopped and run elsewhere. Default: the worker's "
                  "shutdown_timeout_secs")),
};
constexpr Field kExited[] = {
    integer("incarnation", "which life ended"),
    optional(list("started", "StartedAttempt", "what ran in it then, reported or not")),
    optional(any("incarnations", "numbers of all lives that this process had")),
    optional(integer("exit_code", "how it ended")),
    optional(integer("signal", "which signal killed it")),
};
constexpr Field kLifecycle[] = {
    text("machine", "on which the supervisor runs"),
    text("journal", "a new journal numbers its entries anew"),
    list("entries", "LifecycleEntry", "in order"),
};
constexpr Field kLifecycleEntry[] = {
    integer("id", "grows; what was taken before is passed over"),
    text("event",
         "worker_spawn, worker_spawn_retry, worker_spawn_failed, worker_exit, worker_crash or "
         "worker_respawn"),
    text("worker", "its id"),
    optional(integer("incarnation", "which life ended")),
    optional(text("at", "when, by the clock of its machine")),
    optional(any("data", "numbers and strings such as attempt, reason, wait_ms, exit_code")),
};
constexpr Field kStartedAttempt[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
};

constexpr Field kRegister[] = {
    text("id", "1 to 200 bytes; two workers must not share one"),
    optional(text("machine", "it runs on; the id when absent")),
    optional(text("name", "for people")),
    optional(text("address", "host:port of its health endpoint; absent: it cannot be probed")),
    optional(text("zone", "to be found by")),
    optional(text("group", "to be found by")),
    optional(text("version", "of its program")),
    optional(any("metadata", "a string or an object, 64 KiB at most")),
    optional(texts("queues", "it takes tasks from; [\"default\"] when absent")),
    optional(text_map("labels", "it offers")),
    optional(texts("runtimes", "it offers")),
    optional(integer("slots", "tasks it can run at once; 1 when absent")),
    optional(any("resources", "amounts it offers: cpu, memory, named")),
    optional(integer("incarnation",
                     "higher than in every earlier life of this id; 0 or absent: one is chosen")),
};
constexpr Field kRegisterReply[] = {
    integer("term", "of the leader"),
    integer("incarnation", "of this life; part of every sync"),
    integer("lease_ms", "L: after this long without a call the worker counts as dead"),
    integer("heartbeat_interval_ms", "H: the longest time between two calls"),
    optional(integer("self_fence_ms",
                     "F: kill all tasks when the last acknowledged call was sent this long ago")),
};
constexpr Field kMark[] = {integer("term", "of the leader"),
                           integer("reply", "number of the reply")};
constexpr Field kProgress[] = {
    optional(integer("percent", "0 to 100")),
    optional(text("step", "what it does now")),
};
constexpr Field kHeld[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    optional(object("progress", "Progress", "as the task wrote it; absent: nothing yet")),
    optional(integer("output_bytes", "all it has written; where the assignment has report_output")),
};
constexpr Field kReport[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    one_of("kind", kReportKindNames, "what happened"),
    optional(text("data", "of checkpoint: its bytes, as UTF-8")),
    optional(text("data_base64", "of checkpoint: its bytes, when they are not UTF-8")),
    optional(any("outputs", "of completed: an object, 256 KiB at most")),
    optional(one_of("cause", kReportCauseNames,
                    "of failed: exit_code, signal, out_of_memory, could_not_start; "
                    "of released: drained, self_fenced, stopped, not_started")),
    optional(integer("code", "of failed: exit code or signal number; 1 when absent")),
    optional(text("message", "of failed: one line for people")),
};
constexpr Field kSync[] = {
    integer("incarnation", "which life speaks"),
    integer("seq", "from 1; higher with every call, repeated ones too"),
    optional(object("ack", "ReplyMark", "the mark of the newest answer it has acted on")),
    integer("slots", "tasks it is willing to hold in all, held ones included"),
    optional(list("held", "HeldTask", "all that it holds; absent: nothing is said about it")),
    optional(list("reports", "Report", "repeated until seq_seen has reached the call")),
    optional(one_of("leaving", kLeavingNames,
                    "draining: no new tasks; gone: the session ends with this call")),
    optional(integer("wait_ms", "how long the answer may be held back, H at most")),
    optional(integer("worker_clock_us", "its wall clock; for display only")),
};
constexpr Field kAssignment[] = {
    text("task", "its id"),
    integer("epoch", "the fence of this attempt"),
    integer("attempt", "1 for the first"),
    text("name", "of its node"),
    text("dag", "name of its DAG"),
    optional(texts("run",
                   "the program and its arguments, to be started exactly so, "
                   "without a shell; a shell the task asked for stands in front")),
    optional(text_map("env", "variables on top of the worker's own, values resolved")),
    optional(text("workdir", "to start it in; absent: the worker's own")),
    optional(any("resources", "cpu, memory and named amounts it was promised")),
    optional(texts("outputs", "names that its outputs file must hold, or it has failed")),
    optional(object("map", "MapItem", "which item of a map")),
    optional(integer("timeout_ms", "how long it may run; then kill it and report timed_out")),
    optional(integer("kill_grace_ms", "K: from SIGTERM to SIGKILL, at most")),
    optional(boolean("report_output", "say in `held` how much it has written")),
    optional(text("checkpoint", "saved by the attempt before")),
    optional(text("checkpoint_base64", "the same, when it is not UTF-8")),
    optional(integer("checkpoint_upload",
                     "instead: it is large and read from /api/tasks/{task}/checkpoint")),
    optional(integer("checkpoint_bytes", "its size")),
};
constexpr Field kStopOrder[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    one_of("why", kStopWhyNames, "for the log; the answer is the same for all"),
};
constexpr Field kStaleAttempt[] = {text("task", "its id"), integer("epoch", "of the attempt")};
constexpr Field kSyncReply[] = {
    object("mark", "ReplyMark", "to be acknowledged"),
    integer("seq_seen", "every report sent up to this seq is durable or refused for good"),
    integer("lease_ms", "L, as it is now"),
    optional(list("assignments", "Assignment", "to start; repeated until acknowledged")),
    optional(list("stops", "StopOrder", "to stop; repeated until reported gone")),
    optional(list("stale", "StaleAttempt", "no longer yours: kill, report nothing")),
    optional(boolean("drain", "an operator wants this worker to finish and leave")),
    optional(integer("drain_within_ms", "how long running tasks may take to finish then")),
};

constexpr Schema kSchemas[] = {
    {"Worker", "A worker, or any agent that registers.", kWorker},
    {"WorkerList", "A page of workers.", kWorkerList},
    {"Machine", "A host that workers run on.", kMachine},
    {"MachineList", "All machines.", kMachineList},
    {"Queue", "A queue and its depth.", kQueue},
    {"QueueList", "All queues.", kQueueList},
    {"QueueState", "Whether a queue is paused.", kQueueState},
    {"Lease", "The right to act for one partition.", kLease},
    {"LeaseGrant", "A lease as its holder is answered: with the time to renew.", kLeaseGrant},
    {"LeaseList", "A page of leases.", kLeaseList},
    {"LeaseRequest", "Who wants a partition.", kLeaseRequest},
    {"LeaseHeld", "Who holds a partition, and with which epoch.", kLeaseHeld},
    {"DrainRequest", "How a worker is to leave.", kDrain},
    {"ExitedRequest", "Proof that one life of a worker ended.", kExited, {}, true},
    {"LifecycleRequest", "Entries of a supervisor's journal.", kLifecycle, {}, true},
    {"LifecycleEntry", "How a worker process began or ended.", kLifecycleEntry, {}, true},
    {"StartedAttempt", "An attempt whose process was there.", kStartedAttempt, {}, true},
    // What workers send may hold more than is known here: an older controller ignores it.
    {"RegisterRequest", "What a worker says about itself.", kRegister, {}, true},
    {"RegisterReply", "The session that was opened.", kRegisterReply},
    {"ReplyMark", "Which reply.", kMark, {}, true},
    {"Progress", "How far a task is.", kProgress, {}, true},
    {"HeldTask", "A task that the worker holds.", kHeld, {}, true},
    {"Report", "What happened to an attempt.", kReport, {}, true},
    {"SyncRequest", "What a worker holds and what happened.", kSync, {}, true},
    {"Assignment", "A task to start, with its command line.", kAssignment, {}, true},
    {"StopOrder", "An attempt to stop.", kStopOrder},
    {"StaleAttempt", "An attempt that was taken away.", kStaleAttempt},
    {"SyncReply", "What to start, what to stop, which epochs are stale.", kSyncReply},
};

}  // namespace

std::span<const Schema> fleet_schemas() { return kSchemas; }

}  // namespace vortex::api
