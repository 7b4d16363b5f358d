#pragma once
// One connection to the database file, and what its errors mean for the store.
//
// Belongs to one thread at a time. The writer's connection alone writes and checkpoints; every
// other one only reads and never checkpoints, not even when it is closed (Debian's SQLite 3.40 can
// damage the log when two connections write or checkpoint at once).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/error.h"

struct sqlite3;

namespace vortex::store::sqlite {

enum class Use : std::uint8_t { kWrite, kRead };

struct ConnectionSetup {
  std::string path;
  Use use = Use::kRead;
  std::uint64_t cache_bytes = 0;
  std::uint64_t map_bytes = 0;
  int busy_timeout_ms = 5'000;
  std::string vfs;  // empty: the platform's own
};

class Connection {
 public:
  // Opens the file (a writer makes it when there is none) without changing anything in it.
  static Result<std::unique_ptr<Connection>> open(const ConnectionSetup& setup);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  sqlite3* handle() const { return db_; }
  // Runs statements that give no rows, one after the other.
  Result<void> exec(std::string_view sql);
  // The first column of the first row.
  Result<std::string> ask(std::string_view sql);

  // The last failure of this connection in the store's words; `doing` says what was tried.
  Error error(std::string_view doing) const;
  bool in_transaction() const;

 private:
  explicit Connection(sqlite3* db) : db_(db) {}
  Result<void> set_up(const ConnectionSetup& setup);

  sqlite3* db_;
};

// What a result code of SQLite asks of the caller; `system_error` is the errno behind it.
Fault fault_of(int extended_code, int system_error);

}  // namespace vortex::store::sqlite
