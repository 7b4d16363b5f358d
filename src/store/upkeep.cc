#include "store/upkeep.h"

#include <fmt/format.h>

#include "store/open.h"
#include "store/postgres/layout.h"
#include "store/postgres/session.h"
#include "store/sqlite/check.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/file.h"

namespace vortex::store {
namespace {

// A look at a whole table takes as long as it takes.
constexpr Duration kPatient = minutes(60);

postgres::ConnectionSetup tool_setup(const DatabaseSettings& settings) {
  return {.url = settings.url, .use = postgres::Use::kTool, .timeout = kPatient};
}

Result<CheckReport> check_postgres(const DatabaseSettings& settings) {
  CheckReport report;
  report.known_version = postgres::known_version();
  {
    auto db = postgres::Connection::open(tool_setup(settings));
    if (!db) return std::unexpected(db.error());
    const auto version = postgres::version_of(**db);
    if (!version) return std::unexpected(version.error());
    report.version = *version;
  }
  if (report.version < report.known_version) {
    report.problems.push_back(
        fmt::format("the database has layout {}, this version needs {}: migrate it", report.version,
                    report.known_version));
    return report;
  }
  postgres::Session session(tool_setup(settings));
  if (auto done = sql::check(session, report); !done) return std::unexpected(done.error());
  return report;
}

Result<std::uint32_t> version_of_file(const std::string& path) {
  auto db = sqlite::Connection::open({.path = path, .use = sqlite::Use::kRead, .vfs = {}});
  if (!db) return 0;  // there is none yet: opening it makes it
  return sqlite::version_of(**db);
}

}  // namespace

Result<CheckReport> check_store(const DatabaseSettings& settings) {
  return settings.url.empty() ? check_sqlite(settings.path) : check_postgres(settings);
}

Result<std::uint32_t> layout_of(const DatabaseSettings& settings) {
  if (settings.url.empty()) return version_of_file(settings.path);
  auto db = postgres::Connection::open(
      {.url = settings.url, .use = postgres::Use::kTool, .timeout = settings.io_timeout});
  if (!db) return std::unexpected(db.error());
  return postgres::version_of(**db);
}

Result<Migrated> migrate_store(const DatabaseSettings& settings) {
  if (settings.url.empty()) {
    const auto from = layout_of(settings);
    if (!from) return std::unexpected(from.error());
    if (auto opened = open_store(settings); !opened) return std::unexpected(opened.error());
    return Migrated{*from, sqlite::known_version()};
  }
  auto db = postgres::Connection::open(tool_setup(settings));
  if (!db) return std::unexpected(db.error());
  const auto from = postgres::version_of(**db);
  if (!from) return std::unexpected(from.error());
  if (auto done = postgres::migrate(**db); !done) return std::unexpected(done.error());
  return Migrated{*from, postgres::known_version()};
}

}  // namespace vortex::store
