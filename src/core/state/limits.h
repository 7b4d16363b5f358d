#pragma once
// Named limits: how many tasks hold each, and how many were granted lately.
//
// A slot is held exactly by a task on a worker, so `held` follows from their states. What was
// granted is part of the row, which is written with the grant. A limit that nobody has set is known
// here only while live tasks name it, and lets none of them through.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/state/index.h"
#include "model/rows.h"

namespace vortex::core {

struct Limit : LimitRow {
  bool is_set = false;
  bool is_full = true;  // as it was judged last: nothing more is granted
  bool dirty = false;
  std::uint32_t held = 0;
  std::vector<ClassIx> classes;  // of tasks that name it
};

class LimitTable {
 public:
  // Makes it if it is not there.
  LimitIx use(const std::string& name);
  LimitIx find(std::string_view name) const;
  // Forgets it, if nobody has set it and no tasks name it.
  void forget_unused(LimitIx ix);

  Limit& operator[](LimitIx ix) { return *slots_[ix.value]; }
  const Limit& operator[](LimitIx ix) const { return *slots_[ix.value]; }
  const std::map<std::string, LimitIx, std::less<>>& by_name() const { return by_name_; }

 private:
  std::vector<std::unique_ptr<Limit>> slots_;
  std::vector<LimitIx> free_;
  std::map<std::string, LimitIx, std::less<>> by_name_;
};

// Counts of grants by slices of the window. A slice counts as a whole as long as any part of it can
// be in the window that ends now, so there are never more than `rate` in any window.

inline constexpr std::int64_t kSlices = 60;  // of a window

// Of one slice; 0: the limit has no rate.
Duration slice_of(const LimitRow& row);
// How many were granted in the slices that may be in the window which ends now.
std::uint64_t granted_lately(const LimitRow& row, Instant now);
void add_grant(LimitRow& row, Instant now);
// When the next of them leaves the window; kNever: there is none.
Instant next_leaves(const LimitRow& row, Instant now);

}  // namespace vortex::core
