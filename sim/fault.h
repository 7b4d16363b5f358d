#pragma once
// The faults the simulated world knows, one word for each.
//
// A seed switches about half of them off and draws the strength of the rest. Some are always there
// while they are on (a lossy link), others strike at a time, at somebody, and last for a while.
// Append-only: saved cases name them by number.

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace vortex::sim {

enum class FaultKind : std::uint8_t {
  // Always there.
  kSlowLinks,
  kLossyLinks,
  kRepeatedRequests,
  kSlowStore,
  kStoreAborts,
  kStoreLostAnswers,
  kCrashAtBoundary,  // a controller dies before a commit, after it, or between two replies
  kClockRates,       // within what the timing rules allow for
  kClockBeyondMargin,
  kTaskFailures,
  kTaskHangs,
  kTaskPoison,
  kOperator,  // people cancel, pause, drain, cordon, reset
  // For a while.
  kCutOneWay,
  kCutBothWays,
  kClog,
  kIsolateHost,
  kStoreStall,
  kStoreOutage,
  kStoreFailover,
  kStoreFull,
  kControllerCrash,
  kControllerPause,
  kWorkerCrash,
  kWorkerPause,
  kWorkerDrain,
  kSupervisorCrash,  // supervisor and worker die together on a host that stays up
  kHostCrash,
  kMassLoss,  // more than half of the workers' hosts fall silent at once
  kForgedHint,
  kWallJump,
  kTwin,  // a second life is started while the first stands still with its supervisor gone
  // Since the second drawing.
  kControllerStop,  // asked to leave, and started again later
  // Since the third.
  kStoreClockJump,  // the database's clock, which judges the lease to lead
  kCount,
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::kCount);
inline constexpr std::size_t kFaultKindsOfFirstDrawing =
    static_cast<std::size_t>(FaultKind::kControllerStop);
inline constexpr std::size_t kFaultKindsOfSecondDrawing =
    static_cast<std::size_t>(FaultKind::kStoreClockJump);
inline constexpr FaultKind kFirstTimedFault = FaultKind::kCutOneWay;

// `a` and `b` name whom it hits; what they count depends on the kind.
struct Fault {
  FaultKind kind = FaultKind::kCutOneWay;
  Instant at;
  Duration lasts;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

std::string_view to_text(FaultKind kind);

// Worlds built around one danger, besides the swarm in which anything may happen.
enum class Scenario : std::uint8_t {
  kBySeed,  // the seed decides: mostly the swarm
  kSwarm,
  kCalm,
  kPauseAtLeaseEnd,
  kCrashAtCommitPoints,
  kStopOneByOne,
  kMassLoss,
  kLeaderPausedPastLease,
  kStoreOutagePastLease,
  kWorkerDeaths,
  kDrains,
  kPartitions,
  kClocks,
  kCount,
};
inline constexpr std::size_t kScenarios = static_cast<std::size_t>(Scenario::kCount);

std::string_view to_text(Scenario scenario);

}  // namespace vortex::sim
