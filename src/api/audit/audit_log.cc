#include "api/audit/audit_log.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/clock.h"

namespace vortex::api {
namespace {

constexpr std::size_t kTogetherMax = 1'000;  // entries of one write
constexpr std::size_t kAuditTextMax = 200;

void cut_long(std::string& text) {
  if (text.size() <= kAuditTextMax) return;
  text.resize(kAuditTextMax);
  // Not in the middle of a character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.pop_back();
}

void cut_texts(AuditRow& entry) {
  for (std::string* text : {&entry.who, &entry.address, &entry.target}) cut_long(*text);
}

}  // namespace

void AuditLog::note(AuditRow entry) {
  cut_texts(entry);
  const Instant now = boot_clock_now();
  const std::scoped_lock lock(mutex_);
  if (entry.status >= 400 && is_merged(entry, now)) return;
  add(std::move(entry), now);
}

bool AuditLog::is_merged(const AuditRow& entry, Instant now) {
  ClientKey key{entry.address, entry.who, entry.status};
  if (failures_.size() >= kClientsMax && !failures_.contains(key)) key = {{}, {}, entry.status};
  const auto [found, is_new] = failures_.try_emplace(key);
  Failures& failures = found->second;
  if (is_new) failures.since = now;
  if (failures.single < kSingleMax) {
    ++failures.single;
    return false;
  }
  AuditRow& merged = failures.merged;
  failures.last_at = now;
  if (failures.more++ == 0) {
    merged = entry;
    merged.target.clear();
    std::tie(merged.address, merged.who, merged.status) = key;
  }
  if (merged.operation != entry.operation) merged.operation.clear();
  if (merged.code != entry.code) merged.code.clear();
  return true;
}

// What was counted becomes an entry, and the client starts anew.
void AuditLog::close_minutes(Instant now, Which which) {
  for (auto at = failures_.begin(); at != failures_.end();) {
    Failures& failures = at->second;
    if (which == Which::kDue && now - failures.since < kMergedFor) {
      ++at;
      continue;
    }
    if (failures.more > 0) {
      failures.merged.count = failures.more;
      add(std::move(failures.merged), failures.last_at);
    }
    at = failures_.erase(at);
  }
}

void AuditLog::add(AuditRow entry, Instant noted_at) {
  if (waiting_.size() >= kWaitingMax) {
    dropped_ += entry.count;
    return;
  }
  waiting_.push_back({std::move(entry), noted_at});
}

// The number is the time, so that it goes on growing after a restart.
void AuditLog::number(AuditRow& row, Instant noted_at, Instant now) {
  if (row.seq != 0) return;
  row.at = backend_.now() - (now - noted_at);
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(row.at.us, 1));
  row.seq = std::max(last_seq_ + 1, micros);
  last_seq_ = row.seq;
}

std::vector<AuditRow> AuditLog::take(Which which) {
  const Instant now = boot_clock_now();
  const std::scoped_lock lock(mutex_);
  close_minutes(now, which);
  if (dropped_ > 0 && waiting_.size() < kWaitingMax) {
    AuditRow gap;
    gap.operation = "entries_dropped";
    gap.status = 503;
    gap.count = std::exchange(dropped_, 0);
    add(std::move(gap), now);
  }
  std::vector<AuditRow> rows;
  while (!waiting_.empty() && rows.size() < kTogetherMax) {
    auto [row, noted_at] = std::move(waiting_.front());
    waiting_.pop_front();
    number(row, noted_at, now);
    rows.push_back(std::move(row));
  }
  return rows;
}

// What was not written goes back with its numbers: if it was written after all, it is written over.
boost::asio::awaitable<bool> AuditLog::write(std::vector<AuditRow> rows) {
  SideWrite side = WriteAudit{rows};
  const Asked<void> written = co_await backend_.write(std::move(side));
  if (written) co_return true;
  const std::scoped_lock lock(mutex_);
  for (AuditRow& row : std::views::reverse(rows)) {
    if (waiting_.size() >= kWaitingMax) {
      dropped_ += row.count;
    } else {
      waiting_.push_front({std::move(row), {}});
    }
  }
  co_return false;
}

boost::asio::awaitable<void> AuditLog::write_now(AuditRow entry) {
  cut_texts(entry);
  std::vector<AuditRow> rows = take(Which::kDue);
  {
    const Instant now = boot_clock_now();
    const std::scoped_lock lock(mutex_);
    number(entry, now, now);
  }
  rows.push_back(std::move(entry));
  co_await write(std::move(rows));
}

boost::asio::awaitable<void> AuditLog::flush(Which which) {
  for (std::vector<AuditRow> rows = take(which); !rows.empty(); rows = take(which)) {
    const bool written = co_await write(std::move(rows));
    if (!written) co_return;
  }
}

}  // namespace vortex::api
