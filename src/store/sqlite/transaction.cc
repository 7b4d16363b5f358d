#include "store/sqlite/transaction.h"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

// The last write of a commit is the frame that makes it one. When any write failed that frame is
// missing or broken, and no recovery will take it. After a failed fsync it may be whole.
bool is_definite(int extended_code) {
  switch (extended_code) {
    case SQLITE_FULL:
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_READ:
    case SQLITE_IOERR_NOMEM:
    case SQLITE_NOMEM:
      return true;
    default:
      return (extended_code & 0xFF) == SQLITE_BUSY;
  }
}

}  // namespace

TransactionStatements::TransactionStatements(Connection& db)
    : begin(db, sql::kBegin), commit(db, sql::kCommit), rollback(db, sql::kRollback) {}

Transaction::Transaction(Connection& db, TransactionStatements& statements)
    : db_(db), statements_(statements) {
  run(statements_.begin.start());
}

Transaction::~Transaction() { roll_back(); }

bool Transaction::run(Statement& statement) {
  if (error_) return false;
  if (statement.run()) return true;
  error_ = db_.error("writing to the database");
  return false;
}

void Transaction::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<void> Transaction::commit() {
  if (error_) {
    roll_back();
    return std::unexpected(*error_);
  }
  if (statements_.commit.start().run()) return {};
  return commit_failed();
}

Result<void> Transaction::commit_failed() {
  const int code = sqlite3_extended_errcode(db_.handle());
  const bool still_open = db_.in_transaction();
  error_ = db_.error("committing");
  roll_back();
  if (!still_open && !is_definite(code)) {
    error_->fault = Fault::kUnknown;
    error_->detail += "; it may or may not be found after a crash";
  }
  return std::unexpected(*error_);
}

void Transaction::roll_back() {
  if (!db_.in_transaction()) return;
  statements_.rollback.start().run();
}

}  // namespace vortex::store::sqlite
