#pragma once
// What is UTF-8 and what is not (RFC 3629: no surrogates, nothing overlong, nothing above
// U+10FFFF). Pure functions over bytes; nothing is ever read past the end of the text.

#include <cstddef>
#include <string_view>

namespace vortex::codec {

// The bytes of the character that starts at `at`; 0 when no valid one starts there.
// Precondition: at < text.size().
std::size_t character_bytes(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

}  // namespace vortex::codec
