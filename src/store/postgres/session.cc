#include "store/postgres/session.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <libpq-fe.h>

#include "base/assert.h"
#include "store/postgres/sql.gen.h"
#include "store/record_sql.h"

namespace vortex::store::postgres {
namespace {

constexpr Dialect kPostgres{
    .parameter = '$', .same_as = "IS NOT DISTINCT FROM", .zero = "CAST(0 AS BIGINT)"};
constexpr int kBinary = 1;
constexpr std::string_view kReadOnly = "25006";  // a standby, or a primary that became one

}  // namespace

Session::Session(ConnectionSetup setup) : setup_(std::move(setup)) {}

std::string_view Session::text_of(std::string_view name) const {
  for (const sql::Named& statement : sql::kStatements) {
    if (statement.name == name) return statement.text;
  }
  VX_ASSERT(false && "there is no statement of this name");
}

Statement& Session::prepare_text(std::string sql) {
  return statements_.emplace_back(*this, with_records(sql, kPostgres),
                                  fmt::format("s{}", statements_.size()));
}

Result<void> Session::connect() {
  if (connection_ && !connection_->is_lost()) return {};
  disconnect();
  auto made = Connection::open(setup_);
  if (!made) return std::unexpected(made.error());
  if (PQenterPipelineMode((*made)->handle()) == 0) {
    return std::unexpected((*made)->lost("setting up the connection"));
  }
  connection_ = *std::move(made);
  wrong_server_ = false;
  ++connections_;
  return {};
}

void Session::disconnect() {
  under_way_.clear();
  connection_.reset();
}

void Session::begin() {
  VX_ASSERT(phase_ == Phase::kNone);
  failure_.reset();
  if (auto done = connect(); !done) return fail(done.error());
  phase_ = Phase::kWrite;
  send_text(sql::kBegin);
}

Result<void> Session::commit() {
  if (!drain()) {
    Error error = *failure_;
    roll_back();
    return std::unexpected(std::move(error));
  }
  // From here on only an answer of the server tells what happened.
  phase_ = Phase::kNone;
  fatal_ = false;
  last_tag_.clear();
  connection_->warned = false;
  const bool answered = send_text(sql::kCommit) && drain();
  if (!answered) {
    Error error = *failure_;
    if (fatal_ || !connection_) {
      error.fault = Fault::kUnknown;
      error.detail += "; it may or may not have been committed";
      disconnect();
    }
    return std::unexpected(std::move(error));
  }
  if (last_tag_ != "COMMIT") {
    return std::unexpected(Error{Fault::kUnavailable, "the database rolled the commit back"});
  }
  if (!connection_->warned) return {};
  // Committed here, but perhaps not where a synchronous standby must have it.
  Error error{Fault::kUnknown, "committing: " + connection_->warning};
  disconnect();
  return std::unexpected(std::move(error));
}

void Session::roll_back() {
  if (phase_ == Phase::kNone) return;
  phase_ = Phase::kNone;
  if (!connection_) return;
  const auto kept = std::exchange(failure_, std::nullopt);
  drain();
  failure_.reset();
  // Another of its hosts may be the one that can be written to.
  if (wrong_server_) disconnect();
  if (connection_ && !(send_text(sql::kRollback) && drain())) disconnect();
  failure_ = kept;
}

void Session::begin_read() {
  VX_ASSERT(phase_ == Phase::kNone);
  failure_.reset();
  if (auto done = connect(); !done) return fail(done.error());
  phase_ = Phase::kRead;
  send_text(sql::kBeginRead);
}

void Session::end_read() {
  if (phase_ == Phase::kNone) return;
  if (failure_ || !drain()) return roll_back();
  phase_ = Phase::kNone;
  if (!(send_text(sql::kCommit) && drain())) disconnect();
}

bool Session::send(Statement& statement, std::optional<Error> otherwise) {
  if (phase_ == Phase::kNone && under_way_.empty()) {
    failure_.reset();
    if (auto done = connect(); !done) fail(done.error());
  }
  if (failure_) return false;
  PGconn* db = connection_->handle();
  if (statement.prepared_in_ != connections_) {
    statement.prepared_in_ = connections_;
    const int went = PQsendPrepare(db, statement.name_.c_str(), statement.sql_.c_str(), 0, nullptr);
    if (!sent(went, {.statement = &statement, .prepares = true, .otherwise = {}})) return false;
  }
  const std::size_t count = statement.bound_;
  std::vector<const char*> values(count);
  std::vector<int> lengths(count);
  std::vector<int> formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Statement::Value& value = statement.values_[i];
    using Kind = Statement::Value::Kind;
    if (value.kind == Kind::kNull) continue;
    if (value.kind == Kind::kDigits) {
      values[i] = value.digits.data();
      continue;
    }
    const std::string_view bytes = value.kind == Kind::kBytes ? value.bytes : value.own;
    values[i] = bytes.empty() ? "" : bytes.data();
    lengths[i] = static_cast<int>(bytes.size());
    formats[i] = kBinary;
  }
  const int went = PQsendQueryPrepared(db, statement.name_.c_str(), static_cast<int>(count),
                                       values.data(), lengths.data(), formats.data(), kBinary);
  return sent(went,
              {.statement = &statement, .prepares = false, .otherwise = std::move(otherwise)});
}

bool Session::send_text(std::string_view sql) {
  if (failure_) return false;
  const std::string text(sql);
  const int went = PQsendQueryParams(connection_->handle(), text.c_str(), 0, nullptr, nullptr,
                                     nullptr, nullptr, kBinary);
  return sent(went, {});
}

bool Session::sent(int went, Sent what) {
  if (went == 0) {
    lose(connection_->lost("writing to the database"));
    return false;
  }
  under_way_.push_back(std::move(what));
  return true;
}

bool Session::drain() {
  if (under_way_.empty()) return !failure_;
  if (PQpipelineSync(connection_->handle()) == 0) {
    lose(connection_->lost("writing to the database"));
    return false;
  }
  return receive() && !failure_;
}

bool Session::receive() {
  PGconn* db = connection_->handle();
  while (true) {
    const int flushed = PQflush(db);
    if (flushed < 0) return lose(connection_->lost("writing to the database")), false;
    while (PQisBusy(db) == 0) {
      ResultPtr result(PQgetResult(db));
      if (!result) {
        if (!under_way_.empty()) under_way_.pop_front();
        if (PQstatus(db) != CONNECTION_OK) {
          return lose(connection_->lost("waiting for the database")), false;
        }
        continue;
      }
      if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) {
        under_way_.clear();
        return true;
      }
      take(std::move(result));
    }
    // Each sign of life gives the server the whole time again: a large answer is no hung server.
    const std::int64_t deadline = deadline_after(setup_.timeout);
    if (!connection_->wait(flushed > 0, deadline)) {
      return lose({Fault::kUnavailable, fmt::format("the database did not answer within {} ms",
                                                    setup_.timeout.us / 1'000)}),
             false;
    }
    if (PQconsumeInput(db) == 0) {
      return lose(connection_->lost("waiting for the database")), false;
    }
  }
}

void Session::take(ResultPtr result) {
  const ExecStatusType status = PQresultStatus(result.get());
  Sent* what = under_way_.empty() ? nullptr : &under_way_.front();
  Statement* statement = what == nullptr ? nullptr : what->statement;
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
    last_tag_ = PQcmdStatus(result.get());
    if (statement == nullptr || what->prepares) return;
    const std::string_view tuples = PQcmdTuples(result.get());
    statement->changes_ = 0;
    std::from_chars(tuples.data(), tuples.data() + tuples.size(), statement->changes_);
    if (statement->changes_ == 0 && what->otherwise) fail(*what->otherwise);
    if (statement->keeps_rows_) statement->result_ = std::move(result);
    return;
  }
  // Of what is skipped after a failure, nothing is known on the server either.
  if (statement != nullptr && what->prepares) statement->prepared_in_ = 0;
  if (status == PGRES_PIPELINE_ABORTED) return;
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  if (state != nullptr && std::string_view(state) == kReadOnly) wrong_server_ = true;
  const char* severity = PQresultErrorField(result.get(), PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr || std::string_view(severity) != "ERROR") fatal_ = true;
  fail(Connection::error_of(
      result.get(), phase_ == Phase::kRead ? "reading the database" : "writing to the database"));
}

void Session::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void Session::lose(Error error) {
  fail(std::move(error));
  disconnect();
}

std::string Session::table_name(unsigned oid) {
  if (oid == 0 || !connection_) return "";
  std::string& name = tables_[oid];
  if (!name.empty()) return name;
  Statement& statement = prepare_text(std::string(sql::kTableName));
  store::sql::Rows rows(statement.start().number(oid));
  if (rows.next()) name = rows.text();
  return name;
}

}  // namespace vortex::store::postgres
