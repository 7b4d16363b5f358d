#pragma once
// The values of one node, judged by themselves: no other node is looked at.
//
// The bounds here are the meaning of the fields, not settings: nothing outside them can run. They
// are part of the interface; a wider bound is a compatible change, a narrower one is not.

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "model/dag.h"
#include "model/text_check.h"

namespace vortex {

inline constexpr std::int64_t kPriorityMax = 100;
// Counts of attempts are 16 bits wide and have to hold crashes and releases as well.
inline constexpr std::int64_t kRetriesMax = 10'000;
inline constexpr std::int64_t kJitterPermilleMax = 1'000;
// A year. Times any 16-bit count, it is still a valid Duration.
inline constexpr Duration kDelayMax = hours(8'760);
// Exact as a JSON number, and sums of them do not overflow.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 53;
inline constexpr std::int64_t kParallelMax = 1'000'000;

inline constexpr std::size_t kLabelBytesMax = 256;  // a label's value, a runtime, a worker
inline constexpr std::size_t kEntriesMax = 64;      // labels, named resources
inline constexpr std::size_t kListMax = 1'000;      // outputs, exit codes, params
inline constexpr std::size_t kHelpBytesMax = 1'000;
inline constexpr std::size_t kFallbackBytesMax = 65'536;

// The first complaint about the node's values, if any. Name and needs are not looked at.
Complaint complain_of_values(const NodeSpec& node);
// About one param by itself; whether its default has its type is the codec's question.
Complaint complain_of_param(const ParamSpec& param);

}  // namespace vortex
