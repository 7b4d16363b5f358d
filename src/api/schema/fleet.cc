// Schemas of workers, machines, queues and partition leases.
#include <array>

#include "api/schema/schema.h"
#include "api/views.h"
#include "codec/sync_parts.h"
#include "model/sync.h"

namespace vortex::api {

namespace {

// Of failed, then of released.
constexpr auto kReportCauseNames = [] {
  std::array<std::string_view, kWords<Failed::Cause>.size() + kWords<Released::Cause>.size()> all{};
  const auto middle = std::ranges::copy(kWords<Failed::Cause>, all.begin()).out;
  std::ranges::copy(kWords<Released::Cause>, middle);
  return all;
}();

constexpr Field kWorkerList[] = {list("workers", "Worker", "by id"), kNextCursor};

constexpr Field kMachineList[] = {list("machines", "Machine", "by id")};

constexpr Field kLimitList[] = {list("limits", "Limit", "by name")};
constexpr Field kLimitRequest[] = {
    optional(integer("slots", "how many tasks may hold it at once; absent: any number")),
    optional(text("rate",
                  "how many tasks may start in any window of that length, such as 100/1m; absent: "
                  "any number. One of the two is required")),
};

constexpr Field kQueueList[] = {list("queues", "Queue", "by name")};

constexpr Field kLeaseList[] = {list("leases", "Lease", "by topic and partition"), kNextCursor};
constexpr Field kLeaseRequest[] = {text("agent", "agent that wants to hold it")};
constexpr Field kLeaseHeld[] = {
    text("agent", "agent that holds it"),
    integer("epoch", "epoch it was granted with"),
};

constexpr Field kDrain[] = {
    optional(text("deadline",
                  "how long running tasks may take to finish, such as 10s; after that they are "
                  "stopped and run elsewhere. Default: the worker's shutdown_timeout_secs")),
};
constexpr Field kExited[] = {
    integer("incarnation", "incarnation that ended"),
    optional(
        list("started", "StartedAttempt", "attempts that were running in it, reported or not")),
    optional(any("incarnations", "all incarnations of this process")),
    optional(integer("exit_code", "exit code of the process")),
    optional(integer("signal", "signal that killed the process")),
};
constexpr Field kLifecycle[] = {
    text("machine", "machine of the supervisor"),
    text("journal", "id of the journal; a new journal restarts the numbering"),
    list("entries", "LifecycleEntry", "in order"),
};
constexpr Field kLifecycleEntry[] = {
    integer("id", "increasing; entries that were already accepted are skipped"),
    text("event",
         "worker_spawn, worker_spawn_retry, worker_spawn_failed, worker_exit, worker_crash or "
         "worker_respawn"),
    text("worker", "id of the worker"),
    optional(integer("incarnation", "incarnation that ended")),
    optional(text("at", "time by the clock of that machine")),
    optional(any("data", "numbers and strings such as attempt, reason, wait_ms, exit_code")),
};
constexpr Field kStartedAttempt[] = {
    text("task", "id of the task"),
    integer("epoch", "epoch of the attempt"),
};

constexpr Field kRegister[] = {
    text("id", "1 to 200 bytes; no two workers may share one"),
    optional(text("machine", "machine it runs on; defaults to the id")),
    optional(text("name", "display name")),
    optional(text("address", "host:port of its health endpoint; absent: it cannot be probed")),
    optional(text("zone", "zone, for filtering")),
    optional(text("group", "group, for filtering")),
    optional(text("version", "version of the worker program")),
    optional(any("metadata", "a string or an object, 64 KiB at most")),
    optional(texts("queues", "queues it takes tasks from; defaults to [\"default\"]")),
    optional(text_map("labels", "labels it offers")),
    optional(texts("runtimes", "runtimes it offers")),
    optional(texts("users", "users that tasks may ask to run as; absent: none")),
    optional(integer("slots", "number of tasks it can run at once; defaults to 1")),
    optional(any("resources", "amounts it offers: cpu, memory, named")),
    optional(
        integer("incarnation",
                "higher than every earlier one of this id; 0 or absent: the controller chooses")),
};
constexpr Field kRegisterReply[] = {
    integer("term", "term of the leader"),
    integer("incarnation", "incarnation of this session; part of every sync"),
    integer("lease_ms", "L: after this long without a call the worker is considered dead"),
    integer("heartbeat_interval_ms", "H: maximum time between two calls"),
    optional(integer("self_fence_ms",
                     "F: kill all tasks if the last acknowledged call was sent this long ago")),
    text("session", "secret of this incarnation; send it as the header Vortex-Session"),
};
constexpr Field kMark[] = {integer("term", "term of the leader"),
                           integer("reply", "number of the reply")};
constexpr Field kProgress[] = {
    optional(integer("percent", "0 to 100")),
    optional(text("step", "current step")),
};
constexpr Field kHeld[] = {
    text("task", "id of the task"),
    integer("epoch", "epoch of the attempt"),
    optional(object("progress", "Progress", "as written by the task; absent: nothing yet")),
    optional(integer("output_bytes", "total output so far; if the assignment has report_output")),
};
constexpr Field kReport[] = {
    text("task", "id of the task"),
    integer("epoch", "epoch of the attempt"),
    one_of("kind", words_of<codec::ReportKind>(), "what happened"),
    optional(text("data", "for checkpoint: its bytes, as UTF-8")),
    optional(text("data_base64", "for checkpoint: its bytes, if they are not UTF-8")),
    optional(any("outputs", "for completed: an object, 256 KiB at most")),
    optional(one_of("cause", kReportCauseNames,
                    "for failed: exit_code, signal, out_of_memory, could_not_start; for released: "
                    "drained, self_fenced, stopped, not_started")),
    optional(integer("code", "for failed: exit code or signal number; defaults to 1")),
    optional(text("message", "for failed: a one-line message")),
};
constexpr Field kSync[] = {
    integer("incarnation", "incarnation of the sender"),
    integer("seq", "starts at 1 and increases with every call, including repeated ones"),
    optional(object("ack", "ReplyMark", "mark of the newest response that was processed")),
    integer("slots", "total number of tasks it is willing to hold, including those it holds"),
    optional(list("held", "HeldTask", "all tasks it holds; absent: no statement about them")),
    optional(list("reports", "Report", "repeated until seq_seen has reached the call")),
    optional(one_of("leaving", words_of<Leaving>(),
                    "draining: no new tasks; gone: the session ends with this call")),
    optional(integer("wait_ms", "how long the response may be delayed, H at most")),
    optional(integer("worker_clock_us", "its wall clock, for display only")),
};
constexpr Field kAssignment[] = {
    text("token", "token of this attempt, for its task: VORTEX_TOKEN"),
    text("task", "id of the task"),
    integer("epoch", "the fence of this attempt"),
    integer("attempt", "number of the attempt, starting at 1"),
    text("name", "name of its node"),
    text("dag", "name of its DAG"),
    optional(texts("run",
                   "the program and its arguments, to be started exactly as given, without a "
                   "shell; if the task asked for a shell, the list starts with it")),
    optional(text_map("env", "variables added to the worker's own, with values resolved")),
    optional(text("workdir", "working directory; absent: the worker's own")),
    optional(any("resources", "cpu, memory and named amounts reserved for it")),
    optional(texts("outputs", "names that its outputs file must contain; otherwise it has failed")),
    optional(object("map", "MapItem", "item of a map")),
    optional(any("inputs", "outputs of earlier tasks that it asked for: VORTEX_INPUTS")),
    optional(integer("timeout_ms", "maximum duration; then kill it and report timed_out")),
    optional(integer("kill_grace_ms", "K: maximum time from SIGTERM to SIGKILL")),
    optional(text("user", "the user that it runs as; one of those that the worker registered")),
    optional(boolean("report_output", "report in `held` how much it has written")),
    optional(text("checkpoint", "saved by the previous attempt")),
    optional(text("checkpoint_base64", "the same, if it is not UTF-8")),
    optional(integer("checkpoint_upload",
                     "instead, for a large one: read it from /api/tasks/{task}/checkpoint")),
    optional(integer("checkpoint_bytes", "size of the checkpoint")),
};
constexpr Field kStopOrder[] = {
    text("task", "id of the task"),
    integer("epoch", "epoch of the attempt"),
    one_of("why", words_of<StopOrder::Why>(), "for the log; the reaction is the same for all"),
};
constexpr Field kStaleAttempt[] = {text("task", "id of the task"),
                                   integer("epoch", "epoch of the attempt")};
constexpr Field kSyncReply[] = {
    object("mark", "ReplyMark", "to be acknowledged"),
    integer("seq_seen", "every report sent up to this seq is durable or was permanently refused"),
    integer("lease_ms", "L, the current lease duration"),
    optional(list("assignments", "Assignment", "to start; repeated until acknowledged")),
    optional(list("stops", "StopOrder", "to stop; repeated until reported gone")),
    optional(list("stale", "StaleAttempt", "no longer yours: kill, report nothing")),
    optional(boolean("drain", "an operator wants this worker to finish and leave")),
    optional(integer("drain_within_ms", "how long running tasks may take to finish then")),
};

}  // namespace

std::span<const Schema> fleet_schemas() {
  static const Schema schemas[] = {
      {"Worker", "A worker, or any agent that registers.", fields::worker()},
      {"WorkerList", "A page of workers.", kWorkerList},
      {"Machine", "A host that workers run on.", fields::machine()},
      {"MachineList", "All machines.", kMachineList},
      {"Queue", "A queue and its depth.", fields::queue()},
      {"QueueList", "All queues.", kQueueList},
      {"Limit", "A named limit of tasks and who holds it.", fields::limit()},
      {"LimitList", "All limits.", kLimitList},
      {"LimitRequest", "What a limit allows.", kLimitRequest},
      {"QueueState", "Whether a queue is paused.", fields::queue_state()},
      {"Lease", "The right to act for one partition.", fields::lease()},
      {"LeaseGrant", "A lease as returned to its holder, with the time to renew.",
       fields::lease_grant()},
      {"LeaseList", "A page of leases.", kLeaseList},
      {"LeaseRequest", "An agent that wants a partition.", kLeaseRequest},
      {"LeaseHeld", "The holder of a partition, and its epoch.", kLeaseHeld},
      {"DrainRequest", "How a worker should leave.", kDrain},
      {"ExitedRequest", "Proof that an incarnation of a worker ended.", kExited, {}, true},
      {"LifecycleRequest", "Entries of a supervisor's journal.", kLifecycle, {}, true},
      {"LifecycleEntry", "How a worker process started or ended.", kLifecycleEntry, {}, true},
      {"StartedAttempt", "An attempt whose process was running.", kStartedAttempt, {}, true},
      // What workers send may hold more than is known here: an older controller ignores it.
      {"RegisterRequest", "The registration of a worker.", kRegister, {}, true},
      {"RegisterReply", "The new session.", kRegisterReply},
      {"ReplyMark", "Identifies a reply.", kMark, {}, true},
      {"Progress", "The progress of a task.", kProgress, {}, true},
      {"HeldTask", "A task that the worker holds.", kHeld, {}, true},
      {"Report", "What happened to an attempt.", kReport, {}, true},
      {"SyncRequest", "The tasks that a worker holds and what happened to them.", kSync, {}, true},
      {"Assignment", "A task to start, with its command line.", kAssignment, {}, true},
      {"StopOrder", "An attempt to stop.", kStopOrder},
      {"StaleAttempt", "An attempt that is no longer valid.", kStaleAttempt},
      {"SyncReply", "What to start, what to stop, which epochs are stale.", kSyncReply},
  };
  return schemas;
}

}  // namespace vortex::api
