#pragma once
// What can go wrong with the store, as far as a caller would act differently on it.
// The first three say that definitely nothing happened; kUnknown is its own answer, never a guess.

#include <cstdint>
#include <expected>
#include <string>

namespace vortex::store {

enum class Fault : std::uint8_t {
  kUnavailable,  // definitely nothing happened; may work later
  kFull,         // the same, because there is no space
  kFenced,       // the same, and somebody else leads
  kUnknown,      // it may have happened or not
  kLocked,       // another controller has this file open
  kNewer,        // written by a newer version than this one
  kDamaged,      // what is there cannot be read
  kBadRequest,   // a cursor or filter that makes no sense
};

struct Error {
  Fault fault = Fault::kUnavailable;
  std::string detail;  // for people: what was tried, what the database said
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace vortex::store
