#pragma once
// The text of an id in quotes, ready to be written as JSON: same text as to_text of model/ids.h,
// made without a trip to the heap. Plain values, safe from any thread.

#include <array>
#include <cstddef>
#include <string_view>

#include "model/ids.h"

namespace vortex::codec {

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

}  // namespace vortex::codec
