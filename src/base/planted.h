#pragma once
// Planted bugs: mistakes that the simulator must find, compiled in only for its own test.
//
// In the product `planted(...)` is the constant false and the compiler drops the branch; a build
// with VX_PLANTED_BUGS switches one bug on at a time. The list is that of the mistakes other
// systems have shipped; each has a name that says what goes wrong.

#include <array>
#include <cstdint>
#include <string_view>

namespace vortex {

enum class PlantedBug : std::uint8_t {
  kNone,
  kResultWithoutEpochCheck,
  kRequeueKeepsEpoch,
  kExpiryBySkewedClock,
  kCrashCountedAsFailure,
  kRecoveryFromStaleRead,
  kStartWhenAnyNeedMet,
  kDeathAndRequeueApart,
  kTwoControllersRecover,
  kSubmitIgnoresKey,
  kHeartbeatRenewsUnheld,
  kOneRetryTooMany,
  kNoCrashLimit,
  kNoSelfFence,
  kSameEpochStartsTwice,
  kScheduledTimeoutBelowLease,
  kDrainCountedAsCrash,
  kLostLedgerRow,
  kSlotLeakedAtReclaim,
  kCancelIgnoredAfterRequeue,
  kLeaseRenewedWithoutEpoch,
  kOutageRuleOff,
  kBrakeOff,
  kReplyBeforeCommit,
  kDropAfterStopUncounted,
  kReplyWithBatchBefore,
  kMergeLosesOlderAttempt,
  kImageAcrossTerms,
  kAnswerAfterSteppingDown,
  kBatchHandedOverTwice,
  kStopDropsGathered,
  kSessionNotChecked,
  kConditionIgnored,
  kRetryCausesIgnored,
  kLateMapMadeAgain,
  kLateItemForgotten,
  kLateItemsTurned,
  kSignalLostAtReload,
  kSignalTakenTwice,
  kOppositeAnswerAccepted,
  kWaitBeginsAnew,
  kFinallySkippedAfterCancel,
  kFinallyStartsEarly,
  kSlotFiredAgain,
  kSlotLostAtFailover,
  kOverlapIgnored,
  kGroupForgottenAtReload,
  kTurnOutOfOrder,
  kGroupLimitIgnored,
  kLimitSlotLeaked,
  kLimitForgottenAtReload,
  kRateCountedAnew,
  kLimitIgnored,
  kChildMadeTwice,
  kCancelNotPassedDown,
  kChildOutcomeLost,
  kCount,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(PlantedBug::kCount)>
    kPlantedBugNames{
        "none",
        "result accepted without epoch check",
        "re-queue without new epoch",
        "expiry by a skewed clock",
        "crash counted as failure",
        "recovery from a stale read",
        "start when any need is met",
        "death and re-queue in two transactions",
        "two controllers recover one worker",
        "submit without key",
        "heartbeat renews what is not held",
        "one retry too many",
        "no crash limit",
        "no self-fence",
        "same epoch starts twice",
        "scheduled timeout below the lease",
        "drain counted as crash",
        "lost ledger row",
        "slot leaked at reclaim",
        "cancel ignored after re-queue",
        "partition lease renewed without epoch",
        "outage rule off",
        "brake off",
        "reply before commit",
        "drop after a stop not counted",
        "reply with the batch before its own",
        "merge loses the older of two attempts",
        "image adopted across a term",
        "answer after stepping down",
        "batch handed over twice",
        "stop drops what was gathered",
        "session not checked",
        "condition not asked",
        "retry causes ignored",
        "map at run time made again after a reload",
        "last item of a map at run time forgotten",
        "items of a map at run time given by the wrong end after a reload",
        "signal lost at a reload",
        "signal taken twice",
        "opposite answer accepted",
        "wait begins anew at a reload",
        "finally skipped after a cancel",
        "finally starts before the rest has ended",
        "slot fired again after a failover",
        "slot lost at a failover",
        "overlap ignored",
        "group forgotten at a reload",
        "turn out of order",
        "group limit ignored",
        "slot of a limit leaked at a reclaim",
        "limit forgotten at a reload",
        "rate counted anew after a failover",
        "limit ignored",
        "child run made twice after a reload",
        "cancel not passed down to a child run",
        "outcome of a child run lost at a reload",
    };

#ifdef VX_PLANTED_BUGS
// One per thread, so that many seeds can run side by side.
inline thread_local PlantedBug planted_bug = PlantedBug::kNone;
inline bool planted(PlantedBug bug) { return planted_bug == bug; }
#else
constexpr bool planted(PlantedBug) { return false; }
#endif

}  // namespace vortex
