#include "store/sqlite/check.h"

#include <string_view>

#include <fmt/format.h>

#include "store/sqlite/connection.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/sql.gen.h"
#include "store/sqlite/statement.h"

namespace vortex::store {
namespace sqlite {
namespace {

constexpr std::string_view kRules[] = {
    sql::kCheckRunCounts, sql::kCheckLostTasks,    sql::kCheckDefinitions,
    sql::kCheckUses,      sql::kCheckLiveCounters, sql::kCheckNextNumbers,
    sql::kCheckHeld,      sql::kCheckLogs,         sql::kCheckDoomed,
};

Result<void> collect(Connection& db, std::string_view rule, std::vector<std::string>& problems) {
  Statement statement(db, rule);
  statement.start();
  Rows rows(statement);
  while (rows.next()) problems.push_back(rows.text());
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

Result<void> count(Connection& db, CheckReport& report) {
  Statement statement(db, sql::kCountRunsAndTasks);
  statement.start();
  Rows rows(statement);
  if (rows.next()) {
    report.runs = rows.unsigned_number();
    report.tasks = rows.unsigned_number();
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return {};
}

// All rules look at one committed state, while a controller may go on writing.
Result<void> look(Connection& db, CheckReport& report) {
  if (auto done = db.exec(sql::kBeginRead); !done) return done;
  for (const std::string_view rule : kRules) {
    if (auto done = collect(db, rule, report.problems); !done) return done;
  }
  if (auto done = count(db, report); !done) return done;
  return db.exec(sql::kCommit);
}

}  // namespace
}  // namespace sqlite

Result<CheckReport> check_sqlite(const std::string& path) {
  using namespace sqlite;
  auto db = Connection::open(
      {.path = path, .use = Use::kRead, .cache_bytes = std::uint64_t{64} << 20, .vfs = {}});
  if (!db) return std::unexpected(db.error());
  const auto version = version_of(**db);
  if (!version) return std::unexpected(version.error());
  CheckReport report;
  report.version = *version;
  report.known_version = known_version();
  if (auto done = collect(**db, sql::kCheckIntegrity, report.problems); !done) {
    return std::unexpected(done.error());
  }
  if (report.version < report.known_version) {
    report.problems.push_back(
        fmt::format("the file has layout {}, this version wants {}: migrate it", report.version,
                    report.known_version));
    return report;
  }
  if (auto done = look(**db, report); !done) return std::unexpected(done.error());
  return report;
}

}  // namespace vortex::store
