#pragma once
// Opens a store in a PostgreSQL database: its tables are made when there are none and brought to
// the layout of this version. Any number of controllers may have it open; one leads.

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "store/error.h"
#include "store/log_span.h"
#include "store/store.h"

namespace vortex::store {

struct PostgresOptions {
  std::string url;  // a connection string of libpq, as a URI or as words
  // What an attempt may write: its first and its last bytes are kept, the middle is cut out.
  LogLimits logs;
  Duration io_timeout = seconds(10);    // of one wait for the server
  std::function<Instant()> wall_clock;  // unset: the database's; only for where a term starts
  bool takes_copies = false;  // an unfinished copy (store/copy.h) is opened too, to go on with it
};

Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options);

}  // namespace vortex::store
