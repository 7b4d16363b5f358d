#pragma once
// A statement that is prepared once and run many times, and the rows it gives.
//
// What its text says about records is filled in when it is prepared (store/record_sql.h). Values
// are bound in the order of the parameters: start(), then one call each. Text is not copied: it
// must live until the statement has run, or be given with own_text. A value equal to the one bound
// last is not bound again, which is most of them when a batch of rows is written. One thread, that
// of the connection.

#include <cstdint>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "model/words.h"
#include "store/error.h"
#include "store/sqlite/connection.h"

struct sqlite3_stmt;

namespace vortex::store::sqlite {

class Statement {
 public:
  // `sql` lives until the first use, when it is prepared.
  Statement(Connection& db, std::string_view sql) : db_(&db), sql_(sql) {}
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& start();
  Statement& number(std::int64_t value);
  Statement& unsigned_number(std::uint64_t value) {
    return number(static_cast<std::int64_t>(value));
  }
  Statement& flag(bool value) { return number(value ? 1 : 0); }
  Statement& text(std::string_view value);
  Statement& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Statement& own_text(std::string value);      // kept here until the next start()
  Statement& literal(std::string_view value);  // lives for ever
  Statement& blob(std::string_view value);
  Statement& time(Instant at);    // as text; kNever is null
  Statement& micros(Instant at);  // as a number; kNever is null
  Statement& null();

  // Runs it to its end. False: the connection has the error.
  bool run();
  std::int64_t changes() const;  // rows that the last run changed

  Connection& connection() const { return *db_; }

 private:
  friend class Rows;
  enum class Kind : std::uint8_t { kUnbound, kNumber, kLiteral, kTime, kNull, kOther };
  struct Bound {
    Kind kind = Kind::kUnbound;
    std::int64_t value = 0;
    TimeText time{};  // what a time is bound to: stays as long as the statement
  };

  Bound& next_bound();
  int step();
  void reset();

  Connection* db_;
  std::string_view sql_;
  sqlite3_stmt* handle_ = nullptr;
  bool failed_ = false;  // it could not be prepared or a value could not be bound
  std::size_t next_ = 0;
  std::vector<Bound> bound_;
  std::forward_list<std::string> own_;
};

// The rows of a statement whose values are bound: while (rows.next()) { rows.number(); ... }
// Columns are read in their order. After the loop failed() says whether it ended by an error.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement) {}
  ~Rows() { statement_.reset(); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  Rows(Rows&&) = delete;
  Rows& operator=(Rows&&) = delete;

  bool next();
  std::int64_t number();
  std::uint64_t unsigned_number() { return static_cast<std::uint64_t>(number()); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number_up_to(0xFFFF'FFFF)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number_up_to(0xFFFF)); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number_up_to(0xFF)); }
  bool flag() { return number() != 0; }
  bool is_null() const;  // the next column
  void skip() { ++column_; }
  std::string_view view();  // until the next call of next()
  std::string text() { return std::string(view()); }
  Instant time();
  Instant micros();

  // What was just read makes no sense: the loop ends and error() says so, unless the damage is
  // taken before the next row.
  void damaged(std::string_view what);
  struct Damage {
    std::string table;
    std::string column;
    std::string what;
  };
  // The present row was damaged. The loop goes on with the next one.
  std::optional<Damage> take_damage();
  bool failed() const { return failed_; }
  Error error() const { return error_; }

 private:
  std::int64_t number_up_to(std::int64_t max);

  Statement& statement_;
  int column_ = 0;
  bool failed_ = false;
  std::optional<Damage> damage_;
  Error error_;
};

// A column that holds the word of an enum's value, or its number.
template <class Enum>
Enum take_word(Rows& rows) {
  const std::string_view word = rows.view();
  if (const auto value = from_text<Enum>(word)) return *value;
  rows.damaged("'" + std::string(word) + "'");
  return {};
}
template <class Enum>
Enum take_code(Rows& rows) {
  if (const auto value = from_number<Enum>(rows.number())) return *value;
  rows.damaged("an unknown code");
  return {};
}

// One write transaction: begins when made, is rolled back unless commit() says it is durable.
//
// The first failure is kept and everything after it does nothing, so that code that writes many
// rows reads straight on and asks once. Writer's thread only.

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
