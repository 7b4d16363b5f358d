#pragma once
// A session of SQLite and its statements, prepared once and run many times.
//
// What the text of a statement says about records is filled in when it is prepared
// (store/record_sql.h). A value equal to the one bound last is not bound again, which is most of
// them when a batch of rows is written. One thread, that of the connection.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "store/error.h"
#include "store/sql/statement.h"
#include "store/sqlite/connection.h"

struct sqlite3_stmt;

namespace vortex::store::sqlite {

class Statement final : public store::sql::Statement {
 public:
  // `sql` lives until the first use, when it is prepared.
  Statement(Connection& db, std::string_view sql) : db_(&db), sql_(sql) {}
  Statement(Connection& db, std::string sql) : db_(&db), kept_(std::move(sql)), sql_(kept_) {}
  ~Statement() override;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&&) = delete;
  Statement& operator=(Statement&&) = delete;

  Statement& start() override;
  Statement& number(std::int64_t value) override;
  Statement& text(std::string_view value) override;
  Statement& literal(std::string_view value) override;
  Statement& blob(std::string_view value) override;
  Statement& time(Instant at) override;
  Statement& null() override;

  bool run() override;
  bool run_on_row(Error otherwise) override;
  std::int64_t changes() override;
  Error error(std::string_view doing) const override;

  Step step() override;
  void reset() override;
  bool is_null_at(int column) const override;
  std::optional<std::int64_t> number_at(int column) const override;
  std::string_view view_at(int column) const override;
  Column column(int column) const override;

 private:
  enum class Kind : std::uint8_t { kUnbound, kNumber, kLiteral, kTime, kNull, kOther };
  struct Bound {
    Kind kind = Kind::kUnbound;
    std::int64_t value = 0;
    TimeText time{};  // what a time is bound to: stays as long as the statement
  };

  Bound& next_bound();

  Connection* db_;
  std::string kept_;
  std::string_view sql_;
  sqlite3_stmt* handle_ = nullptr;
  bool failed_ = false;  // it could not be prepared or a value could not be bound
  std::optional<Error> no_row_;
  std::size_t next_ = 0;
  std::vector<Bound> bound_;
};

class Session final : public store::sql::Session {
 public:
  explicit Session(Connection& db);
  explicit Session(std::unique_ptr<Connection> db) : Session(*db) { own_ = std::move(db); }

  std::string_view text_of(std::string_view name) const override;
  Statement& prepare_text(std::string sql) override;

  void begin() override;
  Result<void> commit() override;
  void roll_back() override;
  std::optional<Error> failure() const override { return failure_; }
  void begin_read() override { begin_read_.start().run(); }
  void end_read() override { commit_.start().run(); }

 private:
  std::unique_ptr<Connection> own_;  // ends after the statements
  Connection& db_;
  std::deque<Statement> statements_;
  Statement begin_;
  Statement begin_read_;
  Statement commit_;
  Statement roll_back_;
  std::optional<Error> failure_;
};

}  // namespace vortex::store::sqlite
