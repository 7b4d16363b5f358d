#pragma once
// How many columns a text takes on a terminal, and cutting it to so many.
//
// UTF-8 with wide and combining characters; what is not UTF-8 counts one column a byte. Any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace vortex::cli {

std::size_t display_width(std::string_view text);
// At most `columns` wide; what was cut is shown by an ellipsis ("…", or "~" in ASCII).
enum class Ellipsis : bool { kAscii, kUnicode };
std::string cut_to_width(std::string_view text, std::size_t columns, Ellipsis ellipsis);
// Text of others, safe in one line of a terminal: control characters become spaces.
std::string one_line(std::string_view text);

}  // namespace vortex::cli
