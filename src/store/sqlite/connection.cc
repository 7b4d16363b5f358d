#include "store/sqlite/connection.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

// Statistics of SQLite's allocator cost a lock per allocation and nobody reads them.
void configure_library_once() {
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

bool is_full(int system_error) { return system_error == ENOSPC || system_error == EDQUOT; }

}  // namespace

Fault fault_of(int extended_code, int system_error) {
  switch (extended_code & 0xFF) {
    case SQLITE_FULL:
      return Fault::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // a statement of ours does not fit what is there
    case SQLITE_MISMATCH:
      return Fault::kDamaged;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      return Fault::kBadRequest;
    case SQLITE_IOERR:
      if (extended_code == SQLITE_IOERR_CORRUPTFS) return Fault::kDamaged;
      return is_full(system_error) ? Fault::kFull : Fault::kUnavailable;
    default:
      return is_full(system_error) && (extended_code & 0xFF) == SQLITE_CANTOPEN
                 ? Fault::kFull
                 : Fault::kUnavailable;
  }
}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionSetup& setup) {
  configure_library_once();
  const int access =
      setup.use == Use::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
  sqlite3* db = nullptr;
  const int rc =
      sqlite3_open_v2(setup.path.c_str(), &db, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      setup.vfs.empty() ? nullptr : setup.vfs.c_str());
  std::unique_ptr<Connection> connection(new Connection(db));
  if (rc != SQLITE_OK) {
    return std::unexpected(connection->error(fmt::format("opening {}", setup.path)));
  }
  if (auto done = connection->set_up(setup); !done) return std::unexpected(done.error());
  return connection;
}

Result<void> Connection::set_up(const ConnectionSetup& setup) {
  sqlite3_busy_timeout(db_, setup.busy_timeout_ms);
  if (setup.use == Use::kRead) {
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    if (auto done = exec(sql::kSetUpReader); !done) return done;
  }
  if (setup.map_bytes > 0) {
    if (auto done = ask(fmt::format(sql::kSetMap, setup.map_bytes)); !done) {
      return std::unexpected(done.error());
    }
  }
  if (setup.cache_bytes == 0) return {};
  return exec(fmt::format(sql::kSetCache, setup.cache_bytes / 1024));
}

Connection::~Connection() { sqlite3_close_v2(db_); }

Result<void> Connection::exec(std::string_view sql) {
  const std::string text(sql);
  if (sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(error("setting up the database"));
}

Result<std::string> Connection::ask(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  std::string answer;
  int rc = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (rc == SQLITE_OK) rc = sqlite3_step(statement);
  if (rc == SQLITE_ROW) {
    const void* text = sqlite3_column_blob(statement, 0);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, 0));
    if (text != nullptr) answer.assign(static_cast<const char*>(text), size);
  }
  Error failure = error("querying the database");
  sqlite3_finalize(statement);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) return std::unexpected(std::move(failure));
  return answer;
}

Error Connection::error(std::string_view doing) const {
  if (db_ == nullptr) return {Fault::kUnavailable, fmt::format("{}: out of memory", doing)};
  const int code = sqlite3_extended_errcode(db_);
  const int system_error = sqlite3_system_errno(db_);
  std::string detail = fmt::format("{}: {} (SQLite {})", doing, sqlite3_errmsg(db_), code);
  const bool from_system = (code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN;
  if (from_system && system_error != 0) {
    detail += fmt::format(", {}", std::strerror(system_error));
  }
  return {fault_of(code, from_system ? system_error : 0), std::move(detail)};
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

}  // namespace vortex::store::sqlite
