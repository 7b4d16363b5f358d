#pragma once
// Many rows for one statement: a statement whose parameters are arrays, one for each column
// (@upsert_set:...@, see store/record_sql.h). Rows are bound to it one after the other, as to a
// statement that writes one; run() sends them all and forgets them. Writer's thread only.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/session.h"

namespace vortex::store::postgres {

class RowSet final : public store::sql::Statement {
 public:
  RowSet(Session& session, std::string_view name);

  RowSet& start() override;  // of the next row
  RowSet& number(std::int64_t value) override;
  RowSet& text(std::string_view value) override;
  RowSet& literal(std::string_view value) override { return text(value); }
  RowSet& blob(std::string_view value) override;
  RowSet& time(Instant at) override;
  RowSet& null() override;

  std::size_t rows() const { return rows_; }
  // Forgets rows that were bound and not sent, as those of a commit that was refused meanwhile.
  void clear();
  bool run() override;  // nothing if there are no rows
  bool run_on_row(Error otherwise) override;
  // Rows that the last run changed; waits for it.
  std::int64_t changes() override { return statement_.changes(); }
  Error error(std::string_view doing) const override { return statement_.error(doing); }

  Step step() override { return statement_.step(); }
  void reset() override { statement_.reset(); }
  bool is_null_at(int column) const override { return statement_.is_null_at(column); }
  std::optional<std::int64_t> number_at(int column) const override {
    return statement_.number_at(column);
  }
  std::string_view view_at(int column) const override { return statement_.view_at(column); }
  Column column(int column) const override { return statement_.column(column); }
  // The rows that the next run returns are kept and read by Rows afterwards.
  void keep_rows() { statement_.keep_rows(); }

 private:
  enum class Kind : std::uint8_t { kNumber, kText, kBytes };
  // The elements of an array in the binary form of the server.
  struct Elements {
    Kind kind = Kind::kNumber;
    bool has_null = false;
    std::string data;
  };

  Elements& next();
  void add(std::string_view bytes, Elements& to);

  postgres::Statement& statement_;
  std::vector<Elements> columns_;
  std::size_t column_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace vortex::store::postgres
