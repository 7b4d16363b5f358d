#pragma once
// Bytes that are not text, as text: base64 of RFC 4648 with its padding, and nothing else read
// back. Pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace vortex::codec {

void append_base64(std::string& out, std::string_view bytes);
// Unset: not base64. Refuses what it would not write itself, so two texts never mean one value.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace vortex::codec
