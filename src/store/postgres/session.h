#pragma once
// A session of PostgreSQL and its prepared statements, in pipeline mode.
//
// Statements of a transaction are sent without waiting for their answers; the session waits where
// somebody reads rows or asks how many changed, and before COMMIT. The first failure fails the
// transaction. A broken connection is replaced at the next begin, never within a transaction.
// Text that PostgreSQL cannot hold (NUL, bytes that are not UTF-8) is stored escaped and read back
// as it was. One thread at a time.

#include <array>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/connection.h"
#include "store/sql/statement.h"

namespace vortex::store::postgres {

class Session;

class Statement final : public store::sql::Statement {
 public:
  Statement(Session& session, std::string sql, std::string name)
      : session_(session), sql_(std::move(sql)), name_(std::move(name)) {}

  Statement& start() override;
  Statement& number(std::int64_t value) override;
  Statement& text(std::string_view value) override;
  Statement& literal(std::string_view value) override { return text(value); }
  Statement& blob(std::string_view value) override;
  Statement& time(Instant at) override;
  Statement& null() override;
  std::string_view sql() const { return sql_; }
  // The rows that the next run returns are kept and read by Rows afterwards.
  void keep_rows() { keeps_rows_ = true; }

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
  friend class Session;
  struct Value {
    enum class Kind : std::uint8_t { kNull, kDigits, kBytes, kOwnBytes } kind = Kind::kNull;
    std::string_view bytes;
    std::array<char, 32> digits{};
    std::string own;
  };

  Value& next_value();

  Session& session_;
  std::string sql_;
  std::string name_;
  std::uint64_t prepared_in_ = 0;  // number of the connection that knows it
  std::vector<Value> values_;
  std::size_t bound_ = 0;
  std::int64_t changes_ = 0;
  ResultPtr result_;
  int row_ = -1;
  bool keeps_rows_ = false;
  mutable std::forward_list<std::string> unescaped_;
};

class Session final : public store::sql::Session {
 public:
  explicit Session(ConnectionSetup setup);

  std::string_view text_of(std::string_view name) const override;
  Statement& prepare_text(std::string sql) override;
  Statement& named(std::string_view name) { return prepare_text(std::string(text_of(name))); }

  void begin() override;
  Result<void> commit() override;
  void roll_back() override;
  std::optional<Error> failure() const override { return failure_; }
  void begin_read() override;
  void end_read() override;

  // Connects unless it is connected. Nothing else may be under way.
  Result<void> connect();
  void disconnect();
  bool is_connected() const { return connection_ != nullptr; }
  // Grows with every new connection: what a session remembers on the server is gone with it.
  std::uint64_t connection_number() const { return connections_; }
  int backend_pid() const { return connection_ ? connection_->backend_pid() : 0; }
  // Waits for the answers to all that was sent. False: failure() says why.
  bool drain();

 private:
  friend class Statement;
  enum class Phase : std::uint8_t { kNone, kWrite, kRead };
  struct Sent {
    Statement* statement = nullptr;  // null: plain text
    bool prepares = false;
    std::optional<Error> otherwise;  // if it changes no row
  };

  bool send(Statement& statement, std::optional<Error> otherwise);
  bool send_text(std::string_view sql);
  bool sent(int went, Sent what);
  bool receive();
  void take(ResultPtr result);
  void fail(Error error);
  void lose(Error error);
  std::string table_name(unsigned oid);

  ConnectionSetup setup_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t connections_ = 0;
  std::deque<Statement> statements_;
  std::deque<Sent> under_way_;
  std::optional<Error> failure_;
  bool fatal_ = false;         // the failure ended the session on the server
  bool wrong_server_ = false;  // it cannot be written to
  std::string last_tag_;       // of the last command that was answered
  Phase phase_ = Phase::kNone;
  std::map<unsigned, std::string> tables_;
};

}  // namespace vortex::store::postgres
