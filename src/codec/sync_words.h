#pragma once
// The words of the exchange between worker and controller, each beside what it means.
// One table for both directions. On the wire: append-only. Internal to the codec.

#include <array>
#include <cstdint>

#include "codec/reading.h"
#include "model/sync.h"

namespace vortex::codec {

// In the order of ReportBody.
enum class ReportKind : std::uint8_t {
  kStarted,
  kCheckpoint,
  kCompleted,
  kFailed,
  kReleased,
  kTimedOut,
};

inline constexpr std::array<Word<ReportKind>, 6> kReportKinds{{
    {"started", ReportKind::kStarted},
    {"checkpoint", ReportKind::kCheckpoint},
    {"completed", ReportKind::kCompleted},
    {"failed", ReportKind::kFailed},
    {"released", ReportKind::kReleased},
    {"timed_out", ReportKind::kTimedOut},
}};

inline constexpr std::array<Word<Failed::Cause>, 4> kFailedCauses{{
    {"exit_code", Failed::Cause::kExitCode},
    {"signal", Failed::Cause::kSignal},
    {"out_of_memory", Failed::Cause::kOutOfMemory},
    {"could_not_start", Failed::Cause::kCouldNotStart},
}};

inline constexpr std::array<Word<Released::Cause>, 4> kReleasedCauses{{
    {"drained", Released::Cause::kDrained},
    {"self_fenced", Released::Cause::kSelfFenced},
    {"stopped", Released::Cause::kStopped},
    {"not_started", Released::Cause::kNotStarted},
}};

inline constexpr std::array<Word<Leaving>, 3> kLeavingWords{{
    {"no", Leaving::kNo},
    {"draining", Leaving::kDraining},
    {"gone", Leaving::kGone},
}};

inline constexpr std::array<Word<StopOrder::Why>, 4> kStopWhys{{
    {"cancelled", StopOrder::Why::kCancelled},
    {"stale", StopOrder::Why::kStale},
    {"execution_timeout", StopOrder::Why::kExecutionTimeout},
    {"not_started_in_time", StopOrder::Why::kNotStartedInTime},
}};

inline constexpr std::array<Word<SyncRefusal::Why>, 5> kRefusalWhys{{
    {"unknown_worker", SyncRefusal::Why::kUnknownWorker},
    {"stale_incarnation", SyncRefusal::Why::kStaleIncarnation},
    {"session_ended", SyncRefusal::Why::kSessionEnded},
    {"old_message", SyncRefusal::Why::kOldMessage},
    {"malformed", SyncRefusal::Why::kMalformed},
}};

}  // namespace vortex::codec
