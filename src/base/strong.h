#pragma once
// Strong types for ids and indexes: a TaskIx is not a WorkerIx, an Epoch is not a count.
//
// They order and compare like what they wrap and convert to nothing by themselves.

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace vortex {

template <class Tag, class Number = std::uint64_t>
struct StrongNumber {
  Number value = 0;
  friend constexpr auto operator<=>(StrongNumber, StrongNumber) = default;
  constexpr StrongNumber next() const { return {static_cast<Number>(value + 1)}; }
};

// A position in one of the core's tables; `none` stands for "no such thing".
template <class Tag>
struct StrongIndex {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = kNone;
  friend constexpr auto operator<=>(StrongIndex, StrongIndex) = default;
  constexpr bool valid() const { return value != kNone; }
  static constexpr StrongIndex none() { return {}; }
};

template <class Tag>
struct StrongText {
  std::string text;
  StrongText() = default;
  explicit StrongText(std::string t) : text(std::move(t)) {}
  explicit StrongText(std::string_view t) : text(t) {}
  explicit StrongText(const char* t) : text(t) {}
  bool empty() const { return text.empty(); }
  friend auto operator<=>(const StrongText&, const StrongText&) = default;
};

}  // namespace vortex
