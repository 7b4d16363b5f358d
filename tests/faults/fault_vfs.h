#pragma once
// A layer between SQLite and the files that makes chosen writes and syncs fail: which ones says a
// FaultPlan. For tests of what happens then; no part of the product.
//
// Text form, also in the environment variable VORTEX_FAULT_STORE: `full@17` (the 17th write or sync
// fails, the disk being full), `io@17` (with an I/O error), `full@17-40` (all of the 17th to the
// 40th), `io@17-` (the 17th and all later ones). Counted from when the layer was made.
//
// Registered with SQLite under its own name as long as the object lives, which must be longer than
// every connection that uses it. Everything else is passed through unchanged.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace vortex::faults {

struct FaultPlan {
  enum class Kind : std::uint8_t { kFull, kIo };
  Kind kind = Kind::kFull;
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();  // included
};

std::optional<FaultPlan> parse_fault_plan(std::string_view text);

class FaultVfs {
 public:
  // Whose files it is between: of those who ask for it by name, or of every connection.
  enum class For : std::uint8_t { kWhoAsks, kWholeProcess };

  explicit FaultVfs(FaultPlan plan, For whom = For::kWhoAsks);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  FaultVfs(FaultVfs&&) = delete;
  FaultVfs& operator=(FaultVfs&&) = delete;

  const std::string& name() const;
  std::uint64_t calls() const;  // writes and syncs so far

 private:
  struct Layer;
  std::unique_ptr<Layer> layer_;
};

}  // namespace vortex::faults
