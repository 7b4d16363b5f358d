#pragma once
// Where a page of a list ended, as text that means nothing to anybody else.
//
// A version, the kind of list, then the key in base 16. A cursor of another list, of a later
// version or with a stray character is not read: the caller answers kBadRequest.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/error.h"
#include "store/reader.h"

namespace vortex::store {

// What a list is ordered by. Lists use as much of it as they need; the rest stays empty.
struct CursorKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  std::string text = {};
  friend auto operator<=>(const CursorKey&, const CursorKey&) = default;
};

enum class CursorKind : char {
  kRuns = 'r',
  kTasks = 't',
  kWorkers = 'w',
  kRecoveries = 'e',
  kRecoveryItems = 'i',
  kDeadLetters = 'd',
  kLeases = 'l',
  kDags = 'g',
  kAudit = 'a',
  kSchedules = 's',
};

std::string write_cursor(CursorKind kind, const CursorKey& key);

// Nothing for the first page; an error for a text that was not made by write_cursor.
Result<std::optional<CursorKey>> read_cursor(CursorKind kind, std::string_view text);

// Pages have at least one row and a bounded number of them.
inline constexpr std::uint32_t kPageRowsMax = 10'000;
std::uint32_t page_rows(const PageRequest& page);

}  // namespace vortex::store
