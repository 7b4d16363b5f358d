#pragma once
// Amounts as people say them: "3m ago", "1.2s", "4.2 MiB". Only for the eye; what programs read
// keeps its exact form. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace vortex::cli {

// "85ms", "1.2s", "42s", "3m05s", "2h10m", "5d3h"; never longer than seven characters.
std::string human_duration(Duration duration);
// "3m ago", "in 20s", "now".
std::string human_time(Instant at, Instant now);
std::string human_bytes(std::uint64_t bytes);
// "1 task", "2 tasks".
std::string counted(std::uint64_t number, std::string_view noun);

// As the interface writes times: 2026-02-22T22:59:55.123456Z; unset: it is none.
std::optional<Instant> parse_time(std::string_view text);
// The time of day in UTC, "22:59:55".
std::string clock_text(Instant at);

}  // namespace vortex::cli
