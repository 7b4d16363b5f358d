#pragma once
// From the text of an enum value back to the value, by asking to_text of each in turn.
// For small enums that start at zero and have no holes; a row with another text is damaged.

#include <cstdint>
#include <optional>
#include <string_view>

namespace vortex::store {

template <class Enum>
constexpr std::optional<Enum> from_number(std::int64_t number, Enum last) {
  if (number < 0 || number > static_cast<std::int64_t>(last)) return std::nullopt;
  return static_cast<Enum>(number);
}

template <class Enum>
std::optional<Enum> from_text(std::string_view text, Enum last) {
  for (std::int64_t number = 0;; ++number) {
    const auto value = from_number(number, last);
    if (!value || to_text(*value) == text) return value;
  }
}

}  // namespace vortex::store
