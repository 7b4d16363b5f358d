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
  MemoryWriter(Shared& shared, std::function<Instant()> wall_clock)
      : shared_(shared), wall_clock_(std::move(wall_clock)) {}

  Result<AcquireAnswer> acquire(const ControllerId&, Duration) override {
    const std::unique_lock lock(shared_.mutex);
    Tables& tables = shared_.tables;
    tables.term = tables.term.next();
    tables.clock = std::max(wall_clock_(), tables.clock + micros(1));
    return Won{.term = tables.term, .database_now = tables.clock};
  }

  Result<void> renew(Term term, Duration) override {
    const std::shared_lock lock(shared_.mutex);
    return fence(term);
  }

  void release(Term) override {}

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
  std::function<Instant()> wall_clock_;
};

class MemoryStore final : public Store {
 public:
  bool is_ours_alone() const override { return true; }

  explicit MemoryStore(const MemoryOptions& options)
      : shared_(options.logs),
        writer_(shared_, options.wall_clock ? options.wall_clock : system_clock) {}

  Writer& writer() override { return writer_; }
  Result<std::unique_ptr<Reader>> reader() override { return make_reader(shared_); }

 private:
  Shared shared_;
  MemoryWriter writer_;
};

}  // namespace
}  // namespace memory

std::unique_ptr<Store> open_memory(const MemoryOptions& options) {
  return std::make_unique<memory::MemoryStore>(options);
}

}  // namespace vortex::store
