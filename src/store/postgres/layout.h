#pragma once
// The layout of a database: which one it has, and bringing it to the one that this version knows.
//
// Each migration is one transaction with its number, so that a crash in between is harmless.
// Controllers that start together take turns. A newer layout is refused before anything is changed,
// and so are tables of another program.

#include <cstdint>

#include "store/error.h"
#include "store/postgres/connection.h"

namespace vortex::store::postgres {

std::uint32_t known_version();

// 0: there is nothing yet. kNewer, kDamaged: it cannot be used.
Result<std::uint32_t> version_of(Connection& db);

Result<void> migrate(Connection& db);

}  // namespace vortex::store::postgres
