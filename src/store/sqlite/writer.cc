#include "store/sqlite/writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/sql/record_io.h"

namespace vortex::store::sqlite {

using store::sql::Rows;
using store::sql::Transaction;

SqliteWriter::SqliteWriter(Connection& db, CommitMark& mark, PlanShelf& shelf, LogLimits logs,
                           std::function<Instant()> wall_clock)
    : db_(db),
      mark_(mark),
      wall_clock_(std::move(wall_clock)),
      known_(db_, shelf),
      runs_(db_, known_, shelf, packer_),
      tasks_(db_, known_, runs_),
      fleet_(db_, known_, packer_),
      logs_(db_, packer_, logs),
      retention_(db_, known_, runs_),
      images_(db_, known_),
      read_leadership_(db_.prepare("read_leadership")),
      take_leadership_(db_.prepare("take_leadership")),
      leave_leadership_(db_.prepare("leave_leadership")),
      announce_(db_.prepare("announce")),
      forget_controllers_(db_.prepare("forget_controllers")),
      fence_(db_.prepare("fence")),
      probe_(db_.prepare("probe")) {}

Result<SqliteWriter::Leadership> SqliteWriter::leadership() {
  read_leadership_.start();
  Rows rows(read_leadership_);
  if (!rows.next()) {
    return std::unexpected(
        rows.failed() ? rows.error() : Error{Fault::kDamaged, "this store has never had a leader"});
  }
  return Leadership{.term = {rows.unsigned_number()}, .clock = {rows.number()}};
}

// The file lock proves that every other holder is dead, so there is nobody to wait for.
Result<AcquireAnswer> SqliteWriter::acquire(const Candidate& who, Duration) {
  Transaction tx(db_);
  const auto before = leadership();
  if (!before) return std::unexpected(before.error());
  const Won won{.term = before->term.next(),
                .database_now = std::max(wall_clock_(), before->clock + micros(1))};
  tx.run(take_leadership_.start()
             .unsigned_number(won.term.value)
             .text(who.id.text)
             .number(won.database_now.us)
             .text(who.url));
  if (auto done = finish(tx); !done) return std::unexpected(done.error());
  in_doubt_ = false;
  mark_.set({won.term.value, won.database_now.us});
  return won;
}

Result<void> SqliteWriter::renew(Term term, Duration) {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  const auto now = leadership();
  if (!now) return std::unexpected(now.error());
  if (now->term == term) return {};
  return std::unexpected(
      Error{Fault::kFenced,
            fmt::format("term {} has ended, the current term is {}", term.value, now->term.value)});
}

void SqliteWriter::release(Term term) {
  Transaction tx(db_);
  tx.run(leave_leadership_.start().unsigned_number(term.value));
  // Nothing depends on it: the lock on the file is what the next controller waits for.
  if (!finish(tx)) return;
}

Result<void> SqliteWriter::announce(const Candidate& who) {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  const Instant now = wall_clock_();
  Transaction tx(db_);
  tx.run(store::sql::bind_row(announce_, ControllerRow{who.id, who.url, now}));
  tx.run(forget_controllers_.start().time(now - kControllersKept));
  return finish(tx);
}

Result<void> SqliteWriter::commit(const Commit& commit) {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  if (auto done = known_.load(); !done) return done;
  Transaction tx(db_);
  tx.run(fence_.start().unsigned_number(commit.term.value).number(commit.now.us));
  if (tx.ok() && fence_.changes() == 0) {
    tx.fail({Fault::kFenced, fmt::format("term {} is no longer the leader", commit.term.value)});
  }
  if (tx.ok()) {
    runs_.write(tx, commit);
    tasks_.write(tx, commit.rows);
    tasks_.write_pieces(tx, commit.pieces);
    fleet_.write(tx, commit);
    logs_.write(tx, commit.logs);
    retention_.forget(tx, commit.expired);
  }
  auto done = finish(tx);
  if (done) mark_.set({commit.term.value, commit.now.us});
  return done;
}

Result<std::vector<ExpiredRun>> SqliteWriter::expirable(const Retention& keep, Instant now,
                                                        std::uint32_t limit) {
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  return retention_.expirable(keep, now, limit);
}

Result<bool> SqliteWriter::sweep(const Retention& keep, Instant now, std::uint32_t rows) {
  if (auto refused = refuse_while_in_doubt(); !refused) return std::unexpected(refused.error());
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  Transaction tx(db_);
  const bool more = retention_.sweep(tx, keep, now, rows);
  if (auto done = finish(tx); !done) return std::unexpected(done.error());
  return more;
}

Result<void> SqliteWriter::check_writable() {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  Transaction tx(db_);
  tx.run(probe_.start());
  return finish(tx);
}

Result<void> SqliteWriter::finish(Transaction& tx) {
  auto done = tx.commit();
  if (done) return done;
  known_.forget();
  if (done.error().fault == Fault::kUnknown) in_doubt_ = true;
  return done;
}

Result<void> SqliteWriter::refuse_while_in_doubt() const {
  if (!in_doubt_) return {};
  return std::unexpected(
      Error{Fault::kUnavailable,
            "the outcome of an earlier write is unknown: leadership must be acquired again first"});
}

}  // namespace vortex::store::sqlite
