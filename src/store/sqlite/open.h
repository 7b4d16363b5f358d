#pragma once
// Opens a store in a SQLite file: the file is made when there is none and brought to the layout of
// this version. One controller at a time: a second one is told kLocked and by which process.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "store/error.h"
#include "store/log_span.h"
#include "store/store.h"

namespace vortex::store {

struct SqliteOptions {
  std::string path;
  // What an attempt may write: its first and its last bytes are kept, the middle is cut out.
  LogLimits logs;
  std::uint64_t writer_cache_bytes = std::uint64_t{64} << 20;
  std::uint64_t reader_cache_bytes = std::uint64_t{4} << 20;  // each
  std::uint64_t reader_map_bytes = std::uint64_t{256} << 20;  // of the file, shared by all
  std::uint32_t page_bytes = 4096;                            // of a new file
  std::uint32_t checkpoint_pages = 16'000;                    // in the log before it is moved
  int busy_timeout_ms = 5'000;          // while somebody else's shell holds the file
  std::function<Instant()> wall_clock;  // unset: the system's; only for where a term starts
  std::string vfs;            // the layer of SQLite below the writer; empty: the usual one
  bool takes_copies = false;  // an unfinished copy (store/copy.h) is opened too, to go on with it
  // Told what is odd about the files but no reason not to open them; unset: nobody.
  std::function<void(const std::string&)> notice;
};

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options);

}  // namespace vortex::store
