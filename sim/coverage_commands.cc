#include <array>
#include <span>

#include "sim/coverage.h"

namespace vortex::sim {

namespace {

constexpr std::array<CommandFeature, kCommands> kCommandFeatures{{
    {"RegisterWorker", "26-ok-is-durable 26-nonsense-refused"},
    {"Sync", "26-ok-is-durable 26-nonsense-refused 49-sessions-kept"},
    {"ConnectionLost", "19-no-early-silence", "by the controller, when a line closes"},
    {"ProbeResult", "19-no-early-silence", "by the controller, after a probe"},
    {"WorkerExited", "26-ok-is-durable 49-sessions-kept"},
    {"Unsent", "13-attempts-add-up"},
    {"DrainWorker", "26-ok-is-durable"},
    {"CordonWorker", "26-nonsense-refused"},
    {"ResetWorker", "26-nonsense-refused"},
    {"SubmitRun", "01-submit-kept 02-one-key-one-run 26-nonsense-refused"},
    {"CancelRun", "24-cancel-holds 26-ok-is-durable"},
    {"PauseRun", "26-nonsense-refused"},
    {"CancelTask", "26-ok-is-durable"},
    {"SignalRun", "59-said-is-taken 26-nonsense-refused"},
    {"AnswerApproval", "59-said-is-taken 26-nonsense-refused"},
    {"RetryTask", "26-ok-is-durable"},
    {"RedriveDeadLetter", "22-one-dead-letter 26-ok-is-durable"},
    {"DiscardDeadLetter", "22-one-dead-letter 26-ok-is-durable"},
    {"PauseQueue", "26-nonsense-refused"},
    {"ApplyDag", "26-ok-is-durable 56-each-slot-decided"},
    {"DeleteDag", "56-each-slot-decided"},
    {"PauseSchedule", "26-nonsense-refused 56-each-slot-decided"},
    {"TriggerSchedule", "26-ok-is-durable 26-nonsense-refused"},
    {"SetLimit", "64-named-limit-kept 65-rate-kept"},
    {"DeleteLimit", "64-named-limit-kept"},
    {"AcquireLease", "23-leases-apart 26-nonsense-refused"},
    {"RenewLease", "23-leases-apart"},
    {"ReleaseLease", "26-ok-is-durable"},
    {"CheckLease", "26-ok-is-durable"},
    {"CheckAttempt", "26-ok-is-durable"},
    {"TellLifecycle", "26-ok-is-durable"},
    {"RefuseCheckpoint", "26-nonsense-refused"},
    {"KeepCheckpoint", "26-ok-is-durable reload-knows-all"},
    {"NoteSecrets", "26-ok-is-durable", "not drawn: it writes events and changes nothing else"},
    {"StoreHealth", "19-no-early-silence", "by the controller, when a commit stalls"},
    {"SelfCheckResult", "19-no-early-silence", "by the controller, while its brake holds"},
    {"ForgetRun", "01-submit-kept 02-one-key-one-run reload-knows-all",
     "by the controller, when the store lets a run go"},
    {"DeleteWorker", "26-ok-is-durable reload-knows-all"},
    {"NoteFindings", "21-status-true", "not drawn: nothing may be found"},
    {"Tick", "27-all-ends", "by the controller, all the time"},
}};

}  // namespace

std::span<const CommandFeature, kCommands> command_features() { return kCommandFeatures; }

}  // namespace vortex::sim
