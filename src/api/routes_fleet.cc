// Routes of workers, machines, queues and partition leases.
#include "api/handlers.h"
#include "api/route_rows.h"
#include "api/routes.h"

namespace vortex::api {

namespace {

using namespace rows;

constexpr QueryParam kWorkers[] = {
    {"state", Type::kText, "only workers in this state; ACTIVE: IDLE or RUNNING",
     kWorkerFilterNames},
    {"zone", Type::kText, "only workers in this zone"},
    {"group", Type::kText, "only workers in this group"},
    {"machine", Type::kText, "only workers on this machine"},
    {"live", Type::kBoolean, "only workers that are present"},
    kLimit,
    kCursor};
constexpr QueryParam kLeases[] = {
    {"topic", Type::kText, "only partitions of this topic"}, kLimit, kCursor};

constexpr Route kRoutes[] = {
    with(get("/api/workers", "list_workers", "List workers, by default up to 1000 per page",
             "WorkerList", list_workers),
         kWorkers),
    taking(
        post(
            "/api/workers", Need::kWorker, "register_worker",
            "Register a worker and open its session; for incarnation 0, the controller chooses one",
            "RegisterReply", register_worker),
        "RegisterRequest"),
    get("/api/workers/{worker}", "get_worker", "Show a worker", "Worker", get_worker),
    taking(post("/api/workers/{worker}/sync", Need::kWorker, "sync_worker",
                "Exchange reports and assignments between worker and controller", "SyncReply",
                sync_worker),
           "SyncRequest"),
    taking(post("/api/workers/{worker}/exited", Need::kWorker, "worker_exited",
                "Report, as its supervisor, that the worker process ended and nothing of its tasks "
                "is left",
                {}, worker_exited),
           "ExitedRequest", 204),
    taking(
        post(
            "/api/supervisors/{supervisor}/events", Need::kWorker, "supervisor_events",
            "Add entries of a supervisor's journal to the monitor log; repeated entries count once",
            {}, supervisor_events),
        "LifecycleRequest", 204),
    taking(post("/api/workers/{worker}/drain", Need::kOperator, "drain_worker",
                "Drain a worker: assign no more tasks; it leaves when done, or at the deadline",
                "Worker", drain_worker),
           "DrainRequest"),
    post("/api/workers/{worker}/cordon", Need::kOperator, "cordon_worker",
         "Cordon a worker: assign no more tasks until uncordoned", "Worker", cordon_worker),
    post("/api/workers/{worker}/uncordon", Need::kOperator, "uncordon_worker", "Uncordon a worker",
         "Worker", uncordon_worker),
    post("/api/workers/{worker}/reset-state", Need::kOperator, "reset_worker",
         "Declare this worker process dead and move its tasks immediately", "Worker", reset_worker),
    nothing(as(post("/api/workers/{worker}", Need::kOperator, "delete_worker",
                    "Delete a worker that is gone; 409 while it is present", {}, delete_worker),
               net::Method::kDelete)),
    get("/api/machines", "list_machines", "List the machines that workers run on", "MachineList",
        list_machines),

    get("/api/queues", "list_queues", "List queues and their depth", "QueueList", list_queues),
    post("/api/queues/{name}/pause", Need::kOperator, "pause_queue",
         "Pause a queue: start no more tasks from it", "QueueState", pause_queue),
    post("/api/queues/{name}/resume", Need::kOperator, "resume_queue", "Resume a queue",
         "QueueState", resume_queue),

    with(get("/api/leases", "list_leases", "List partition leases", "LeaseList", list_leases),
         kLeases),
    get("/api/leases/{topic}/{partition}", "get_lease", "Show the lease of a partition", "Lease",
        get_lease),
    taking(post("/api/leases/{topic}/{partition}/acquire", Need::kWorker, "acquire_lease",
                "Acquire a free or expired lease with a new epoch", "LeaseGrant", acquire_lease),
           "LeaseRequest"),
    taking(post("/api/leases/{topic}/{partition}/renew", Need::kWorker, "renew_lease",
                "Renew a lease; 409 LeaseNotHeld if it was lost", "LeaseGrant", renew_lease),
           "LeaseHeld"),
    taking(post("/api/leases/{topic}/{partition}/release", Need::kWorker, "release_lease",
                "Release a lease immediately", {}, release_lease),
           "LeaseHeld", 204),
    taking(post("/api/leases/{topic}/{partition}/check", Need::kWorker, "check_lease",
                "Check whether the holder may still act; 409 LeaseNotHeld if not", "LeaseGrant",
                check_lease),
           "LeaseHeld"),
};

}  // namespace

std::span<const Route> fleet_routes() { return kRoutes; }

}  // namespace vortex::api
