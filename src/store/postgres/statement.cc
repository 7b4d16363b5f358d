#include <charconv>

#include <libpq-fe.h>

#include "base/text.h"
#include "store/postgres/escape.h"
#include "store/postgres/session.h"

namespace vortex::store::postgres {
namespace {

// Types of columns by their number in pg_type, which never changes.
enum : unsigned { kBool = 16, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kOid = 26 };

std::int64_t big_endian(const char* data, int bytes) {
  std::uint64_t value =
      (bytes > 0 && (static_cast<unsigned char>(data[0]) & 0x80U) != 0) ? ~std::uint64_t{0} : 0;
  for (int i = 0; i < bytes; ++i) value = value << 8U | static_cast<unsigned char>(data[i]);
  return static_cast<std::int64_t>(value);
}

}  // namespace

Statement& Statement::start() {
  drop_own_text();
  bound_ = 0;
  return *this;
}

Statement::Value& Statement::next_value() {
  if (values_.size() <= bound_) values_.resize(bound_ + 1);
  return values_[bound_++];
}

Statement& Statement::number(std::int64_t value) {
  Value& made = next_value();
  made.kind = Value::Kind::kDigits;
  *std::to_chars(made.digits.data(), made.digits.data() + made.digits.size() - 1, value).ptr = '\0';
  return *this;
}

Statement& Statement::text(std::string_view value) {
  Value& made = next_value();
  if (auto coded = escaped(value)) {
    made.kind = Value::Kind::kOwnBytes;
    made.own = *std::move(coded);
  } else {
    made.kind = Value::Kind::kBytes;
    made.bytes = value;
  }
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  Value& made = next_value();
  made.kind = Value::Kind::kBytes;
  made.bytes = value;
  return *this;
}

Statement& Statement::time(Instant at) {
  if (at == kNever) return null();
  if (!has_time_text(at)) return number(at.us);
  const TimeText shown = time_text(at);
  Value& made = next_value();
  made.kind = Value::Kind::kOwnBytes;
  made.own.assign(shown.data(), shown.size());
  return *this;
}

Statement& Statement::null() {
  next_value().kind = Value::Kind::kNull;
  return *this;
}

bool Statement::run() { return session_.send(*this, std::nullopt); }

bool Statement::run_on_row(Error otherwise) { return session_.send(*this, std::move(otherwise)); }

std::int64_t Statement::changes() { return session_.drain() ? changes_ : 0; }

Error Statement::error(std::string_view) const {
  return session_.failure().value_or(Error{Fault::kUnavailable, "the statement did not run"});
}

Statement::Step Statement::step() {
  if (!result_) {
    keeps_rows_ = true;
    const bool went = session_.send(*this, std::nullopt) && session_.drain();
    keeps_rows_ = false;
    if (!went || !result_) return Step::kFailed;
  }
  unescaped_.clear();
  if (++row_ < PQntuples(result_.get())) return Step::kRow;
  return Step::kDone;
}

void Statement::reset() {
  result_.reset();
  row_ = -1;
  keeps_rows_ = false;
}

bool Statement::is_null_at(int column) const {
  return PQgetisnull(result_.get(), row_, column) != 0;
}

std::optional<std::int64_t> Statement::number_at(int column) const {
  if (is_null_at(column)) return 0;
  switch (PQftype(result_.get(), column)) {
    case kBool:
    case kInt2:
    case kInt4:
    case kInt8:
    case kOid:
      return big_endian(PQgetvalue(result_.get(), row_, column),
                        PQgetlength(result_.get(), row_, column));
    default:
      return std::nullopt;
  }
}

std::string_view Statement::view_at(int column) const {
  if (is_null_at(column)) return {};
  const std::string_view stored(PQgetvalue(result_.get(), row_, column),
                                static_cast<std::size_t>(PQgetlength(result_.get(), row_, column)));
  if (PQftype(result_.get(), column) != kText) return stored;
  auto original = unescaped(stored);
  return original ? std::string_view(unescaped_.emplace_front(*std::move(original))) : stored;
}

Statement::Column Statement::column(int column) const {
  return {session_.table_name(PQftable(result_.get(), column)), PQfname(result_.get(), column)};
}

}  // namespace vortex::store::postgres
