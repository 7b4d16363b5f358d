#pragma once
// Tables of fields made of smaller ones, and the reader of keys that are reserved.
// Everything is done while compiling. Internal to the codec.

#include <cstddef>
#include <string_view>
#include <vector>

#include "codec/reading.h"

namespace vortex::codec {

template <class T, std::size_t N>
struct JoinedFields {
  Field<T> fields[N];
};

template <class T, std::size_t A, std::size_t B>
constexpr JoinedFields<T, A + B> joined(const Field<T> (&first)[A], const Field<T> (&second)[B]) {
  JoinedFields<T, A + B> out{};
  for (std::size_t i = 0; i < A; ++i) out.fields[i] = first[i];
  for (std::size_t i = 0; i < B; ++i) out.fields[A + i] = second[i];
  return out;
}

// A key that has its meaning already, though nothing here acts on it: better than "unknown".
template <class T>
void not_yet(Reading& in, NodeIx value, T& /*out*/) {
  if (!in.full()) in.problem(value - 1, in.document().name_of(value) + " is not supported yet");
}

// The keys of a table, without those that are only reserved.
template <class T, std::size_t N>
std::vector<std::string_view> keys_of(const Field<T> (&fields)[N]) {
  std::vector<std::string_view> keys;
  for (const Field<T>& field : fields) {
    if (field.read != &not_yet<T>) keys.push_back(field.name);
  }
  return keys;
}

}  // namespace vortex::codec
