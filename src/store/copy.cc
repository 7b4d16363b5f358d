#include "store/copy.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/copy_end.h"
#include "store/sql/statement.h"

namespace vortex::store {
namespace {

using sql::Rows;
using sql::Statement;
using sql::Transaction;

// Every table that holds something, in the order in which it is copied, with its key. Who leads and
// which controllers are there is not copied.
struct CopyTable {
  std::string_view name;
  std::vector<std::string_view> keys;
};
const std::vector<CopyTable>& copy_tables() {
  static const std::vector<CopyTable> tables{
      {"dag_specs", {"digest"}},
      {"dag_uses", {"digest"}},
      {"dags", {"name"}},
      {"runs", {"run_id"}},
      {"run_labels", {"name", "value", "run_id"}},
      {"task_instances", {"task_key"}},
      {"task_data", {"task_key"}},
      {"worker_numbers", {"number"}},
      {"attempts", {"task_key", "epoch"}},
      {"workers", {"id"}},
      {"machines", {"id"}},
      {"recovery_log", {"recovery_id"}},
      {"recovery_items", {"recovery_id", "task_key"}},
      {"dead_letters", {"task_key", "epoch"}},
      {"run_signals", {"run_id", "number"}},
      {"partition_leases", {"topic", "partition_id"}},
      {"queues", {"name"}},
      {"supervisor_journals", {"supervisor"}},
      {"schedules", {"dag"}},
      {"limits", {"name"}},
      {"events", {"first_seq"}},
      {"log_heads", {"task_key", "epoch"}},
      {"log_chunks", {"chunk"}},
      {"checkpoint_pieces", {"piece"}},
      {"tokens", {"name"}},
      {"webhooks", {"name"}},
      {"secrets", {"name"}},
      {"secret_versions", {"name", "version"}},
      {"audit_log", {"seq"}},
      {"doomed", {"run_id"}},
      {"counters", {"one"}},
      {"cluster_keys", {"name"}},
  };
  return tables;
}

constexpr int kPageRows = 1'000;
constexpr std::string_view kMarkName = "copying";  // in cluster_keys; append-only

struct Bytes {
  std::string data;
};
using Cell = std::variant<std::monostate, std::int64_t, std::string, Bytes>;
using CopyRow = std::vector<Cell>;

std::string quoted(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  }
  return list;
}

std::string parameters(char mark, std::size_t count, std::size_t first = 1) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", mark, first + i);
  }
  return list;
}

void bind(Statement& statement, const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) {
    statement.number(*number);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    statement.text(*text);
  } else if (const auto* bytes = std::get_if<Bytes>(&cell)) {
    statement.blob(bytes->data);
  } else {
    statement.null();
  }
}

Cell take_cell(Rows& rows, ColumnKind kind) {
  if (rows.is_null()) {
    rows.skip();
    return {};
  }
  if (kind == ColumnKind::kNumber) return rows.number();
  if (kind == ColumnKind::kText) return rows.text();
  return Bytes{rows.text()};
}

std::uint64_t hash_of(const CopyRow& row) {
  Hasher hasher;
  for (const Cell& cell : row) {
    hasher.add(cell.index());
    if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      hasher.add(static_cast<std::uint64_t>(*number));
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      hasher.add(*text);
    } else if (const auto* bytes = std::get_if<Bytes>(&cell)) {
      hasher.add(bytes->data);
    }
  }
  return hasher.value();
}

// What a table holds, whatever the order of its rows.
struct Sum {
  std::uint64_t rows = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// One table at one end: read by pages in the order of its key, from the begin or behind a row.
class TableReader {
 public:
  TableReader(CopyEnd& end, const CopyTable& table, const std::vector<CopyColumn>& columns)
      : columns_(columns) {
    std::vector<std::string_view> names;
    for (const CopyColumn& column : columns) names.push_back(column.name);
    for (const std::string_view key : table.keys) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == key) keys_.push_back(i);
      }
    }
    const std::string from = fmt::format("SELECT {} FROM {}", quoted(names), table.name);
    const std::string keys = quoted(table.keys);
    sql::Session& db = end.session();
    first_ = &db.prepare_text(fmt::format("{} ORDER BY {} LIMIT {}", from, keys, kPageRows));
    next_ = &db.prepare_text(fmt::format("{} WHERE ({}) > ({}) ORDER BY {} LIMIT {}", from, keys,
                                         parameters(end.parameter(), table.keys.size()), keys,
                                         kPageRows));
    std::string backwards;
    for (const std::string_view key : table.keys) {
      backwards += fmt::format("{}\"{}\" DESC", backwards.empty() ? "" : ", ", key);
    }
    last_ = &db.prepare_text(fmt::format("{} ORDER BY {} LIMIT 1", from, backwards));
    count_ = &db.prepare_text(fmt::format("SELECT count(*) FROM {}", table.name));
  }

  Result<std::uint64_t> count() {
    Rows rows(count_->start());
    if (!rows.next()) return std::unexpected(rows.error());
    return rows.unsigned_number();
  }
  // The row with the highest key: where an unfinished copy goes on.
  Result<std::optional<CopyRow>> last() {
    auto rows = read(last_->start());
    if (!rows) return std::unexpected(rows.error());
    if (rows->empty()) return std::optional<CopyRow>{};
    return std::move(rows->front());
  }
  Result<std::vector<CopyRow>> page(const std::optional<CopyRow>& behind) {
    if (!behind) return read(first_->start());
    next_->start();
    for (const std::size_t key : keys_) bind(*next_, (*behind)[key]);
    return read(*next_);
  }

 private:
  Result<std::vector<CopyRow>> read(Statement& bound) {
    std::vector<CopyRow> page;
    Rows rows(bound);
    while (rows.next()) {
      CopyRow& row = page.emplace_back();
      for (const CopyColumn& column : columns_) row.push_back(take_cell(rows, column.kind));
    }
    if (rows.failed()) return std::unexpected(rows.error());
    return page;
  }

  const std::vector<CopyColumn>& columns_;
  std::vector<std::size_t> keys_;
  Statement* first_ = nullptr;
  Statement* next_ = nullptr;
  Statement* last_ = nullptr;
  Statement* count_ = nullptr;
};

std::string upsert_text(const CopyEnd& end, const CopyTable& table,
                        const std::vector<CopyColumn>& columns) {
  std::vector<std::string_view> names;
  std::string changes;
  for (const CopyColumn& column : columns) {
    names.push_back(column.name);
    changes +=
        fmt::format("{0}\"{1}\" = excluded.\"{1}\"", changes.empty() ? "" : ", ", column.name);
  }
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
                     table.name, quoted(names), parameters(end.parameter(), names.size()),
                     quoted(table.keys), changes);
}

class Copier {
 public:
  Copier(CopyEnd& from, CopyEnd& to, const CopyRequest& request)
      : from_(from), to_(to), request_(request) {}

  Result<CopyDone> run() {
    if (auto done = begin(); !done) return std::unexpected(done.error());
    for (const CopyTable& table : copy_tables()) {
      if (auto done = copy(table); !done) return std::unexpected(done.error());
    }
    CopyDone all;
    for (const CopyTable& table : copy_tables()) {
      const auto sum = verify(table);
      if (!sum) return std::unexpected(sum.error());
      ++all.tables;
      all.rows += sum->rows;
      all.hash ^= sum->hash * (all.tables * 2 + 1);
    }
    if (auto done = finish(); !done) return std::unexpected(done.error());
    return all;
  }

 private:
  static Result<std::string> ask(CopyEnd& end, std::string_view statement) {
    Rows rows(end.session().prepare(statement).start());
    std::string answer;
    if (rows.next()) answer = rows.text();
    if (rows.failed()) return std::unexpected(rows.error());
    return answer;
  }

  // Marks the target, or finds that it was marked for this source.
  Result<void> begin() {
    const auto state = ask(from_, "copy_state");
    const auto mark = ask(to_, "copy_mark");
    const auto empty = ask(to_, "copy_is_empty");
    const auto unfinished = ask(from_, "copy_mark");
    for (const auto* answer : {&state, &mark, &empty, &unfinished}) {
      if (!*answer) return std::unexpected(answer->error());
    }
    if (!unfinished->empty()) {
      return std::unexpected(Error{Fault::kBadRequest, "the source is an unfinished copy itself"});
    }
    if (!mark->empty() && *mark != *state) {
      return std::unexpected(
          Error{Fault::kBadRequest,
                "the source has changed since this copy began: empty the target and start again"});
    }
    if (mark->empty() && *empty != "yes") {
      return std::unexpected(Error{Fault::kBadRequest, "the target is not empty"});
    }
    Transaction tx(to_.session());
    tx.run(to_.session().prepare("set_copy_mark").start().text(*state));
    return tx.commit();
  }

  Result<void> copy(const CopyTable& table) {
    const auto columns = from_.columns(table.name);
    if (!columns) return std::unexpected(columns.error());
    TableReader source(from_, table, *columns);
    TableReader target(to_, table, *columns);
    const auto total = source.count();
    const auto there = target.count();
    if (!total || !there) return std::unexpected(total ? there.error() : total.error());
    // Tables that a new database has rows in are small: they are written again.
    const bool goes_on = *there > 1 && table.name != "cluster_keys";
    auto behind = goes_on ? target.last() : Result<std::optional<CopyRow>>{};
    if (!behind) return std::unexpected(behind.error());
    Statement& upsert = to_.session().prepare_text(upsert_text(to_, table, *columns));
    std::uint64_t rows = goes_on ? *there : 0;
    while (true) {
      auto page = source.page(*behind);
      if (!page) return std::unexpected(page.error());
      if (page->empty()) break;
      Transaction tx(to_.session());
      for (const CopyRow& row : *page) {
        upsert.start();
        for (const Cell& cell : row) bind(upsert, cell);
        tx.run(upsert);
      }
      if (auto done = tx.commit(); !done) return done;
      rows += page->size();
      if (request_.progress) request_.progress({table.name, rows, *total, false});
      *behind = std::move(page->back());
    }
    return {};
  }

  Result<Sum> sum_of(CopyEnd& end, const CopyTable& table, const std::vector<CopyColumn>& columns) {
    TableReader reader(end, table, columns);
    Sum sum;
    std::optional<CopyRow> behind;
    while (true) {
      auto page = reader.page(behind);
      if (!page) return std::unexpected(page.error());
      if (page->empty()) return sum;
      for (const CopyRow& row : *page) {
        if (is_mark(table, row)) continue;
        ++sum.rows;
        sum.hash += hash_of(row);
      }
      behind = std::move(page->back());
    }
  }

  static bool is_mark(const CopyTable& table, const CopyRow& row) {
    if (table.name != "cluster_keys") return false;
    const auto* name = std::get_if<std::string>(&row.front());
    return name != nullptr && *name == kMarkName;
  }

  Result<Sum> verify(const CopyTable& table) {
    const auto columns = from_.columns(table.name);
    if (!columns) return std::unexpected(columns.error());
    const auto here = sum_of(from_, table, *columns);
    if (!here) return std::unexpected(here.error());
    const auto there = sum_of(to_, table, *columns);
    if (!there) return std::unexpected(there.error());
    if (request_.progress) request_.progress({table.name, there->rows, here->rows, true});
    if (*here == *there) return *here;
    return std::unexpected(
        Error{Fault::kDamaged,
              fmt::format("table {} differs: {} rows with hash {:016x} in the source, {} rows with "
                          "hash {:016x} in the target",
                          table.name, here->rows, here->hash, there->rows, there->hash)});
  }

  // Terms and the clock go on from where they were; then the target is a database like any other.
  Result<void> finish() {
    if (auto done = to_.settle(); !done) return done;
    Rows rows(from_.session().prepare("copy_leadership").start());
    if (!rows.next()) return std::unexpected(rows.error());
    const std::int64_t term = rows.number();
    const std::int64_t clock = rows.number();
    sql::Session& db = to_.session();
    Transaction tx(db);
    tx.run(db.prepare("raise_leadership").start().number(term).number(clock));
    tx.run(db.prepare("drop_copy_mark").start());
    return tx.commit();
  }

  CopyEnd& from_;
  CopyEnd& to_;
  const CopyRequest& request_;
};

}  // namespace

Result<CopyDone> copy_store(const CopyRequest& request) {
  if (request.from == request.to) {
    return std::unexpected(Error{Fault::kBadRequest, "source and target are the same"});
  }
  auto from = CopyEnd::open(request.from, CopyRole::kSource);
  if (!from) return std::unexpected(from.error());
  auto to = CopyEnd::open(request.to, CopyRole::kTarget);
  if (!to) return std::unexpected(to.error());
  return Copier(**from, **to, request).run();
}

}  // namespace vortex::store
