#pragma once
// A session with a database, its prepared statements and the rows they give, whichever database it
// is. What is written above this (rows of runs, tasks, the fleet, retention, readers) is the same
// for all of them; the text of a statement is found by its name in the .sql files of the database.
//
// Values are bound in the order of the parameters: start(), then one call each. Text is not copied:
// it must live until the statement has run, or be given with own_text. One thread at a time.

#include <cstdint>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/words.h"
#include "store/error.h"

namespace vortex::store::sql {

class Statement {
 public:
  Statement() = default;
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&&) = default;
  Statement& operator=(Statement&&) = delete;

  virtual Statement& start() = 0;
  virtual Statement& number(std::int64_t value) = 0;
  virtual Statement& text(std::string_view value) = 0;
  virtual Statement& literal(std::string_view value) = 0;  // lives for ever
  virtual Statement& blob(std::string_view value) = 0;
  virtual Statement& time(Instant at) = 0;  // as text; kNever is null
  virtual Statement& null() = 0;
  Statement& unsigned_number(std::uint64_t value) {
    return number(static_cast<std::int64_t>(value));
  }
  Statement& flag(bool value) { return number(value ? 1 : 0); }
  Statement& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Statement& own_text(std::string value) { return text(own_.emplace_front(std::move(value))); }
  Statement& micros(Instant at) { return at == kNever ? null() : number(at.us); }

  // Runs it to its end. In a transaction it may only be on its way when this returns: its failure
  // is then that of the transaction. False: it failed.
  virtual bool run() = 0;
  // The same, and it is a failure if no row changes.
  virtual bool run_on_row(Error otherwise) = 0;
  // Rows that the last run changed; waits for it.
  virtual std::int64_t changes() = 0;
  virtual Error error(std::string_view doing) const = 0;

  // ---- For Rows ----
  enum class Step : std::uint8_t { kRow, kDone, kFailed };
  virtual Step step() = 0;
  virtual void reset() = 0;
  virtual bool is_null_at(int column) const = 0;
  virtual std::optional<std::int64_t> number_at(int column) const = 0;  // none: not a whole number
  virtual std::string_view view_at(int column) const = 0;               // until the next step
  struct Column {
    std::string table;
    std::string name;
  };
  virtual Column column(int column) const = 0;

 protected:
  void drop_own_text() {
    if (!own_.empty()) own_.clear();
  }

 private:
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
  bool is_null() const { return statement_.is_null_at(column_); }  // the next column
  void skip() { ++column_; }
  std::string_view view() { return statement_.view_at(column_++); }  // until next()
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

class Session {
 public:
  Session() = default;
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  // The text of a statement of the .sql files. Asserts that there is one.
  virtual std::string_view text_of(std::string_view name) const = 0;
  // Prepared at its first use; lives as long as the session.
  virtual Statement& prepare_text(std::string sql) = 0;
  Statement& prepare(std::string_view name) { return prepare_text(std::string(text_of(name))); }

  // One write transaction. A failure of anything in it, the begin included, shows in failure().
  virtual void begin() = 0;
  // kUnknown: it may be found later although it is not visible now. Every other error: nothing of
  // it happened or ever will.
  virtual Result<void> commit() = 0;
  virtual void roll_back() = 0;  // nothing if there is no transaction
  virtual std::optional<Error> failure() const = 0;

  // All statements in between see the same committed state.
  virtual void begin_read() = 0;
  virtual void end_read() = 0;
};

class Snapshot {
 public:
  explicit Snapshot(Session& session) : session_(session) { session_.begin_read(); }
  ~Snapshot() { session_.end_read(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  Snapshot(Snapshot&&) = delete;
  Snapshot& operator=(Snapshot&&) = delete;

 private:
  Session& session_;
};

// One write transaction: begins when made, is rolled back unless commit() says it is durable.
//
// The first failure is kept and everything after it does nothing, so that code that writes many
// rows reads straight on and asks once. Writer's thread only.
class Transaction {
 public:
  explicit Transaction(Session& session);
  ~Transaction() { session_.roll_back(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction(Transaction&&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  // True: it ran, or is on its way. False: it or something before it failed.
  bool run(Statement& statement);
  // The same; that no row changes is a failure.
  bool run_on_row(Statement& statement, Error otherwise);
  bool ok();
  void fail(Error error);
  Result<void> commit();

 private:
  bool ran(bool well, const Statement& statement);

  Session& session_;
  std::optional<Error> error_;
};

}  // namespace vortex::store::sql
