#pragma once
// What an operator does with a database as a whole, whichever the settings name: check it and bring
// it to the layout of this version.

#include <cstdint>

#include "base/settings.h"
#include "store/error.h"
#include "store/sql/check.h"

namespace vortex::store {

// kNewer, kDamaged, kUnavailable: it could not even be looked at.
Result<CheckReport> check_store(const DatabaseSettings& settings);

// The layout that the database has; 0: it is empty. Changes nothing.
Result<std::uint32_t> layout_of(const DatabaseSettings& settings);

struct Migrated {
  std::uint32_t from = 0;  // 0: there was nothing
  std::uint32_t to = 0;
};
// kLocked: a controller uses the file. Of PostgreSQL, controllers of the older version must be
// stopped by the caller.
Result<Migrated> migrate_store(const DatabaseSettings& settings);

}  // namespace vortex::store
