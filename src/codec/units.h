#pragma once
// Amounts with a unit as people write them ("90s", "1.5h", "512MiB", 0.25) and their one canonical
// text. Exact: what a whole number of microseconds, bytes or thousandths cannot say is refused.
// Pure functions. The units are part of the file format: append-only.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/time.h"

namespace vortex::codec {

// Completes a sentence that begins with the value: "is not a duration", "is too large", ...
using AmountFault = std::string_view;

// us, ms, s, m, h, d. At most kForever.
std::expected<Duration, AmountFault> parse_duration(std::string_view text);
// In the largest unit that needs no point: "90s", "1m", "1d"; nothing is "0s".
std::string duration_text(Duration duration);

// B, KB, MB, GB, TB (thousands) and KiB, MiB, GiB, TiB (1024s), in bytes.
std::expected<std::int64_t, AmountFault> parse_size(std::string_view text);
std::string size_text(std::int64_t bytes);

// What to write instead of an amount that cannot be read: the likely one ("1G" is 1GiB, "90sec" is
// 90s) where there is one, and all units.
std::string duration_help(std::string_view text);
std::string size_help(std::string_view text);

// So many in so long: "100/1m".
struct Rate {
  std::uint32_t count = 0;  // at least 1
  Duration window = {};
};
inline constexpr std::uint32_t kRateMax = 1'000'000'000;
std::expected<Rate, AmountFault> parse_rate(std::string_view text);
std::string rate_text(const Rate& rate);

// A plain decimal number in thousandths: 1.5 is 1500.
std::expected<std::int64_t, AmountFault> parse_thousandths(std::string_view number);
std::string thousandths_text(std::int64_t thousandths);

// Whole milliseconds, rounded up: a time limit on the wire is never shorter than it was.
std::uint64_t whole_millis(Duration duration);

}  // namespace vortex::codec
