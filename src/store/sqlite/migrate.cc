#include "store/sqlite/migrate.h"

#include <charconv>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

constexpr std::uint32_t kApplicationId = 0x56525458;  // "VRTX"; on disk

Result<std::uint32_t> ask_number(Connection& db, std::string_view sql) {
  const auto text = db.ask(sql);
  if (!text) return std::unexpected(text.error());
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem == std::errc{}) return number;
  return std::unexpected(Error{Fault::kDamaged, fmt::format("'{}' is not a valid version", *text)});
}

Result<void> run_one(Connection& db, std::uint32_t version) {
  const std::string steps[] = {std::string(sql::kBegin), std::string(migration(version)),
                               fmt::format(sql::kSetUserVersion, version),
                               fmt::format(sql::kSetApplicationId, kApplicationId),
                               std::string(sql::kCommit)};
  for (const std::string& step : steps) {
    if (auto done = db.exec(step); !done) return done;
  }
  return {};
}

}  // namespace

std::uint32_t known_version() { return static_cast<std::uint32_t>(std::size(sql::kMigrations)); }

std::string_view migration(std::uint32_t version) { return sql::kMigrations[version - 1]; }

Result<std::uint32_t> version_of(Connection& db) {
  const auto version = ask_number(db, sql::kUserVersion);
  if (!version) return version;
  const auto tables = ask_number(db, sql::kCountTables);
  if (!tables) return tables;
  if (*tables == 0) return *version == 0 ? version : 0;
  const auto application = ask_number(db, sql::kApplicationId);
  if (!application) return application;
  if (*application != kApplicationId) {
    return std::unexpected(Error{Fault::kDamaged, "this database belongs to another program"});
  }
  if (*version > known_version()) {
    return std::unexpected(Error{
        Fault::kNewer, fmt::format("the file has layout {}, but this version supports only up to "
                                   "{}: use the version of vortex that wrote it, or a newer one",
                                   *version, known_version())});
  }
  return version;
}

Result<void> migrate(Connection& db) {
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  for (std::uint32_t next = *version + 1; next <= known_version(); ++next) {
    auto done = run_one(db, next);
    if (done) continue;
    if (db.in_transaction()) {
      if (auto undone = db.exec(sql::kRollback); !undone) return undone;
    }
    return done;
  }
  return {};
}

}  // namespace vortex::store::sqlite
