#include "store/postgres/row_set.h"

#include <array>
#include <charconv>

#include "base/assert.h"
#include "base/text.h"
#include "store/postgres/escape.h"

namespace vortex::store::postgres {
namespace {

// Numbers of types in pg_type, which never change.
constexpr std::uint32_t kTypes[] = {20 /* bigint */, 25 /* text */, 17 /* bytea */};
constexpr std::size_t kHeaderBytes = 20;

void put(char* at, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i, value >>= 8U) at[i] = static_cast<char>(value & 0xFFU);
}

void append_number(std::string& to, std::uint64_t value, int bytes) {
  const std::size_t at = to.size();
  to.resize(at + static_cast<std::size_t>(bytes));
  put(to.data() + at, value, bytes);
}

}  // namespace

RowSet::RowSet(Session& session, std::string_view name) : statement_(session.named(name)) {
  // The statement itself says of which types its arrays are.
  const std::string_view sql = statement_.sql();
  for (std::size_t at = sql.find("[]"); at != std::string_view::npos; at = sql.find("[]", at + 1)) {
    const std::string_view before = sql.substr(0, at);
    const Kind kind = before.ends_with("::bigint")  ? Kind::kNumber
                      : before.ends_with("::bytea") ? Kind::kBytes
                                                    : Kind::kText;
    columns_.push_back({.kind = kind, .has_null = false, .data = std::string(kHeaderBytes, 0)});
  }
}

RowSet& RowSet::start() {
  drop_own_text();
  column_ = 0;
  ++rows_;
  return *this;
}

RowSet::Elements& RowSet::next() {
  VX_ASSERT(column_ < columns_.size());
  return columns_[column_++];
}

void RowSet::add(std::string_view bytes, Elements& to) {
  append_number(to.data, bytes.size(), 4);
  to.data += bytes;
}

RowSet& RowSet::number(std::int64_t value) {
  Elements& to = next();
  if (to.kind == Kind::kNumber) {
    append_number(to.data, 8, 4);
    append_number(to.data, static_cast<std::uint64_t>(value), 8);
    return *this;
  }
  std::array<char, 24> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  add({digits.data(), end}, to);
  return *this;
}

RowSet& RowSet::text(std::string_view value) {
  Elements& to = next();
  if (const auto coded = escaped(value)) {
    add(*coded, to);
  } else {
    add(value, to);
  }
  return *this;
}

RowSet& RowSet::blob(std::string_view value) {
  add(value, next());
  return *this;
}

RowSet& RowSet::time(Instant at) {
  if (at == kNever) return null();
  if (!has_time_text(at)) return number(at.us);
  const TimeText shown = time_text(at);
  add({shown.data(), shown.size()}, next());
  return *this;
}

RowSet& RowSet::null() {
  Elements& to = next();
  to.has_null = true;
  append_number(to.data, 0xFFFF'FFFF, 4);
  return *this;
}

bool RowSet::run() {
  if (rows_ == 0) return true;
  statement_.start();
  for (Elements& column : columns_) {
    char* header = column.data.data();
    put(header, 1, 4);  // dimensions
    put(header + 4, column.has_null ? 1 : 0, 4);
    put(header + 8, kTypes[static_cast<std::size_t>(column.kind)], 4);
    put(header + 12, rows_, 4);
    put(header + 16, 1, 4);  // the first index
    statement_.blob(column.data);
  }
  const bool went = statement_.run();
  clear();
  return went;
}

void RowSet::clear() {
  for (Elements& column : columns_) {
    column.data.resize(kHeaderBytes);
    column.has_null = false;
  }
  rows_ = 0;
}

bool RowSet::run_on_row(Error) { VX_ASSERT(false && "sets are counted"); }

}  // namespace vortex::store::postgres
