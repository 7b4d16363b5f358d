#pragma once
// Copies everything from one database to another, of either kind: to move from SQLite to PostgreSQL
// and back.
//
// Nobody may lead at either end meanwhile. The target must be empty, or an unfinished copy of the
// same source, which is then continued. An unfinished copy is marked as such and no controller
// starts on it. At the end every table is read again at both ends and compared.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/error.h"

namespace vortex::store {

struct CopyProgress {
  std::string_view table;
  std::uint64_t rows = 0;   // of this table, so far
  std::uint64_t total = 0;  // of this table
  bool verifying = false;
};

struct CopyRequest {
  std::string from;  // the path of a file, or a connection string of PostgreSQL
  std::string to;
  std::function<void(const CopyProgress&)> progress;  // unset: nobody
};

struct CopyDone {
  std::uint64_t tables = 0;
  std::uint64_t rows = 0;
  std::uint64_t hash = 0;  // of all rows, the same at both ends
};

// kLocked: a controller uses one of them. kBadRequest: the target is not empty, or the source has
// changed since an unfinished copy of it. kDamaged: the ends differ; the target stays marked.
Result<CopyDone> copy_store(const CopyRequest& request);

}  // namespace vortex::store
