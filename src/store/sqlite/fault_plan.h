#pragma once
// Which writes to the disk fail on purpose: for tests of what happens then, never in earnest.
//
// Text form, also in the environment variable VORTEX_FAULT_STORE: `full@17` (the 17th write or sync
// of the writer fails, the disk being full), `io@17` (with an I/O error), `full@17-40` (all of the
// 17th to the 40th), `io@17-` (the 17th and all later ones). Counted from the opening of the store.

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace vortex::store::sqlite {

struct FaultPlan {
  enum class Kind : std::uint8_t { kFull, kIo };
  Kind kind = Kind::kFull;
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();  // included
};

std::optional<FaultPlan> parse_fault_plan(std::string_view text);

}  // namespace vortex::store::sqlite
