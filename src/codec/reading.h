#pragma once
// From a parsed document to plain data, collecting every problem with its place on the way.
//
// A reader is given the node of a value and where the result goes; after a problem the result stays
// as it was and reading goes on. Objects are read by tables of fields. One Reading per document;
// internal to the codec.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "codec/document.h"
#include "model/words.h"

namespace vortex::codec {

// What happens to keys that nobody asked for. Where they are ignored, null stands for "not given".
enum class UnknownKeys : std::uint8_t { kRefused, kIgnored };

// Who wrote the document. What a controller wrote may come from an earlier version: former names of
// keys are accepted there, and refused with the new name in what users write.
enum class WrittenBy : std::uint8_t { kUser, kController };

class Reading {
 public:
  Reading(const Document& document, UnknownKeys unknown, WrittenBy by = WrittenBy::kUser)
      : document_(document), unknown_(unknown), by_(by) {}

  const Document& document() const { return document_; }
  UnknownKeys unknown_keys() const { return unknown_; }
  WrittenBy written_by() const { return by_; }

  void problem(NodeIx node, std::string message, std::string help = {});
  // No more problems are taken: loops over input should end.
  bool full() const { return problems_.size() >= kProblemsMax; }
  bool fine() const { return problems_.empty(); }
  // In the order of the document. Precondition: not fine.
  Problems take_problems();

  // "'slots' is 1.5; it must be a whole number"
  void wrong_type(NodeIx node, std::string_view wanted, std::string help = {});
  void unknown_key(NodeIx key, std::string_view owner, std::span<const std::string_view> known);
  void duplicate_key(NodeIx key);
  void missing_key(NodeIx object, std::string_view name);
  // The value as it is shown in messages.
  std::string shown(NodeIx node) const;

 private:
  struct Found {
    NodeIx node = 0;
    Problem problem;
  };

  const Document& document_;
  UnknownKeys unknown_;
  WrittenBy by_;
  std::vector<Found> problems_;  // by node, which is the order of the document
};

// ---- Single values ----

// What people call it: "a map" in YAML, "an object" in JSON.
std::string_view object_word(Syntax syntax);

bool is_object(Reading& in, NodeIx node);
bool is_array(Reading& in, NodeIx node);
// Unset after a problem.
std::optional<std::string_view> text_of(Reading& in, NodeIx node);

void read_text(Reading& in, NodeIx node, std::string& out);
void read_flag(Reading& in, NodeIx node, bool& out);
// A list of texts, in its order.
void read_texts(Reading& in, NodeIx node, std::vector<std::string>& out);

// A whole number from low to high. Written as 1.5, 1e3 or "1" it is refused.
bool parse_signed(Reading& in, NodeIx node, std::int64_t low, std::int64_t high, std::int64_t& out);
bool parse_unsigned(Reading& in, NodeIx node, std::uint64_t low, std::uint64_t high,
                    std::uint64_t& out);

template <std::integral Number>
void read_number(Reading& in, NodeIx node, Number& out,
                 std::type_identity_t<Number> low = std::numeric_limits<Number>::min(),
                 std::type_identity_t<Number> high = std::numeric_limits<Number>::max()) {
  if constexpr (std::signed_integral<Number>) {
    std::int64_t number = 0;
    if (parse_signed(in, node, low, high, number)) out = static_cast<Number>(number);
  } else {
    std::uint64_t number = 0;
    if (parse_unsigned(in, node, low, high, number)) out = static_cast<Number>(number);
  }
}

// ---- One of a few words ----

template <class Enum>
using Word = std::pair<std::string_view, Enum>;

void not_a_word(Reading& in, NodeIx node, std::span<const std::string_view> words);

template <class Enum, std::size_t N>
bool read_word(Reading& in, NodeIx node, const std::array<Word<Enum>, N>& words, Enum& out) {
  const auto text = text_of(in, node);
  if (!text) return false;
  for (const auto& [word, value] : words) {
    if (word != *text) continue;
    out = value;
    return true;
  }
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) names[i] = words[i].first;
  not_a_word(in, node, names);
  return false;
}

// One of all the words of the enum.
template <HasWords Enum>
bool read_word(Reading& in, NodeIx node, Enum& out) {
  const auto text = text_of(in, node);
  if (!text) return false;
  const auto value = from_text<Enum>(*text);
  if (!value) {
    not_a_word(in, node, words_of<Enum>());
    return false;
  }
  out = *value;
  return true;
}

template <class Enum, std::size_t N>
std::string_view word_for(const std::array<Word<Enum>, N>& words, Enum value) {
  for (const auto& [word, meant] : words) {
    if (meant == value) return word;
  }
  return words.front().first;
}

// ---- Objects ----

enum class Presence : std::uint8_t { kOptional, kRequired };

template <class T>
struct Field {
  std::string_view name;
  void (*read)(Reading& in, NodeIx value, T& out);
  Presence presence = Presence::kOptional;
};

// For fields that are looked at only when all are known: keeps the node of the value.
template <auto Member, class T>
void keep_node(Reading& /*in*/, NodeIx value, T& out) {
  out.*Member = value;
}

// The field with that name, or N. Documents mostly have the order of the table: `hint` is where to
// look first.
template <class T, std::size_t N>
std::size_t find_field(const Field<T> (&fields)[N], std::string_view name, std::size_t hint) {
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t at = hint + i < N ? hint + i : hint + i - N;
    if (fields[at].name == name) return at;
  }
  return N;
}

template <class T, std::size_t N>
void report_unknown(Reading& in, NodeIx key, std::string_view owner, const Field<T> (&fields)[N]) {
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) names[i] = fields[i].name;
  in.unknown_key(key, owner, names);
}

// `owner` says in messages what kind of thing has these fields ("task"); it may be empty.
template <class T, std::size_t N>
void read_object(Reading& in, NodeIx node, std::string_view owner, const Field<T> (&fields)[N],
                 T& out) {
  static_assert(N <= 64);
  if (!is_object(in, node)) return;
  const bool lenient = in.unknown_keys() == UnknownKeys::kIgnored;
  std::uint64_t seen = 0;
  std::size_t hint = 0;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    const std::size_t at = find_field(fields, in.document().text(key), hint);
    if (at == N) {
      if (!lenient) report_unknown(in, key, owner, fields);
      return;
    }
    hint = at + 1 < N ? at + 1 : 0;
    const std::uint64_t bit = std::uint64_t{1} << at;
    if ((seen & bit) != 0) return in.duplicate_key(key);
    if (lenient && in.document().kind(value) == NodeKind::kNull) return;
    seen |= bit;
    fields[at].read(in, value, out);
  });
  for (std::size_t i = 0; i < N; ++i) {
    const bool given = (seen >> i & 1U) != 0;
    if (fields[i].presence == Presence::kRequired && !given) in.missing_key(node, fields[i].name);
  }
}

// An object whose keys are the user's own names: true when it is one. Repeated keys are problems.
bool is_object_of_names(Reading& in, NodeIx node);

// ---- A whole document ----

// Parses, reads with `read(Reading&, NodeIx root, T&)` and gives the value or all problems.
template <class T, class Read>
Decoded<T> decode(std::string_view json, UnknownKeys unknown, Read&& read,
                  WrittenBy by = WrittenBy::kUser) {
  Document document;
  if (auto fault = document.parse(json)) return std::unexpected(Problems{*std::move(fault)});
  Reading in(document, unknown, by);
  T out{};
  read(in, NodeIx{0}, out);
  if (!in.fine()) return std::unexpected(in.take_problems());
  return out;
}

}  // namespace vortex::codec
