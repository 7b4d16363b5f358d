#pragma once
// Small questions about text that are asked everywhere: case, digits, UTF-8.
//
// Case is that of ASCII, as HTTP wants it; no locale is ever asked. UTF-8 is that of RFC 3629: no
// surrogates, nothing overlong, nothing above U+10FFFF. Pure functions over bytes; nothing is ever
// read past the end of the text.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace vortex {

std::string lower_case(std::string_view text);
bool same_ignoring_case(std::string_view a, std::string_view b);
bool all_digits(std::string_view text);  // and at least one
int hex_value(char c);                   // -1: not a hex digit

// The bytes of the character that starts at `at`; 0 when no valid one starts there.
// Precondition: at < text.size().
std::size_t character_bytes(std::string_view text, std::size_t at);
bool is_utf8(std::string_view text);

// Instants as text, in the one shape that everything else follows: UTC, sorts by time, understood
// by SQLite's own date functions, 'YYYY-MM-DD HH:MM:SS.ffffff'. Exact to the microsecond. On disk:
// append-only. Safe from any thread; each thread remembers the last second it has written.

inline constexpr std::size_t kTimeTextSize = 26;
using TimeText = std::array<char, kTimeTextSize>;

// Only years 0000 to 9999 have a text; the caller stores anything else as a plain number.
bool has_time_text(Instant at);
TimeText time_text(Instant at);
std::optional<Instant> parse_time_text(std::string_view text);

// "Did you mean": the known name that a mistyped one was probably meant to be.

// The nearest of `known`, or empty when none is near enough to be worth a hint. Near is: the same
// but for upper and lower case, or up to two edits away (one under five characters, none under
// three). Of equally near names the first wins. Linear in the number of names.
std::string_view nearest_name(std::string_view wanted, std::span<const std::string_view> known);

// A connection string without what must not be shown: passwords are replaced by ***.
std::string without_password(std::string_view url);

}  // namespace vortex
