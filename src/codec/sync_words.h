#pragma once
// What a worker reports, as one word each. On the wire: append-only.
// The other words of the exchange stand in model/sync.h, beside what they mean.

#include <cstdint>
#include <variant>

#include "model/sync.h"
#include "model/words.h"

namespace vortex {
namespace codec {

// In the order of ReportBody.
enum class ReportKind : std::uint8_t {
  kStarted,
  kCheckpoint,
  kCompleted,
  kFailed,
  kReleased,
  kTimedOut,
};

}  // namespace codec

template <>
inline constexpr auto kWords<codec::ReportKind> = words<codec::ReportKind>({
    {codec::ReportKind::kStarted, "started"},
    {codec::ReportKind::kCheckpoint, "checkpoint"},
    {codec::ReportKind::kCompleted, "completed"},
    {codec::ReportKind::kFailed, "failed"},
    {codec::ReportKind::kReleased, "released"},
    {codec::ReportKind::kTimedOut, "timed_out"},
});
static_assert(std::variant_size_v<ReportBody> == kWords<codec::ReportKind>.size());

}  // namespace vortex
