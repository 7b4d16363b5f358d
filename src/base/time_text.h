#pragma once
// Instants as text, in the one shape that everything else follows: UTC, sorts by time, understood
// by SQLite's own date functions, 'YYYY-MM-DD HH:MM:SS.ffffff'. Exact to the microsecond. On disk:
// append-only. Safe from any thread; each thread remembers the last second it has written.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace vortex {

inline constexpr std::size_t kTimeTextSize = 26;
using TimeText = std::array<char, kTimeTextSize>;

// Only years 0000 to 9999 have a text; the caller stores anything else as a plain number.
bool has_time_text(Instant at);
TimeText time_text(Instant at);
std::optional<Instant> parse_time_text(std::string_view text);

}  // namespace vortex
