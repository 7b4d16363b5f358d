#pragma once
// Checks a database file: its pages, every row, and what rows promise each other. Checking only
// reads, so it may run beside a controller; repairing needs the file for itself. A large file takes
// a while.

#include <cstdint>
#include <string>
#include <vector>

#include "store/error.h"
#include "store/sql/check.h"

namespace vortex::store {

// kNewer, kDamaged, kUnavailable: it could not even be looked at.
Result<CheckReport> check_sqlite(const std::string& path);

// Repairs what follows from other rows, in one transaction, and says what it did, one sentence
// each. kLocked: a controller uses the file. kBadRequest: its layout is older, or its pages are
// damaged; nothing was changed.
Result<std::vector<std::string>> repair_sqlite(const std::string& path);

// Copies a database file as it stands at one moment, also while a controller writes to it.
//
// The copy has its name only once it is whole and on disk; an existing file is never overwritten.

// kBadRequest: there is already something at `to`.
Result<void> backup_sqlite(const std::string& path, const std::string& to);

// Puts a backup in the place of the database. It is checked first; what was there is kept beside it
// under another name, which is the answer (empty: there was nothing). kLocked: a controller uses
// the file. kDamaged: the backup is not sound; nothing was changed.
Result<std::string> restore_sqlite(const std::string& backup, const std::string& path);

}  // namespace vortex::store
