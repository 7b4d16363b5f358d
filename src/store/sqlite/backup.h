#pragma once
// Copies a database file as it stands at one moment, also while a controller writes to it.
//
// The copy has its name only once it is whole and on disk; an existing file is never overwritten.

#include <string>

#include "store/error.h"

namespace vortex::store {

// kBadRequest: there is already something at `to`.
Result<void> backup_sqlite(const std::string& path, const std::string& to);

}  // namespace vortex::store
