#include "api/codes.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vortex::api {

namespace {

constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kCount);

// In the order of the enumeration.
constexpr std::array<CodeInfo, kCodes> kTable{{
    {Code::kNotJson, "VX-REQ-001", 400, "The body is not JSON",
     "fix the syntax at the given line and column"},
    {Code::kBadBody, "VX-REQ-002", 422, "The body does not have the expected form",
     "each entry in errors points to one value; /api/openapi.json describes the body"},
    {Code::kBadQuery, "VX-REQ-003", 400, "Invalid query parameter",
     "/api/openapi.json lists the parameters of this path"},
    {Code::kNoSuchPath, "VX-REQ-004", 404, "No such path", "/api/openapi.json lists all paths"},
    {Code::kWrongMethod, "VX-REQ-005", 405, "Method not allowed for this path",
     "the Allow header lists the allowed methods"},
    {Code::kNotJsonType, "VX-REQ-006", 415, "The body must be JSON",
     "send Content-Type: application/json"},
    {Code::kTooLarge, "VX-REQ-007", 413, "The body is too large", "send less in one request"},
    {Code::kBrokenRequest, "VX-REQ-008", 400, "The request is malformed",
     "check that the client speaks HTTP/1.1"},
    {Code::kTooSlow, "VX-REQ-009", 408, "The request took too long to arrive",
     "send it again over a faster connection"},
    {Code::kHeadTooLarge, "VX-REQ-010", 431, "The request headers are too large",
     "send fewer or shorter headers"},
    {Code::kBadCursor, "VX-REQ-011", 400, "Invalid cursor or filter",
     "use only the next_cursor of the previous page, with the same filter"},
    {Code::kImpossible, "VX-REQ-012", 422, "The request contains an impossible value",
     "the detail names the value"},
    {Code::kServerFull, "VX-REQ-013", 503, "Too many connections", "try again shortly"},
    {Code::kComplaint, "VX-REQ-014", 400, "The request failed", "see the detail"},
    {Code::kNoToken, "VX-AUTH-001", 401, "A valid token is required",
     "send Authorization: Bearer <token>; the user of the controller has one next to its database "
     "(vortex.db.token), and an admin can create one with `vortex tokens create`"},
    {Code::kRoleTooLow, "VX-AUTH-002", 403, "The token's role does not allow this",
     "use a token with the role named in the detail"},
    {Code::kForeignHost, "VX-AUTH-003", 421, "Unknown host name",
     "use localhost, 127.0.0.1 or [::1]: the controller listens on loopback only"},
    {Code::kForeignOrigin, "VX-AUTH-004", 403, "Cross-site requests are not allowed",
     "use the address on which the controller listens"},
    {Code::kTokenExists, "VX-AUTH-005", 409, "A token with this name already exists",
     "revoke it first or choose another name"},
    {Code::kNoSuchToken, "VX-AUTH-006", 404, "No such token", "GET /api/tokens lists them"},
    {Code::kNoSuchRun, "VX-RUN-001", 404, "No such run",
     "GET /api/runs lists them; a run id looks like r42"},
    {Code::kRunNotLive, "VX-RUN-002", 409, "The run has finished",
     "retry one of its failed tasks, or submit the run again"},
    {Code::kRunEnding, "VX-RUN-003", 409, "The run is being cancelled or has timed out",
     "submit it again"},
    {Code::kKeyReused, "VX-RUN-004", 422, "The Idempotency-Key was used for another request",
     "a key identifies one request: use a new key, or the same DAG, params and labels"},
    {Code::kNoSuchTask, "VX-TASK-001", 404, "No such task",
     "a task id looks like r42-L1-7; GET /api/runs/r42/tasks lists the tasks of a run"},
    {Code::kAttemptNotHeld, "VX-TASK-002", 409, "This is not the task's current attempt",
     "stop working on it: there is a newer attempt, or the task has ended"},
    {Code::kNoSuchAttempt, "VX-TASK-003", 404, "No such attempt",
     "GET /api/tasks/{task}/attempts lists them"},
    {Code::kNoSuchWorker, "VX-WORKER-001", 404, "No such worker", "GET /api/workers lists them"},
    {Code::kStaleIncarnation, "VX-WORKER-002", 409,
     "A newer incarnation of this worker is registered",
     "stop; `current` is the registered incarnation"},
    {Code::kRegisterFirst, "VX-WORKER-003", 409, "The worker is not registered",
     "register it first with POST /api/workers"},
    {Code::kSessionEnded, "VX-WORKER-004", 409, "The worker's session has ended",
     "kill everything it holds and register with a new incarnation"},
    {Code::kOldMessage, "VX-WORKER-005", 409,
     "A later message from this worker was already processed",
     "nothing was changed; send a higher seq"},
    {Code::kBadSync, "VX-WORKER-006", 409, "The sync contains an impossible value",
     "nothing was changed; see the API description of sync"},
    {Code::kLeaseNotHeld, "VX-LEASE-001", 409, "LeaseNotHeld",
     "stop acting on it; acquire it again to continue"},
    {Code::kLeaseTaken, "VX-LEASE-002", 409, "LeaseTaken",
     "another agent holds it; try again when it expires"},
    {Code::kNoSuchLease, "VX-LEASE-003", 404, "This partition was never leased",
     "GET /api/leases lists them"},
    {Code::kNoSuchQueue, "VX-QUEUE-001", 404, "There is no such queue",
     "no worker ever listened to it, and no task waits in it; GET /api/queues lists them"},
    {Code::kNoDeadLetter, "VX-DLQ-001", 404, "The task is not in the dead-letter queue",
     "GET /api/dead-letters lists the dead letters"},
    {Code::kNoSuchRecovery, "VX-REC-001", 404, "No such recovery",
     "GET /api/recoveries lists them"},
    {Code::kDagEmpty, "VX-DAG-001", 422, "The DAG has no tasks", "add at least one task"},
    {Code::kDagBadName, "VX-DAG-002", 422, "Invalid name",
     "names start with a letter or digit and contain letters, digits, '-', '_' and '.'"},
    {Code::kDagDuplicateName, "VX-DAG-003", 422, "Two tasks have the same name",
     "rename one of them"},
    {Code::kDagUnknownNeed, "VX-DAG-004", 422, "A task needs a task that does not exist",
     "correct the name in needs"},
    {Code::kDagSelfNeed, "VX-DAG-005", 422, "A task needs itself", "remove it from its needs"},
    {Code::kDagDuplicateNeed, "VX-DAG-006", 422, "A task lists the same need twice",
     "remove one of them"},
    {Code::kDagCycle, "VX-DAG-007", 422, "The tasks form a cycle",
     "remove one of its dependencies"},
    {Code::kDagTooManyNodes, "VX-DAG-008", 422, "The DAG has too many tasks",
     "use map for tasks that differ by one value, or increase controller.max_dag_nodes"},
    {Code::kDagTooManyTasks, "VX-DAG-009", 422, "The run would have too many tasks",
     "make the map smaller or increase controller.max_tasks_per_run"},
    {Code::kDagTooManyNeeds, "VX-DAG-010", 422, "The DAG has too many dependencies",
     "put a task between the groups, or increase controller.max_dag_needs"},
    {Code::kDagTooDeep, "VX-DAG-011", 422, "The DAG is too deep",
     "shorten the longest chain or increase controller.max_dag_depth"},
    {Code::kDagBadValue, "VX-DAG-012", 422, "Invalid value in the DAG",
     "the detail names the value and what is allowed"},
    {Code::kDagNameDiffers, "VX-DAG-013", 422, "The name of the DAG differs from the path",
     "use the same name in both"},
    {Code::kDagMalformed, "VX-DAG-014", 422, "The document is not a DAG",
     "each entry in errors points to one value"},
    {Code::kNoSuchDag, "VX-DAG-015", 404, "No such DAG",
     "GET /api/dags lists them; PUT /api/dags/{name} adds one"},
    {Code::kStoreDown, "VX-STORE-001", 503, "The store does not accept writes right now",
     "nothing happened; try again after Retry-After"},
    {Code::kNoSpace, "VX-STORE-002", 503, "The disk is full",
     "nothing happened; free disk space, then try again"},
    {Code::kOutcomeUnknown, "VX-STORE-003", 503, "The outcome is unknown",
     "the request may have taken effect; check before you repeat it. Repeating a submit with the "
     "same Idempotency-Key is safe"},
    {Code::kStoreUnreadable, "VX-STORE-004", 503, "The store cannot be read right now",
     "try again after Retry-After"},
    {Code::kNotLeader, "VX-CTL-001", 503, "This controller is not the leader",
     "nothing happened; try again, or try another controller"},
    {Code::kBusy, "VX-CTL-002", 503, "The controller is overloaded",
     "nothing happened; try again after Retry-After"},
    {Code::kGone, "VX-CTL-003", 503, "The request was abandoned before it was answered",
     "the request may have taken effect; check before you repeat it"},
    {Code::kWrongState, "VX-STATE-001", 409, "Not possible in its current state",
     "check its state first"},
    {Code::kInternal, "VX-CTL-004", 500, "Internal error",
     "please report it with the request id and the controller's log"},
    {Code::kLogGap, "VX-TASK-004", 409, "This chunk of output would leave a gap",
     "send the preceding chunks first; the detail says how many bytes have arrived"},
    {Code::kBadParams, "VX-RUN-005", 422, "The params do not match the DAG's declaration",
     "`errors` says which; GET /api/dags/{name} shows the declaration"},
    {Code::kWebhookExists, "VX-HOOK-001", 409, "A webhook with this name already exists",
     "delete it first or choose another name"},
    {Code::kNoSuchWebhook, "VX-HOOK-002", 404, "No such webhook", "GET /api/webhooks lists them"},
    {Code::kNoSuchCheckpoint, "VX-TASK-005", 404, "No such checkpoint",
     "a newer one replaced it, or the task has completed"},
    {Code::kOverQuota, "VX-RUN-006", 429, "A quota of live runs is used up",
     "wait until runs have ended, or cancel some; controller.quota_* and controller.token_quota_* "
     "set the limits"},
    {Code::kTokenFull, "VX-REQ-015", 429, "Too many large requests at once",
     "wait until the others are done, or increase controller.body_budget_per_token_mib"},
    {Code::kBodiesFull, "VX-REQ-016", 503, "The controller is receiving too many large requests",
     "nothing happened; try again after Retry-After"},
    {Code::kLastAdmin, "VX-AUTH-007", 409, "This is the last admin token",
     "create another admin token first, with `vortex tokens create NAME --role admin`"},
    {Code::kForeignAddress, "VX-WORKER-007", 422, "The worker's address is not its own",
     "a worker must have the address it connects from; an operator can allow others with "
     "controller.worker_networks"},
    {Code::kForeignReceiver, "VX-HOOK-003", 422, "Webhooks may only reach public addresses",
     "an operator can allow others with controller.webhook_networks"},
    {Code::kNoSuchSecret, "VX-SECRET-001", 404, "No such secret",
     "GET /api/secrets lists them; `vortex secrets set NAME` creates one"},
    {Code::kNoMasterKey, "VX-SECRET-002", 409, "The controller has no master key",
     "make one with `vortex secrets init`, set secrets.master_key_file and restart the controller"},
    {Code::kOtherMasterKey, "VX-SECRET-003", 409,
     "Some secrets are sealed with a master key that the controller does not have",
     "configure that key as secrets.previous_master_key_file, or set the secrets again"},
    {Code::kNotPrivate, "VX-SECRET-004", 409, "Secrets are accepted only over TLS or loopback",
     "use an https:// address of the controller, or run the command on its machine"},
    {Code::kNoCertificate, "VX-AUTH-020", 403, "Workers need a client certificate",
     "pass one that the CA of controller.tls_client_ca_file has signed, with --cert-file and "
     "--key-file"},
    {Code::kNoSession, "VX-WORKER-008", 403,
     "The worker's session is missing: this worker is older than the controller",
     "upgrade the worker; your own workers send the `session` of their registration as the header "
     "Vortex-Session"},
    {Code::kWrongSession, "VX-WORKER-009", 403, "This is not the worker's session",
     "nothing was changed; only the process that registered knows its session. Kill everything and "
     "register with a higher incarnation"},
    {Code::kWorkerTaken, "VX-WORKER-010", 409,
     "The worker is present and was registered with another token",
     "use that token or another worker id, wait until the worker is gone, or end it with `vortex "
     "workers reset`"},
    {Code::kTokenBound, "VX-AUTH-008", 403, "The token is bound to other workers",
     "use a worker id that matches, or create a token with `vortex tokens create NAME --role "
     "worker "
     "--worker ID`"},
    {Code::kAttemptOver, "VX-AUTH-009", 401, "The attempt of this token has ended",
     "stop working on it: there is a newer attempt, or the task has ended"},
    {Code::kNotOfAttempt, "VX-AUTH-010", 403, "The token of an attempt does not allow this",
     "it allows a task to check its fence and to read itself, its output and its checkpoint"},
    {Code::kForeignMark, "VX-AUTH-011", 403, "Not passed on by a controller of this database",
     "send the request without Vortex-Passed-On; controllers that pass requests on to each other "
     "must use the same database"},
    {Code::kCountDrifted, "VX-DLQ-002", 409, "The number of dead letters has changed",
     "nothing was done; list them again, then repeat the request with the number of now"},
    {Code::kNoSuchSignal, "VX-WAIT-001", 404, "No task of this run waits for this signal",
     "GET /api/runs/{run}/dag shows which signals its tasks wait for"},
    {Code::kMayNotAnswer, "VX-WAIT-002", 403, "The approval is not for this role to answer",
     "use a token with a role that the DAG names in `by`, or an admin token"},
    {Code::kTooManySignals, "VX-WAIT-003", 429, "The run has been sent too many signals",
     "a run takes 1,000 signals and answers, with payloads of 1 MiB together"},
    {Code::kNoSuchSchedule, "VX-SCHED-001", 404, "No such schedule",
     "GET /api/schedules lists them; a stored DAG with 'schedule' has one"},
    {Code::kNoSuchLimit, "VX-LIMIT-001", 404, "No such limit",
     "GET /api/limits lists them; PUT /api/limits/{name} sets one"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].code) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const CodeInfo& about(Code code) { return kTable[static_cast<std::size_t>(code)]; }

std::span<const CodeInfo> all_codes() { return kTable; }

std::optional<Code> find_code(std::string_view text) {
  const auto* found = std::ranges::find(kTable, text, &CodeInfo::text);
  if (found == kTable.end()) return std::nullopt;
  return found->code;
}

Code code_of(DagError::Kind kind) {
  switch (kind) {
    case DagError::Kind::kEmpty:
      return Code::kDagEmpty;
    case DagError::Kind::kBadName:
      return Code::kDagBadName;
    case DagError::Kind::kDuplicateName:
      return Code::kDagDuplicateName;
    case DagError::Kind::kUnknownNeed:
      return Code::kDagUnknownNeed;
    case DagError::Kind::kSelfNeed:
      return Code::kDagSelfNeed;
    case DagError::Kind::kDuplicateNeed:
      return Code::kDagDuplicateNeed;
    case DagError::Kind::kCycle:
      return Code::kDagCycle;
    case DagError::Kind::kTooManyNodes:
      return Code::kDagTooManyNodes;
    case DagError::Kind::kTooManyTasks:
      return Code::kDagTooManyTasks;
    case DagError::Kind::kTooManyNeeds:
      return Code::kDagTooManyNeeds;
    case DagError::Kind::kTooDeep:
      return Code::kDagTooDeep;
    case DagError::Kind::kBadValue:
      return Code::kDagBadValue;
  }
  return Code::kDagMalformed;
}

Code code_of_status(int status) {
  switch (status) {
    case 400:
      return Code::kBrokenRequest;
    case 408:
      return Code::kTooSlow;
    case 413:
      return Code::kTooLarge;
    case 431:
      return Code::kHeadTooLarge;
    case 500:
      return Code::kInternal;
    case 503:
      return Code::kServerFull;
    default:
      return Code::kComplaint;
  }
}

}  // namespace vortex::api
