#include "store/postgres/layout.h"

#include <array>
#include <charconv>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <sys/random.h>

#include "store/postgres/sql.gen.h"

namespace vortex::store::postgres {
namespace {

constexpr Duration kPatience = minutes(30);  // a migration may rewrite a large table

Result<std::uint32_t> ask_number(Connection& db, std::string_view sql) {
  const auto rows = db.exec(std::string(sql));
  if (!rows) return std::unexpected(rows.error());
  std::uint32_t number = 0;
  if (!rows->empty() && rows->front().front()) {
    const std::string& text = *rows->front().front();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

Result<void> done(const Result<std::vector<Connection::Row>>& rows) {
  if (!rows) return std::unexpected(rows.error());
  return {};
}

Result<void> run_one(Connection& db, std::uint32_t version) {
  return done(db.exec(fmt::format("{}\n{}\n{}\n{}\n{}", sql::kBegin, sql::kMakeLayout,
                                  sql::kMigrations[version - 1],
                                  fmt::format(sql::kAddLayout, version), sql::kCommit),
                      kPatience));
}

// Once for a database: all controllers that will ever be on it share the key.
Result<void> make_attempt_key(Connection& db) {
  const auto known = ask_number(db, sql::kHasAttemptKey);
  if (!known) return std::unexpected(known.error());
  if (*known != 0) return {};
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) {
    return std::unexpected(Error{Fault::kUnavailable, "the system has no random bytes"});
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return done(db.exec(fmt::format(sql::kAddAttemptKey, text)));
}

Result<void> migrate_locked(Connection& db) {
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  for (std::uint32_t next = *version + 1; next <= known_version(); ++next) {
    auto ran = run_one(db, next);
    if (ran) continue;
    // The session ends with the error: its transaction goes with it.
    return ran;
  }
  return make_attempt_key(db);
}

}  // namespace

std::uint32_t known_version() { return static_cast<std::uint32_t>(std::size(sql::kMigrations)); }

Result<std::uint32_t> version_of(Connection& db) {
  const auto found = db.exec(std::string(sql::kFindSchema));
  if (!found) return std::unexpected(found.error());
  const Connection::Row& row = found->front();
  if (!row[0]) {
    return std::unexpected(
        Error{Fault::kBadRequest, "the search_path of the database names no schema that exists"});
  }
  if (row[1] != "t") {
    if (row[2] != "t") return 0;
    return std::unexpected(Error{Fault::kDamaged, "this database belongs to another program"});
  }
  const auto version = ask_number(db, sql::kReadLayout);
  if (!version || *version <= known_version()) return version;
  return std::unexpected(
      Error{Fault::kNewer,
            fmt::format("the database has layout {}, but this version supports only up to {}: use "
                        "the version of vortex that wrote it, or a newer one",
                        *version, known_version())});
}

Result<void> migrate(Connection& db) {
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  if (auto locked = done(db.exec(std::string(sql::kLockLayout), kPatience)); !locked) return locked;
  if (auto ran = migrate_locked(db); !ran) return ran;
  return done(db.exec(std::string(sql::kUnlockLayout)));
}

}  // namespace vortex::store::postgres
