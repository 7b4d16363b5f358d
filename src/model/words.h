#pragma once
// Closed lists of words: the values of an enum as rows, responses, filters and help show them.
//
// Each list is declared once, next to its enum; everything else reads the words from there. An
// enumerator without a word, or out of order, does not compile. The words
// are on disk and on the wire: append-only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/assert.h"

namespace vortex {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};

// Specialized for every enum that has words.
template <class Enum>
inline constexpr std::nullptr_t kWords = nullptr;

template <class Enum>
concept HasWords = requires { kWords<Enum>.size(); };

template <auto Value>
consteval bool is_enumerator() {
  // The compiler shows a value that has no name as a cast: (vortex::TaskState)8.
  const std::string_view shown = __PRETTY_FUNCTION__;
  return shown[shown.find("Value = ") + 8] != '(';
}

template <class Enum, std::size_t N>
consteval std::array<std::string_view, N> words(const Word<Enum> (&list)[N]) {
  static_assert(!is_enumerator<static_cast<Enum>(N)>(), "the last enumerator has no word");
  std::array<std::string_view, N> texts;
  for (std::size_t i = 0; i < N; ++i) {
    if (list[i].value != static_cast<Enum>(i)) throw "a word is not in the place of its number";
    texts[i] = list[i].text;
  }
  return texts;
}

// All words, in the order of their numbers.
template <HasWords Enum>
constexpr std::span<const std::string_view> words_of() {
  return kWords<Enum>;
}

template <HasWords Enum>
constexpr std::string_view to_text(Enum value) {
  const auto number = static_cast<std::size_t>(value);
  VX_ASSERT(number < kWords<Enum>.size());
  return kWords<Enum>[number];
}

template <HasWords Enum>
constexpr std::optional<Enum> from_text(std::string_view text) {
  for (std::size_t i = 0; i < kWords<Enum>.size(); ++i) {
    if (kWords<Enum>[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <HasWords Enum>
constexpr std::optional<Enum> from_number(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kWords<Enum>.size())) return std::nullopt;
  return static_cast<Enum>(number);
}

}  // namespace vortex
