#pragma once
// What must hold in a sound database, whichever it is: the rules of check.sql, and that every row
// can be read. Looks at one committed state and changes nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/error.h"
#include "store/sql/statement.h"

namespace vortex::store {

struct CheckReport {
  std::uint32_t version = 0;        // layout of the database
  std::uint32_t known_version = 0;  // newest layout that this version makes
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
  std::vector<std::string> problems;  // for people; empty: sound
};

namespace sql {

struct UnreadableRow {
  std::string table;
  std::string id;
  std::string text;  // for people
};

// Every row that cannot be read, a few of each kind.
Result<std::vector<UnreadableRow>> find_unreadable(Session& db);

// The lines of text that a statement gives.
Result<void> collect(Session& db, std::string_view statement, std::vector<std::string>& lines);

// Adds problems and counts to the report.
Result<void> check(Session& db, CheckReport& report);

}  // namespace sql
}  // namespace vortex::store
