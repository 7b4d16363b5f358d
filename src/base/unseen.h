#pragma once
// Characters that a terminal obeys instead of showing, and those that change the order in which
// others are shown: control characters (C0, DEL, C1) and marks of writing direction.
//
// Text of strangers is refused as a name when it has one, and shown without when it has. What is
// not UTF-8 counts as unseen where a terminal that is not in UTF-8 would obey it. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vortex {

struct Unseen {
  std::size_t at = 0;
  std::size_t bytes = 1;
  char32_t code = 0;
  bool is_direction = false;  // a mark of writing direction; else a control character
};
// The first one at or behind `from`; unset: there is none.
std::optional<Unseen> find_unseen(std::string_view text, std::size_t from = 0);

// How it is written for people: "^[" for controls of ASCII, "<U+202E>" for the others.
std::string unseen_text(const Unseen& unseen);

}  // namespace vortex
