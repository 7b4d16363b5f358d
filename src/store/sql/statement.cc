#include "store/sql/statement.h"

#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex::store::sql {

bool Rows::next() {
  if (failed_) return false;
  column_ = 0;
  const Statement::Step step = statement_.step();
  if (step == Statement::Step::kRow) return true;
  if (step == Statement::Step::kFailed) {
    failed_ = true;
    error_ = statement_.error("reading the database");
  }
  return false;
}

std::int64_t Rows::number() {
  if (const auto value = statement_.number_at(column_++)) return *value;
  damaged("a value that is not a whole number");
  return 0;
}

std::int64_t Rows::number_up_to(std::int64_t max) {
  const std::int64_t value = number();
  if (value >= 0 && value <= max) return value;
  damaged(fmt::format("the number {}", value));
  return 0;
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
  Statement::Column column = statement_.column(column_ > 0 ? column_ - 1 : 0);
  damage_ = Damage{.table = std::move(column.table),
                   .column = std::move(column.name),
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

Transaction::Transaction(Session& session) : session_(session) {
  session_.begin();
  error_ = session_.failure();
}

bool Transaction::run(Statement& statement) { return ok() && ran(statement.run(), statement); }

bool Transaction::run_on_row(Statement& statement, Error otherwise) {
  return ok() && ran(statement.run_on_row(std::move(otherwise)), statement);
}

bool Transaction::ran(bool well, const Statement& statement) {
  if (!well) fail(statement.error("writing to the database"));
  return well;
}

bool Transaction::ok() {
  if (!error_) error_ = session_.failure();
  return !error_;
}

void Transaction::fail(Error error) {
  if (ok()) error_ = std::move(error);
}

Result<void> Transaction::commit() {
  if (ok()) return session_.commit();
  session_.roll_back();
  return std::unexpected(*error_);
}

}  // namespace vortex::store::sql
