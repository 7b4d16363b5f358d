// Schemas of workers, machines, queues and partition leases.
#include "api/schema.h"

namespace vortex::api {

namespace {

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
    integer("times_lost", "how often it was lost"),
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
constexpr Field kLeaseList[] = {list("leases", "Lease", "by topic and partition"), kNextCursor};
constexpr Field kLeaseRequest[] = {text("agent", "that wants to hold it")};
constexpr Field kLeaseHeld[] = {
    text("agent", "that holds it"),
    integer("epoch", "it was granted with"),
};

constexpr Field kExited[] = {
    integer("incarnation", "which life ended"),
    optional(list("started", "StartedAttempt", "what ran in it then, reported or not")),
};
constexpr Field kStartedAttempt[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
};

constexpr Field kRegister[] = {
    text("id", "1 to 200 bytes"),
    optional(text("machine", "it runs on")),
    optional(text("name", "for people")),
    optional(text("address", "of its health endpoint")),
    optional(text("zone", "to be found by")),
    optional(text("group", "to be found by")),
    optional(text("version", "of its program")),
    optional(any("metadata", "a text or an object")),
    optional(texts("queues", "it takes tasks from")),
    optional(text_map("labels", "it offers")),
    optional(texts("runtimes", "it offers")),
    optional(integer("slots", "tasks it can hold")),
    optional(any("resources", "amounts it offers")),
    optional(integer("incarnation", "0 or none: one is chosen")),
};
constexpr Field kRegisterReply[] = {
    integer("term", "of the leader"),
    integer("incarnation", "of this life"),
    integer("lease_ms", "silence for this long is death"),
    integer("heartbeat_interval_ms", "how often to sync"),
};
constexpr Field kMark[] = {integer("term", "of the leader"),
                           integer("reply", "number of the reply")};
constexpr Field kHeld[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    optional(any("progress", "percent and step")),
};
constexpr Field kReport[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    text("kind", "started, checkpoint, completed, failed, released or timed_out"),
    optional(text("data", "of a checkpoint")),
    optional(text("data_base64", "of a checkpoint that is not UTF-8")),
    optional(any("outputs", "of completed: an object")),
    optional(text("cause", "of failed and released")),
    optional(integer("code", "exit code or signal number")),
    optional(text("message", "for people")),
};
constexpr Field kSync[] = {
    integer("incarnation", "which life speaks"),
    integer("seq", "higher with every send"),
    optional(object("ack", "ReplyMark", "the newest reply it acted on")),
    integer("slots", "tasks it is willing to hold in all"),
    optional(list("held", "HeldTask", "all that it holds; absent: nothing is said about it")),
    optional(list("reports", "Report", "what happened")),
    optional(text("leaving", "draining or gone")),
    optional(integer("wait_ms", "how long the answer may be held back")),
    optional(integer("worker_clock_us", "for display only")),
};
constexpr Field kAssignment[] = {
    text("task", "its id"),
    integer("epoch", "the fence of this attempt"),
    integer("attempt", "1 for the first"),
    text("name", "of its node"),
    text("dag", "name of its DAG"),
    optional(integer("timeout_ms", "how long it may run")),
    optional(text("checkpoint", "saved by the attempt before")),
    optional(text("checkpoint_base64", "the same, when it is not UTF-8")),
    optional(object("map", "MapItem", "which item of a map")),
    optional(any("params", "of the run")),
    optional(any("inputs", "outputs of earlier tasks that its expressions read, by task")),
};
constexpr Field kStopOrder[] = {
    text("task", "its id"),
    integer("epoch", "of the attempt"),
    text("why", "cancelled, stale, execution_timeout or not_started_in_time"),
};
constexpr Field kStaleAttempt[] = {text("task", "its id"), integer("epoch", "of the attempt")};
constexpr Field kSyncReply[] = {
    object("mark", "ReplyMark", "to be acknowledged"),
    integer("seq_seen", "every report sent up to this seq is durable or refused for good"),
    integer("lease_ms", "silence for this long is death"),
    optional(list("assignments", "Assignment", "to start; repeated until acknowledged")),
    optional(list("stops", "StopOrder", "to stop; repeated until reported gone")),
    optional(list("stale", "StaleAttempt", "not yours any more: kill without a word")),
    optional(boolean("drain", "an operator wants this worker to finish and leave")),
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
    {"LeaseList", "A page of leases.", kLeaseList},
    {"LeaseRequest", "Who wants a partition.", kLeaseRequest},
    {"LeaseHeld", "Who holds a partition, and with which epoch.", kLeaseHeld},
    {"ExitedRequest", "Proof that one life of a worker ended.", kExited, {}, true},
    {"StartedAttempt", "An attempt whose process was there.", kStartedAttempt, {}, true},
    // What workers send may hold more than is known here: an older controller ignores it.
    {"RegisterRequest", "What a worker says about itself.", kRegister, {}, true},
    {"RegisterReply", "The session that was opened.", kRegisterReply},
    {"ReplyMark", "Which reply.", kMark, {}, true},
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
