#include "store/copy_end.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "store/postgres/layout.h"
#include "store/postgres/open.h"
#include "store/postgres/session.h"
#include "store/sqlite/file.h"
#include "store/sqlite/open.h"
#include "store/sqlite/statement.h"

namespace vortex::store {
namespace {

constexpr Duration kCopyPatience = minutes(60);

Error old_layout(const std::string& name, std::uint32_t version, std::uint32_t known) {
  return {Fault::kBadRequest, fmt::format("{} has layout {}, this version needs {}: run `vortex db "
                                          "migrate` on it first",
                                          name, version, known)};
}

ColumnKind kind_named(std::string_view type) {
  if (type.starts_with("BIGINT") || type.starts_with("INT")) return ColumnKind::kNumber;
  if (type == "BYTEA" || type == "BLOB") return ColumnKind::kBytes;
  return ColumnKind::kText;
}

Result<std::vector<CopyColumn>> columns_from(sql::Statement& bound) {
  std::vector<CopyColumn> columns;
  sql::Rows rows(bound);
  while (rows.next()) {
    std::string name = rows.text();
    columns.push_back({std::move(name), kind_named(rows.view())});
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return columns;
}

class SqliteEnd final : public CopyEnd {
 public:
  SqliteEnd(sqlite::FileLock lock, std::unique_ptr<sqlite::Connection> db)
      : lock_(std::move(lock)),
        session_(std::move(db)),
        columns_(session_.prepare("columns_of_table")) {}

  static Result<std::unique_ptr<CopyEnd>> open(const std::string& name, CopyRole role) {
    if (role == CopyRole::kTarget) {
      SqliteOptions options;
      options.path = name;
      options.takes_copies = true;
      if (auto made = open_sqlite(options); !made) return std::unexpected(made.error());
    } else if (auto there =
                   sqlite::Connection::open({.path = name, .use = sqlite::Use::kRead, .vfs = {}});
               !there) {
      return std::unexpected(there.error());
    }
    const auto path = sqlite::real_path(name);
    if (!path) return std::unexpected(path.error());
    auto lock = sqlite::FileLock::take(*path + ".lock");
    if (!lock) return std::unexpected(lock.error());
    auto db = sqlite::Connection::open({.path = *path, .use = sqlite::Use::kWrite, .vfs = {}});
    if (!db) return std::unexpected(db.error());
    const auto version = sqlite::version_of(**db);
    if (!version) return std::unexpected(version.error());
    if (*version != sqlite::known_version()) {
      return std::unexpected(old_layout(name, *version, sqlite::known_version()));
    }
    return std::make_unique<SqliteEnd>(*std::move(lock), *std::move(db));
  }

  sql::Session& session() override { return session_; }
  char parameter() const override { return '?'; }
  Result<std::vector<CopyColumn>> columns(std::string_view table) override {
    return columns_from(columns_.start().text(table));
  }
  Result<void> settle() override { return {}; }

 private:
  sqlite::FileLock lock_;
  sqlite::Session session_;
  sql::Statement& columns_;
};

class PostgresEnd final : public CopyEnd {
 public:
  PostgresEnd(std::unique_ptr<Store> store, Term term, const std::string& url)
      : store_(std::move(store)),
        term_(term),
        session_({.url = url, .use = postgres::Use::kTool, .timeout = kCopyPatience}),
        columns_(session_.prepare("columns_of_table")) {}
  ~PostgresEnd() override { store_->writer().release(term_); }
  PostgresEnd(const PostgresEnd&) = delete;
  PostgresEnd& operator=(const PostgresEnd&) = delete;
  PostgresEnd(PostgresEnd&&) = delete;
  PostgresEnd& operator=(PostgresEnd&&) = delete;

  static Result<std::unique_ptr<CopyEnd>> open(const std::string& url, CopyRole role) {
    if (role == CopyRole::kSource) {
      auto db = postgres::Connection::open({.url = url, .use = postgres::Use::kTool});
      if (!db) return std::unexpected(db.error());
      const auto version = postgres::version_of(**db);
      if (!version) return std::unexpected(version.error());
      if (*version != postgres::known_version()) {
        return std::unexpected(
            old_layout(without_password(url), *version, postgres::known_version()));
      }
    }
    PostgresOptions options;
    options.url = url;
    options.takes_copies = true;
    auto store = open_postgres(options);
    if (!store) return std::unexpected(store.error());
    // Held by the session of this process: if it dies, nobody has to wait.
    const auto won = (*store)->writer().acquire({ControllerId("vortex-db-copy"), ""}, hours(24));
    if (!won) return std::unexpected(won.error());
    if (const auto* held = std::get_if<HeldByOther>(&*won)) {
      return std::unexpected(
          Error{Fault::kLocked, fmt::format("{} leads on {}: stop all controllers first",
                                            held->holder.text, without_password(url))});
    }
    return std::make_unique<PostgresEnd>(*std::move(store), std::get<Won>(*won).term, url);
  }

  sql::Session& session() override { return session_; }
  char parameter() const override { return '$'; }
  Result<std::vector<CopyColumn>> columns(std::string_view table) override {
    return columns_from(columns_.start().text(table));
  }
  Result<void> settle() override {
    sql::Rows rows(session_.prepare("settle_numbers").start());
    while (rows.next()) {
    }
    if (rows.failed()) return std::unexpected(rows.error());
    return {};
  }

 private:
  std::unique_ptr<Store> store_;
  Term term_;
  postgres::Session session_;
  sql::Statement& columns_;
};

}  // namespace

bool is_connection_string(std::string_view name) {
  return name.starts_with("postgresql://") || name.starts_with("postgres://") ||
         name.starts_with("host=") || name.starts_with("dbname=") || name.starts_with("service=");
}

Result<std::unique_ptr<CopyEnd>> CopyEnd::open(const std::string& name, CopyRole role) {
  return is_connection_string(name) ? PostgresEnd::open(name, role) : SqliteEnd::open(name, role);
}

}  // namespace vortex::store
