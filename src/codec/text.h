#pragma once
// Values that are not text as the text they have in JSON: points in time, ids, bytes.
// Plain values and pure functions, safe from any thread.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/ids.h"

namespace vortex::codec {

// "2026-02-22T22:59:55.123456Z" with its quotes. kNever, and what lies outside the years 0 to
// 9999 and so has no such text, is written as null.
void append_time(std::string& out, Instant at);

// The text of an id in quotes, ready to be written as JSON: same text as to_text of model/ids.h,
// made without a trip to the heap. Plain values, safe from any thread.

class QuotedId {
 public:
  explicit QuotedId(RunId run);
  explicit QuotedId(TaskId task);

  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void put(std::string_view text);
  void put(std::uint64_t number);

  // Quotes, r, -L, - and the digits of one 64-bit and two 32-bit numbers.
  std::array<char, 48> bytes_;
  std::size_t size_ = 0;
};

// Bytes that are not text, as text: base64 of RFC 4648 with its padding, and nothing else read
// back. Pure functions.

void append_base64(std::string& out, std::string_view bytes);
// Unset: not base64. Refuses what it would not write itself, so two texts never mean one value.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace vortex::codec
