#pragma once
// Small questions about text that several files of net ask: case, digits, UTF-8.
//
// ASCII only where case is concerned, as HTTP wants it; no locale is ever asked. Pure functions.

#include <string_view>

namespace vortex::net {

bool same_ignoring_case(std::string_view a, std::string_view b);
bool all_digits(std::string_view text);  // and at least one
bool is_utf8(std::string_view text);     // no overlong forms, no surrogates
int hex_value(char c);                   // -1: not a hex digit

}  // namespace vortex::net
