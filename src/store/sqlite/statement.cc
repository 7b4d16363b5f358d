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

Statement& Statement::start() {
  next_ = 0;
  failed_ = false;
  drop_own_text();
  no_row_.reset();
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

Statement& Statement::null() {
  Bound& bound = next_bound();
  if (bound.kind == Kind::kNull) return *this;
  bound.kind = Kind::kNull;
  sqlite3_bind_null(handle_, static_cast<int>(next_));
  return *this;
}

Statement::Step Statement::step() {
  if (handle_ == nullptr) start();
  if (handle_ == nullptr || failed_) return Step::kFailed;
  const int rc = sqlite3_step(handle_);
  if (rc == SQLITE_ROW) return Step::kRow;
  return rc == SQLITE_DONE ? Step::kDone : Step::kFailed;
}

void Statement::reset() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
}

bool Statement::run() {
  Step last = step();
  while (last == Step::kRow) last = step();
  // A successful reset would overwrite the error that the caller is about to ask for; a failed one
  // repeats it.
  reset();
  return last == Step::kDone;
}

bool Statement::run_on_row(Error otherwise) {
  if (!run()) return false;
  if (changes() > 0) return true;
  no_row_ = std::move(otherwise);
  return false;
}

std::int64_t Statement::changes() { return sqlite3_changes64(db_->handle()); }

Error Statement::error(std::string_view doing) const {
  return no_row_ ? *no_row_ : db_->error(doing);
}

bool Statement::is_null_at(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::optional<std::int64_t> Statement::number_at(int column) const {
  const int type = sqlite3_column_type(handle_, column);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(handle_, column);
  if (type == SQLITE_NULL) return 0;
  return std::nullopt;
}

std::string_view Statement::view_at(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

Statement::Column Statement::column(int column) const {
  const char* table = sqlite3_column_table_name(handle_, column);
  const char* name = sqlite3_column_name(handle_, column);
  return {table == nullptr ? "" : table, name == nullptr ? "" : name};
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

Session::Session(Connection& db)
    : db_(db),
      begin_(db, sql::kBegin),
      begin_read_(db, sql::kBeginRead),
      commit_(db, sql::kCommit),
      roll_back_(db, sql::kRollback) {}

std::string_view Session::text_of(std::string_view name) const {
  for (const sql::Named& statement : sql::kStatements) {
    if (statement.name == name) return statement.text;
  }
  VX_ASSERT(false && "there is no statement of this name");
}

Statement& Session::prepare_text(std::string sql) {
  return statements_.emplace_back(db_, std::move(sql));
}

void Session::begin() {
  failure_.reset();
  if (!begin_.start().run()) failure_ = db_.error("writing to the database");
}

Result<void> Session::commit() {
  if (commit_.start().run()) return {};
  const int code = sqlite3_extended_errcode(db_.handle());
  const bool still_open = db_.in_transaction();
  Error error = db_.error("committing");
  roll_back();
  if (!still_open && !is_definite(code)) {
    error.fault = Fault::kUnknown;
    error.detail += "; it may or may not be found after a crash";
  }
  return std::unexpected(std::move(error));
}

void Session::roll_back() {
  if (!db_.in_transaction()) return;
  roll_back_.start().run();
}

}  // namespace vortex::store::sqlite
