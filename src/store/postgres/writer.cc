#include "store/postgres/writer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

#include "store/keys.h"
#include "store/sql/record_io.h"

namespace vortex::store::postgres {

using store::sql::Rows;
using store::sql::Snapshot;
using store::sql::Transaction;

namespace {

// Terms of one timeline of the database lie above all those of the timelines before it.
constexpr int kTimelineShift = 32;

// Watchers hold the lock of leaders for a moment when they find it free, and a session that was
// just ended has it for a moment longer.
constexpr int kLockTries = 40;
constexpr std::chrono::milliseconds kBetweenTries{5};

std::int64_t random_number() {
  std::int64_t value = 0;
  // Without random bytes the term alone is the fence, as it is in SQLite.
  if (::getrandom(&value, sizeof value, 0) != sizeof value) return 0;
  return value;
}

}  // namespace

PostgresWriter::PostgresWriter(ConnectionSetup setup, PlanShelf& shelf, LogLimits logs,
                               std::function<Instant()> wall_clock)
    : row_patience_(setup.timeout / 2),
      db_(std::move(setup)),
      wall_clock_(std::move(wall_clock)),
      known_(db_, shelf),
      runs_(db_, known_, shelf, packer_),
      tasks_(db_, known_, runs_),
      fleet_(db_, known_, packer_),
      logs_(db_, packer_, logs),
      retention_(db_, known_, runs_),
      images_(db_, known_),
      find_log_heads_(db_, "find_log_heads"),
      wait_for_row_(db_.named("wait_for_row")),
      end_expired_session_(db_.named("end_expired_session")),
      lock_leadership_(db_.named("lock_leadership")),
      timeline_(db_.named("timeline")),
      leader_session_lives_(db_.named("leader_session_lives")),
      try_leader_lock_(db_.named("try_leader_lock")),
      leave_leader_lock_(db_.named("leave_leader_lock")),
      end_old_sessions_(db_.named("end_old_sessions")),
      take_leadership_(db_.named("take_leadership")),
      database_clock_(db_.named("database_clock")),
      announce_(db_.named("announce")),
      forget_controllers_(db_.named("forget_controllers")),
      note_leader_lock_(db_.named("note_leader_lock")),
      renew_leadership_(db_.named("renew_leadership")),
      leave_leadership_(db_.named("leave_leadership")),
      fence_(db_.named("fence")),
      probe_(db_.named("probe")) {}

Result<PostgresWriter::Row> PostgresWriter::lock_row() {
  wait_for_row_.start().number(std::max<std::int64_t>(row_patience_.us / 1'000, 1)).run();
  Rows rows(lock_leadership_.start());
  if (!rows.next()) {
    return std::unexpected(
        rows.failed() ? rows.error() : Error{Fault::kDamaged, "the row of the leader is missing"});
  }
  Row row;
  row.term = {rows.unsigned_number()};
  row.holder = ControllerId{rows.text()};
  row.lease_end = {rows.number()};
  row.backend = rows.number();
  row.clock = {rows.number()};
  row.now = {rows.number()};
  return row;
}

// Free: released, ours, its lease has ended, or the session that held the lock of leaders is gone.
Result<bool> PostgresWriter::is_free(const Row& row, const ControllerId& who) {
  if (row.holder.text.empty() || row.holder == who || row.lease_end <= row.now) return true;
  if (row.backend == 0) return false;
  Rows rows(leader_session_lives_.start().number(row.backend));
  const bool lives = rows.next();
  if (rows.failed()) return std::unexpected(rows.error());
  return !lives;
}

// 1 where a server does not tell: then only the row and the random number keep terms apart.
Result<std::uint64_t> PostgresWriter::timeline() {
  Rows rows(timeline_.start());
  if (rows.next()) return std::max<std::uint64_t>(rows.unsigned_number(), 1);
  if (!db_.is_connected()) return std::unexpected(rows.error());
  return 1;
}

Result<AcquireAnswer> PostgresWriter::acquire(const Candidate& who, Duration lease) {
  const auto history = timeline();
  if (!history) return std::unexpected(history.error());
  const std::uint64_t connection = db_.connection_number();
  Result<AcquireAnswer> answer;
  {
    Transaction tx(db_);
    auto row = lock_row();
    if (row && db_.connection_number() != connection) {
      row = std::unexpected(Error{Fault::kUnavailable, "the connection was replaced; try again"});
    }
    if (row) {
      row->term.value = std::max({row->term.value, (*history - 1) << kTimelineShift, term_.value});
      answer = take_if_free(tx, *row, who, lease);
    } else {
      answer = std::unexpected(row.error());
    }
  }
  if (!answer && db_.is_connected()) end_expired_session();
  if (answer && std::holds_alternative<Won>(*answer) && !has_lock()) take_over_lock();
  return answer;
}

Result<AcquireAnswer> PostgresWriter::take_if_free(Transaction& tx, const Row& row,
                                                   const Candidate& who, Duration lease) {
  const auto free = is_free(row, who.id);
  if (!free) return std::unexpected(free.error());
  if (!*free) return HeldByOther{.holder = row.holder, .remaining = row.lease_end - row.now};
  const auto won = take(tx, row, who, lease);
  if (!won) return std::unexpected(won.error());
  return *won;
}

// What could not be had this time can be had the next time.
void PostgresWriter::end_expired_session() {
  Rows ended(end_expired_session_.start());
  while (ended.next()) {
  }
}

Result<Won> PostgresWriter::take(Transaction& tx, const Row& row, const Candidate& who,
                                 Duration lease) {
  const Instant wall = wall_clock_ ? wall_clock_() : row.now;
  const Won won{.term = row.term.next(), .database_now = std::max(wall, row.clock + micros(1))};
  const std::int64_t nonce = random_number();
  const bool locked = try_lock();
  tx.run(take_leadership_.start()
             .unsigned_number(won.term.value)
             .number(nonce)
             .text(who.id.text)
             .text(who.url)
             .number(lease.us)
             .flag(locked)
             .number(won.database_now.us));
  known_.forget();
  auto done = tx.commit();
  if (!done) return std::unexpected(done.error());
  term_ = won.term;
  nonce_ = nonce;
  in_doubt_ = false;
  return won;
}

bool PostgresWriter::try_lock() {
  if (has_lock()) return true;
  Rows rows(try_leader_lock_.start());
  const bool got = rows.next() && rows.flag();
  if (got) locked_in_ = db_.connection_number();
  return got;
}

void PostgresWriter::take_over_lock() {
  {
    Rows ended(end_old_sessions_.start());
    while (ended.next()) {
    }
  }
  for (int tries = 1; !try_lock(); ++tries) {
    if (tries == kLockTries || !db_.is_connected()) return;
    std::this_thread::sleep_for(kBetweenTries);
  }
  Transaction tx(db_);
  tx.run(note_leader_lock_.start().unsigned_number(term_.value).number(nonce_));
  // Without it candidates wait for the end of the lease; the next renewal tries again.
  if (!tx.commit()) locked_in_ = 0;
}

Result<void> PostgresWriter::renew(Term term, Duration lease) {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  if (auto refused = refuse_other(term); !refused) return refused;
  {
    Transaction tx(db_);
    tx.run_on_row(
        renew_leadership_.start().unsigned_number(term.value).number(nonce_).number(lease.us),
        {Fault::kFenced, fmt::format("term {} has ended", term.value)});
    if (auto done = tx.commit(); !done) return done;
  }
  if (!has_lock()) take_over_lock();
  return {};
}

void PostgresWriter::release(Term term) {
  if (term != term_) return;
  {
    Transaction tx(db_);
    tx.run(leave_leadership_.start().unsigned_number(term.value).number(nonce_));
    if (!tx.commit()) return db_.disconnect();  // ends the session, and the lock with it
  }
  if (!has_lock()) return;
  Rows rows(leave_leader_lock_.start());
  if (!rows.next()) db_.disconnect();
  locked_in_ = 0;
}

Result<Instant> PostgresWriter::clock() {
  if (wall_clock_) return wall_clock_();
  Rows rows(database_clock_.start());
  if (!rows.next()) return std::unexpected(rows.error());
  return Instant{rows.number()};
}

Result<void> PostgresWriter::announce(const Candidate& who) {
  const auto now = clock();
  if (!now) return std::unexpected(now.error());
  Transaction tx(db_);
  tx.run(store::sql::bind_row(announce_, ControllerRow{who.id, who.url, *now}));
  tx.run(forget_controllers_.start().time(*now - kControllersKept));
  return tx.commit();
}

Result<StoreImage> PostgresWriter::image() {
  const Snapshot snapshot(db_);
  return images_.image();
}

Result<std::optional<RunImage>> PostgresWriter::run_image(RunId run) {
  const Snapshot snapshot(db_);
  return images_.run_image(run);
}

void PostgresWriter::fence(Transaction& tx, Instant clock) {
  tx.run_on_row(fence_.start().unsigned_number(term_.value).number(nonce_).number(clock.us),
                {Fault::kFenced, fmt::format("term {} is no longer the leader", term_.value)});
}

store::sql::LogHeads PostgresWriter::heads_of(Transaction& tx,
                                              const std::vector<LogChunk>& chunks) {
  store::sql::LogHeads heads;
  find_log_heads_.clear();
  for (const LogChunk& chunk : chunks) {
    const auto key = key_of(chunk.attempt.task);
    if (!key || !heads.emplace(std::pair(*key, chunk.attempt.epoch.value), LogSpan{}).second) {
      continue;
    }
    find_log_heads_.start().number(*key).unsigned_number(chunk.attempt.epoch.value);
  }
  if (heads.empty()) return heads;
  find_log_heads_.keep_rows();
  if (!tx.run(find_log_heads_) || find_log_heads_.changes() <= 0) {
    find_log_heads_.reset();
    return heads;
  }
  Rows rows(find_log_heads_);
  while (rows.next()) {
    const std::int64_t key = rows.number();
    const std::uint64_t epoch = rows.unsigned_number();
    heads[{key, epoch}] = {.size = rows.unsigned_number(),
                           .cut_begin = rows.unsigned_number(),
                           .cut_end = rows.unsigned_number()};
  }
  if (rows.failed()) tx.fail(rows.error());
  return heads;
}

Result<void> PostgresWriter::commit(const Commit& commit) {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  if (auto refused = refuse_other(commit.term); !refused) return refused;
  if (auto done = known_.load(); !done) return done;
  Transaction tx(db_);
  fence(tx, commit.now);
  if (tx.ok()) {
    runs_.write(tx, commit);
    tasks_.write(tx, commit.rows);
    tasks_.write_pieces(tx, commit.pieces);
    fleet_.write(tx, commit);
    logs_.write(tx, commit.logs, heads_of(tx, commit.logs));
    retention_.forget(tx, commit.expired);
  }
  return finish(tx);
}

Result<std::vector<ExpiredRun>> PostgresWriter::expirable(const Retention& keep, Instant now,
                                                          std::uint32_t limit) {
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  return retention_.expirable(keep, now, limit);
}

Result<bool> PostgresWriter::sweep(const Retention& keep, Instant now, std::uint32_t rows) {
  if (auto refused = refuse_while_in_doubt(); !refused) return std::unexpected(refused.error());
  if (auto done = known_.load(); !done) return std::unexpected(done.error());
  Transaction tx(db_);
  fence(tx, {});
  const bool more = retention_.sweep(tx, keep, now, rows);
  if (auto done = finish(tx); !done) return std::unexpected(done.error());
  return more;
}

Result<void> PostgresWriter::check_writable() {
  if (auto refused = refuse_while_in_doubt(); !refused) return refused;
  Transaction tx(db_);
  tx.run(probe_.start());
  return tx.commit();
}

Result<void> PostgresWriter::finish(Transaction& tx) {
  auto done = tx.commit();
  if (done) return done;
  known_.forget();
  if (done.error().fault == Fault::kUnknown) in_doubt_ = true;
  return done;
}

Result<void> PostgresWriter::refuse_while_in_doubt() const {
  if (!in_doubt_) return {};
  return std::unexpected(
      Error{Fault::kUnavailable,
            "the outcome of an earlier write is unknown: leadership must be acquired again first"});
}

Result<void> PostgresWriter::refuse_other(Term term) const {
  if (term == term_ && term.value != 0) return {};
  return std::unexpected(Error{
      Fault::kFenced,
      fmt::format("term {} is not the newest of this controller, {}", term.value, term_.value)});
}

}  // namespace vortex::store::postgres
