#pragma once
// Brings a database file to the layout that this version knows.
//
// Each migration is one transaction with its number, so that a crash in between is harmless. A file
// of a newer version is refused before anything in it is changed, and so is one of another program.

#include <cstdint>
#include <string_view>

#include "store/error.h"
#include "store/sqlite/connection.h"

namespace vortex::store::sqlite {

std::uint32_t known_version();
// The statements that make this layout from the one before.
std::string_view migration(std::uint32_t version);

// The version of the file; 0: it is new. kNewer, kDamaged: it cannot be used.
Result<std::uint32_t> version_of(Connection& db);

Result<void> migrate(Connection& db);

}  // namespace vortex::store::sqlite
