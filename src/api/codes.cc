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
     "correct the syntax at the line and column given"},
    {Code::kBadBody, "VX-REQ-002", 422, "The body does not have the expected form",
     "each entry of errors points at one value; /api/openapi.json describes the body"},
    {Code::kBadQuery, "VX-REQ-003", 400, "A query parameter is wrong",
     "/api/openapi.json lists the parameters of this path"},
    {Code::kNoSuchPath, "VX-REQ-004", 404, "There is nothing at this path",
     "/api/openapi.json lists all paths"},
    {Code::kWrongMethod, "VX-REQ-005", 405, "This path does not take this method",
     "the Allow header lists the methods it takes"},
    {Code::kNotJsonType, "VX-REQ-006", 415, "The body must be JSON",
     "send Content-Type: application/json"},
    {Code::kTooLarge, "VX-REQ-007", 413, "The body is too large", "send less in one request"},
    {Code::kBrokenRequest, "VX-REQ-008", 400, "The request is malformed",
     "check that the client speaks HTTP/1.1"},
    {Code::kTooSlow, "VX-REQ-009", 408, "The request took too long to arrive",
     "send it again over a faster connection"},
    {Code::kHeadTooLarge, "VX-REQ-010", 431, "The head of the request is too large",
     "send fewer or shorter headers"},
    {Code::kBadCursor, "VX-REQ-011", 400, "The cursor or filter makes no sense",
     "take cursors only from next_cursor of the page before, with the same filter"},
    {Code::kImpossible, "VX-REQ-012", 422, "The request asks for something impossible",
     "the detail says which value"},
    {Code::kServerFull, "VX-REQ-013", 503, "Too many connections", "try again shortly"},
    {Code::kComplaint, "VX-REQ-014", 400, "The request could not be served", "see the detail"},
    {Code::kNoToken, "VX-AUTH-001", 401, "A valid token is needed",
     "send Authorization: Bearer <token>; an admin makes one with `vortex tokens create`"},
    {Code::kRoleTooLow, "VX-AUTH-002", 403, "The token's role does not allow this",
     "use a token with the role named in the detail"},
    {Code::kForeignHost, "VX-AUTH-003", 421, "This host name is not served here",
     "use localhost, 127.0.0.1 or [::1]: the controller listens on loopback only"},
    {Code::kForeignOrigin, "VX-AUTH-004", 403, "Requests of other sites are refused",
     "open the dashboard under the address that the controller serves"},
    {Code::kTokenExists, "VX-AUTH-005", 409, "A token with this name exists",
     "revoke it first or choose another name"},
    {Code::kNoSuchToken, "VX-AUTH-006", 404, "There is no token with this name",
     "GET /api/tokens lists them"},
    {Code::kNoSuchRun, "VX-RUN-001", 404, "There is no such run",
     "GET /api/runs lists them; a run id looks like r42"},
    {Code::kRunNotLive, "VX-RUN-002", 409, "The run has finished",
     "retry one of its failed tasks, or submit it again"},
    {Code::kRunEnding, "VX-RUN-003", 409, "The run is being cancelled or has timed out",
     "submit it again"},
    {Code::kKeyReused, "VX-RUN-004", 422, "The Idempotency-Key was used for another request",
     "one key names one request: use a new key, or the same DAG, params and labels"},
    {Code::kNoSuchTask, "VX-TASK-001", 404, "There is no such task",
     "a task id looks like r42-L1-7; GET /api/runs/r42/tasks lists the tasks of a run"},
    {Code::kAttemptNotHeld, "VX-TASK-002", 409, "This attempt is not the task's present one",
     "stop working on it: another attempt was granted, or the task has ended"},
    {Code::kNoSuchAttempt, "VX-TASK-003", 404, "There is no such attempt",
     "GET /api/tasks/{task}/attempts lists them"},
    {Code::kNoSuchWorker, "VX-WORKER-001", 404, "There is no such worker",
     "GET /api/workers lists them"},
    {Code::kStaleIncarnation, "VX-WORKER-002", 409, "A newer life of this worker is registered",
     "stop; `current` is the incarnation that is registered"},
    {Code::kRegisterFirst, "VX-WORKER-003", 409, "The worker is not registered",
     "POST /api/workers first"},
    {Code::kSessionEnded, "VX-WORKER-004", 409, "The worker was declared gone",
     "kill everything it holds and register with a new incarnation"},
    {Code::kOldMessage, "VX-WORKER-005", 409, "A later message of this worker was already seen",
     "nothing was changed; send a higher seq"},
    {Code::kBadSync, "VX-WORKER-006", 409, "The sync holds an impossible value",
     "nothing was changed; see the API description of sync"},
    {Code::kLeaseNotHeld, "VX-LEASE-001", 409, "LeaseNotHeld",
     "stop acting on it; acquire it again to go on"},
    {Code::kLeaseTaken, "VX-LEASE-002", 409, "LeaseTaken",
     "another agent holds it; try again when it expires"},
    {Code::kNoSuchLease, "VX-LEASE-003", 404, "This partition was never leased",
     "GET /api/leases lists them"},
    {Code::kNoDeadLetter, "VX-DLQ-001", 404, "The task is not in the dead-letter queue",
     "GET /api/dead-letters lists what is"},
    {Code::kNoSuchRecovery, "VX-REC-001", 404, "There is no such recovery",
     "GET /api/recoveries lists them"},
    {Code::kDagEmpty, "VX-DAG-001", 422, "The DAG has no tasks", "give it at least one"},
    {Code::kDagBadName, "VX-DAG-002", 422, "A name is not allowed",
     "names start with a letter or digit and hold letters, digits, '-', '_' and '.'"},
    {Code::kDagDuplicateName, "VX-DAG-003", 422, "Two tasks have the same name", "rename one"},
    {Code::kDagUnknownNeed, "VX-DAG-004", 422, "A task needs one that does not exist",
     "correct the name in needs"},
    {Code::kDagSelfNeed, "VX-DAG-005", 422, "A task needs itself", "remove it from its needs"},
    {Code::kDagDuplicateNeed, "VX-DAG-006", 422, "A task names the same need twice", "remove one"},
    {Code::kDagCycle, "VX-DAG-007", 422, "The needs form a cycle", "remove one of its edges"},
    {Code::kDagTooManyNodes, "VX-DAG-008", 422, "The DAG has too many tasks",
     "use map for tasks that differ by one value, or raise controller.max_dag_nodes"},
    {Code::kDagTooManyTasks, "VX-DAG-009", 422, "The run would have too many tasks",
     "make the map smaller or raise controller.max_tasks_per_run"},
    {Code::kDagTooManyNeeds, "VX-DAG-010", 422, "The DAG has too many needs",
     "put a task between groups, or raise controller.max_dag_needs"},
    {Code::kDagTooDeep, "VX-DAG-011", 422, "The DAG is too deep",
     "shorten the longest chain or raise controller.max_dag_depth"},
    {Code::kDagBadValue, "VX-DAG-012", 422, "A value in the DAG is not allowed",
     "the detail names the value and what is allowed"},
    {Code::kDagNameDiffers, "VX-DAG-013", 422, "The DAG has another name than the path",
     "make the two names equal"},
    {Code::kDagMalformed, "VX-DAG-014", 422, "The document is not a DAG",
     "each entry of errors points at one value"},
    {Code::kNoSuchDag, "VX-DAG-015", 404, "There is no DAG with this name",
     "GET /api/dags lists them; PUT /api/dags/{name} adds one"},
    {Code::kStoreDown, "VX-STORE-001", 503, "The store takes no writes right now",
     "nothing happened; try again after Retry-After"},
    {Code::kNoSpace, "VX-STORE-002", 503, "No space is left for the store",
     "nothing happened; free disk space, then try again"},
    {Code::kOutcomeUnknown, "VX-STORE-003", 503, "The outcome is not known",
     "it may have happened: look before you repeat it; repeating a submit with the same "
     "Idempotency-Key is safe"},
    {Code::kStoreUnreadable, "VX-STORE-004", 503, "The store can not be read right now",
     "try again after Retry-After"},
    {Code::kNotLeader, "VX-CTL-001", 503, "This controller does not lead",
     "nothing happened; try again, or ask another controller"},
    {Code::kBusy, "VX-CTL-002", 503, "The controller has too much to do",
     "nothing happened; try again after Retry-After"},
    {Code::kGone, "VX-CTL-003", 503, "The request was given up before it was answered",
     "it may have happened: look before you repeat it"},
    {Code::kWrongState, "VX-STATE-001", 409, "This can not be done in its present state",
     "look at its state first"},
    {Code::kInternal, "VX-CTL-004", 500, "The controller made a mistake",
     "please report it with the request id and the controller's log"},
    {Code::kLogGap, "VX-TASK-004", 409, "This piece of output would leave a gap",
     "send what comes before it first; the detail says how many bytes are there"},
    {Code::kBadParams, "VX-RUN-005", 422, "The params do not fit what the DAG declares",
     "`errors` says which; GET /api/dags/{name} shows what is declared"},
    {Code::kWebhookExists, "VX-HOOK-001", 409, "A webhook with this name exists",
     "delete it first or choose another name"},
    {Code::kNoSuchWebhook, "VX-HOOK-002", 404, "There is no webhook with this name",
     "GET /api/webhooks lists them"},
    {Code::kNoSuchCheckpoint, "VX-TASK-005", 404, "There is no such checkpoint",
     "a newer one took its place, or the task has completed"},
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
