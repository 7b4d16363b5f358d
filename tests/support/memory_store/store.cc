#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <fmt/format.h>

#include "tests/support/memory_store/open.h"
#include "tests/support/memory_store/reader.h"
#include "tests/support/memory_store/tables.h"

namespace vortex::store {
namespace memory {
namespace {

Instant system_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

class MemoryWriter final : public Writer {
 public:
  explicit MemoryWriter(Shared& shared) : shared_(shared) {}

  Result<AcquireAnswer> acquire(const Candidate& who, Duration lease) override {
    const std::unique_lock lock(shared_.mutex);
    Tables& tables = shared_.tables;
    const Instant wall = shared_.wall_clock();
    const bool held =
        !tables.leader.id.text.empty() && tables.leader.id != who.id && wall < tables.lease_ends;
    if (shared_.is_for_several && held) {
      return HeldByOther{.holder = tables.leader.id, .remaining = tables.lease_ends - wall};
    }
    tables.term = tables.term.next();
    tables.clock = std::max(wall, tables.clock + micros(1));
    tables.leader = {who.id, who.url, tables.term, tables.clock};
    tables.lease_ends = wall + lease;
    return Won{.term = tables.term, .database_now = tables.clock};
  }

  Result<void> renew(Term term, Duration lease) override {
    const std::unique_lock lock(shared_.mutex);
    if (auto done = fence(term); !done) return done;
    shared_.tables.lease_ends = shared_.wall_clock() + lease;
    return {};
  }

  void release(Term term) override {
    {
      const std::unique_lock lock(shared_.mutex);
      if (!fence(term)) return;
      shared_.tables.leader.id = {};
    }
    const std::scoped_lock lock(shared_.watchers_guard);
    for (const auto& [who, tell] : shared_.watchers) tell();
  }

  Result<void> announce(const Candidate& who) override {
    const std::unique_lock lock(shared_.mutex);
    const Instant now = shared_.wall_clock();
    auto& rows = shared_.tables.controllers;
    rows.insert_or_assign(who.id, ControllerRow{who.id, who.url, now});
    std::erase_if(rows,
                  [&](const auto& row) { return row.second.seen_at < now - kControllersKept; });
    return {};
  }

  Result<StoreImage> image() override {
    const std::shared_lock lock(shared_.mutex);
    return shared_.tables.image();
  }

  Result<std::optional<RunImage>> run_image(RunId run) override {
    const std::shared_lock lock(shared_.mutex);
    return shared_.tables.run_image(run);
  }

  Result<void> commit(const Commit& commit) override {
    const std::unique_lock lock(shared_.mutex);
    if (auto done = fence(commit.term); !done) return done;
    if (auto done = shared_.tables.check(commit); !done) return done;
    shared_.tables.apply(commit);
    return {};
  }

  Result<std::vector<ExpiredRun>> expirable(const Retention& keep, Instant now,
                                            std::uint32_t limit) override {
    const std::shared_lock lock(shared_.mutex);
    return shared_.tables.expirable(keep, now, limit);
  }

  Result<bool> sweep(const Retention& keep, Instant now, std::uint32_t rows) override {
    const std::unique_lock lock(shared_.mutex);
    return shared_.tables.sweep(keep, now, rows);
  }

  Result<void> check_writable() override { return {}; }

 private:
  Result<void> fence(Term term) const {
    if (shared_.tables.term == term) return {};
    return std::unexpected(
        Error{Fault::kFenced, fmt::format("term {} is no longer the leader", term.value)});
  }

  Shared& shared_;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), writer_(*shared_) {}
  ~MemoryStore() override { watch({}); }

  bool is_ours_alone() const override { return !shared_->is_for_several; }
  void watch(std::function<void()> may_be_free) override {
    const std::scoped_lock lock(shared_->watchers_guard);
    shared_->watchers.erase(this);
    if (may_be_free) shared_->watchers.emplace(this, std::move(may_be_free));
  }

  Writer& writer() override { return writer_; }
  Result<std::unique_ptr<Reader>> reader() override { return make_reader(*shared_); }
  const std::shared_ptr<Shared>& shared() const { return shared_; }

 private:
  std::shared_ptr<Shared> shared_;
  MemoryWriter writer_;
};

}  // namespace
}  // namespace memory

std::unique_ptr<Store> open_memory(const MemoryOptions& options) {
  return std::make_unique<memory::MemoryStore>(std::make_shared<memory::Shared>(
      options.logs, options.shared,
      options.wall_clock ? options.wall_clock : memory::system_clock));
}

std::unique_ptr<Store> open_again(Store& memory) {
  return std::make_unique<memory::MemoryStore>(dynamic_cast<memory::MemoryStore&>(memory).shared());
}

}  // namespace vortex::store
