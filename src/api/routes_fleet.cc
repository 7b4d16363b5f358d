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
    {"group", Type::kText, "only workers of this group"},
    {"machine", Type::kText, "only workers on this machine"},
    {"live", Type::kBoolean, "only workers that are present"},
    kLimit,
    kCursor};
constexpr QueryParam kLeases[] = {
    {"topic", Type::kText, "only partitions of this topic"}, kLimit, kCursor};

constexpr Route kRoutes[] = {
    with(get("/api/workers", "list_workers", "Workers, by default up to 1000 on the first page",
             "WorkerList", list_workers),
         kWorkers),
    taking(post("/api/workers", Need::kWorker, "register_worker",
                "Opens the session of one life of a worker; incarnation 0 has one chosen",
                "RegisterReply", register_worker),
           "RegisterRequest"),
    get("/api/workers/{worker}", "get_worker", "One worker", "Worker", get_worker),
    taking(post("/api/workers/{worker}/sync", Need::kWorker, "sync_worker",
                "The one call between worker and controller: reports in, assignments out",
                "SyncReply", sync_worker),
           "SyncRequest"),
    taking(post("/api/workers/{worker}/exited", Need::kWorker, "worker_exited",
                "Proof by its supervisor: the process ended and nothing of its tasks is left", {},
                worker_exited),
           "ExitedRequest", 204),
    taking(post("/api/supervisors/{supervisor}/events", Need::kWorker, "supervisor_events",
                "Adds entries of a supervisor's journal to the monitor log; what is sent twice "
                "counts once",
                {}, supervisor_events),
           "LifecycleRequest", 204),
    taking(post("/api/workers/{worker}/drain", Need::kOperator, "drain_worker",
                "Gives it no more work; it leaves when it is done, or at the deadline", "Worker",
                drain_worker),
           "DrainRequest"),
    post("/api/workers/{worker}/cordon", Need::kOperator, "cordon_worker",
         "Gives it no more work until uncordoned", "Worker", cordon_worker),
    post("/api/workers/{worker}/uncordon", Need::kOperator, "uncordon_worker",
         "Gives it work again", "Worker", uncordon_worker),
    post("/api/workers/{worker}/reset-state", Need::kOperator, "reset_worker",
         "Declares this life of the worker over: its work goes elsewhere and it starts clean",
         "Worker", reset_worker),
    nothing(as(post("/api/workers/{worker}", Need::kOperator, "delete_worker",
                    "Forgets a worker that is gone; 409 while it is present", {}, delete_worker),
               net::Method::kDelete)),
    get("/api/machines", "list_machines", "Machines that workers run on", "MachineList",
        list_machines),

    get("/api/queues", "list_queues", "Queues and their depth", "QueueList", list_queues),
    post("/api/queues/{name}/pause", Need::kOperator, "pause_queue", "Hands out nothing of it",
         "QueueState", pause_queue),
    post("/api/queues/{name}/resume", Need::kOperator, "resume_queue", "Hands it out again",
         "QueueState", resume_queue),

    with(get("/api/leases", "list_leases", "Partition leases", "LeaseList", list_leases), kLeases),
    get("/api/leases/{topic}/{partition}", "get_lease", "One partition", "Lease", get_lease),
    taking(post("/api/leases/{topic}/{partition}/acquire", Need::kWorker, "acquire_lease",
                "Takes a free or expired partition, with a new epoch", "LeaseGrant", acquire_lease),
           "LeaseRequest"),
    taking(post("/api/leases/{topic}/{partition}/renew", Need::kWorker, "renew_lease",
                "Holds it for another term; 409 LeaseNotHeld when it is lost", "LeaseGrant",
                renew_lease),
           "LeaseHeld"),
    taking(post("/api/leases/{topic}/{partition}/release", Need::kWorker, "release_lease",
                "Gives it back at once", {}, release_lease),
           "LeaseHeld", 204),
    taking(post("/api/leases/{topic}/{partition}/check", Need::kWorker, "check_lease",
                "May the holder still act? 409 LeaseNotHeld when not", "LeaseGrant", check_lease),
           "LeaseHeld"),
};

}  // namespace

std::span<const Route> fleet_routes() { return kRoutes; }

}  // namespace vortex::api
