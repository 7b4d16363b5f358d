#pragma once
// Small questions about text that are asked everywhere: case, digits, UTF-8.
//
// Case is that of ASCII, as HTTP wants it; no locale is ever asked. UTF-8 is that of RFC 3629: no
// surrogates, nothing overlong, nothing above U+10FFFF. Pure functions over bytes; nothing is ever
// read past the end of the text.

#include <cstddef>
#include <string>
#include <string_view>

namespace vortex {

std::string lower_case(std::string_view text);
bool same_ignoring_case(std::string_view a, std::string_view b);
bool all_digits(std::string_view text);  // and at least one
int hex_value(char c);                   // -1: not a hex digit

// The bytes of the character that starts at `at`; 0 when no valid one starts there.
// Precondition: at < text.size().
std::size_t character_bytes(std::string_view text, std::size_t at);
bool is_utf8(std::string_view text);

}  // namespace vortex
