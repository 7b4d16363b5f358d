#pragma once
// One write transaction: begins when made, is rolled back unless commit() says it is durable.
//
// The first failure is kept and everything after it does nothing, so that code that writes many
// rows reads straight on and asks once. Writer's thread only.

#include <optional>
#include <string_view>

#include "store/error.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

struct TransactionStatements {
  explicit TransactionStatements(Connection& db);
  Statement begin;
  Statement commit;
  Statement rollback;
};

class Transaction {
 public:
  Transaction(Connection& db, TransactionStatements& statements);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction(Transaction&&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  // True: it ran. False: it or something before it failed.
  bool run(Statement& statement);
  bool ok() const { return !error_; }
  void fail(Error error);

  // kUnknown: it may be found after a crash although it is not visible now. Every other error:
  // nothing of it happened or ever will.
  Result<void> commit();

 private:
  void roll_back();
  Result<void> commit_failed();

  Connection& db_;
  TransactionStatements& statements_;
  std::optional<Error> error_;
};

}  // namespace vortex::store::sqlite
