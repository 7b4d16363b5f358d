#pragma once
// What is wrong with a document, and exactly where. Plain data, made by every reader of this
// folder. One document may have many problems: all that can be found in one pass are told at once.
//
// Made for people: message and help are shown as they are, texts of the document in them are quoted
// and cut. Readers collect all they find, up to kProblemsMax, instead of stopping at the first.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace vortex::codec {

inline constexpr std::size_t kProblemsMax = 20;

struct Problem {
  std::string pointer;       // JSON pointer (RFC 6901) to the value; empty: the whole document
  std::string message;       // what is wrong, with the value; a sentence without a full stop
  std::string help;          // what to do, for example a near name; may be empty
  std::uint32_t line = 0;    // 1-based; 0: not known, because no text was read
  std::uint32_t column = 0;  // 1-based, in bytes
};

// All that was found, in the order of the document; never empty.
using Problems = std::vector<Problem>;

template <class T>
using Decoded = std::expected<T, Problems>;

}  // namespace vortex::codec
