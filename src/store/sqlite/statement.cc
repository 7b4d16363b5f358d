#include "store/sqlite/statement.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/assert.h"
#include "store/record_sql.h"
#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

constexpr Dialect kSqlite{.parameter = '?', .same_as = "IS"};

}  // namespace

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      sql_(other.sql_),
      handle_(std::exchange(other.handle_, nullptr)),
      failed_(other.failed_),
      next_(other.next_),
      bound_(std::move(other.bound_)),
      own_(std::move(other.own_)) {}

Statement& Statement::start() {
  next_ = 0;
  failed_ = false;
  if (!own_.empty()) own_.clear();
  if (handle_ != nullptr) return *this;
  const std::string sql = with_records(sql_, kSqlite);
  const int rc = sqlite3_prepare_v3(db_->handle(), sql.data(), static_cast<int>(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  failed_ = rc != SQLITE_OK;
  if (!failed_) bound_.resize(static_cast<std::size_t>(sqlite3_bind_parameter_count(handle_)));
  return *this;
}

Statement::Bound& Statement::next_bound() {
  // A statement that could not be prepared takes values without using them.
  if (handle_ == nullptr && bound_.size() <= next_) bound_.resize(next_ + 1);
  VX_ASSERT(next_ < bound_.size());
  return bound_[next_++];
}

Statement& Statement::number(std::int64_t value) {
  Bound& bound = next_bound();
  if (bound.kind == Kind::kNumber && bound.value == value) return *this;
  bound.kind = Kind::kNumber;
  bound.value = value;
  sqlite3_bind_int64(handle_, static_cast<int>(next_), value);
  return *this;
}

Statement& Statement::text(std::string_view value) {
  next_bound().kind = Kind::kOther;
  // An empty view may have no address, which SQLite would take for NULL.
  const char* data = value.empty() ? "" : value.data();
  if (sqlite3_bind_text64(handle_, static_cast<int>(next_), data, value.size(), SQLITE_STATIC,
                          SQLITE_UTF8) != SQLITE_OK) {
    failed_ = true;
  }
  return *this;
}

Statement& Statement::own_text(std::string value) {
  return text(own_.emplace_front(std::move(value)));
}

Statement& Statement::literal(std::string_view value) {
  Bound& bound = next_bound();
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(value.data()));
  if (bound.kind == Kind::kLiteral && bound.value == address) return *this;
  bound.kind = Kind::kLiteral;
  bound.value = address;
  sqlite3_bind_text64(handle_, static_cast<int>(next_), value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  next_bound().kind = Kind::kOther;
  const char* data = value.empty() ? "" : value.data();
  if (sqlite3_bind_blob64(handle_, static_cast<int>(next_), data, value.size(), SQLITE_STATIC) !=
      SQLITE_OK) {
    failed_ = true;
  }
  return *this;
}

Statement& Statement::time(Instant at) {
  if (at == kNever) return null();
  if (!has_time_text(at)) return number(at.us);
  Bound& bound = next_bound();
  if (bound.kind == Kind::kTime && bound.value == at.us) return *this;
  bound.kind = Kind::kTime;
  bound.value = at.us;
  bound.time = time_text(at);
  sqlite3_bind_text(handle_, static_cast<int>(next_), bound.time.data(),
                    static_cast<int>(bound.time.size()), SQLITE_STATIC);
  return *this;
}

Statement& Statement::micros(Instant at) { return at == kNever ? null() : number(at.us); }

Statement& Statement::null() {
  Bound& bound = next_bound();
  if (bound.kind == Kind::kNull) return *this;
  bound.kind = Kind::kNull;
  sqlite3_bind_null(handle_, static_cast<int>(next_));
  return *this;
}

int Statement::step() {
  if (handle_ == nullptr) start();
  if (handle_ == nullptr || failed_) return SQLITE_ERROR;
  return sqlite3_step(handle_);
}

void Statement::reset() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
}

bool Statement::run() {
  int rc = step();
  while (rc == SQLITE_ROW) rc = step();
  // A successful reset would overwrite the error that the caller is about to ask for; a failed one
  // repeats it.
  reset();
  return rc == SQLITE_DONE;
}

std::int64_t Statement::changes() const { return sqlite3_changes64(db_->handle()); }

bool Rows::next() {
  if (failed_) return false;
  column_ = 0;
  const int rc = statement_.step();
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE) {
    failed_ = true;
    error_ = statement_.connection().error("reading the database");
  }
  return false;
}

std::int64_t Rows::number() {
  const int column = column_++;
  const int type = sqlite3_column_type(statement_.handle_, column);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement_.handle_, column);
  if (type == SQLITE_NULL) return 0;
  damaged("a value that is not a whole number");
  return 0;
}

std::int64_t Rows::number_up_to(std::int64_t max) {
  const std::int64_t value = number();
  if (value >= 0 && value <= max) return value;
  damaged(fmt::format("the number {}", value));
  return 0;
}

bool Rows::is_null() const {
  return sqlite3_column_type(statement_.handle_, column_) == SQLITE_NULL;
}

std::string_view Rows::view() {
  const int column = column_++;
  const void* data = sqlite3_column_blob(statement_.handle_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.handle_, column))};
}

Instant Rows::time() {
  const std::string_view shown = view();
  if (shown.data() == nullptr) return kNever;
  if (const auto at = parse_time_text(shown)) return *at;
  std::int64_t number = 0;  // outside the years that have a text
  const char* end = shown.data() + shown.size();
  const auto [stop, problem] = std::from_chars(shown.data(), end, number);
  if (problem != std::errc{} || stop != end) damaged(fmt::format("the time '{}'", shown));
  return {number};
}

Instant Rows::micros() {
  if (is_null()) {
    skip();
    return kNever;
  }
  return {number()};
}

void Rows::damaged(std::string_view what) {
  if (failed_) return;
  failed_ = true;
  const int column = column_ > 0 ? column_ - 1 : 0;
  const char* table = sqlite3_column_table_name(statement_.handle_, column);
  const char* name = sqlite3_column_name(statement_.handle_, column);
  damage_ = Damage{.table = table == nullptr ? "" : table,
                   .column = name == nullptr ? "" : name,
                   .what = fmt::format("contains {}, which is not valid", what)};
  error_ = {Fault::kDamaged,
            fmt::format("table {}, column {}: {}", damage_->table, damage_->column, damage_->what)};
}

std::optional<Rows::Damage> Rows::take_damage() {
  if (!damage_) return std::nullopt;
  failed_ = false;
  error_ = {};
  return std::exchange(damage_, std::nullopt);
}

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
