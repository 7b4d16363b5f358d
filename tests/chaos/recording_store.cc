#include "tests/chaos/recording_store.h"

#include <utility>

#include "base/clock.h"
#include "tests/chaos/event_lines.h"

namespace vortex::chaos {

void History::began(const store::Won& won) {
  const std::lock_guard lock(guard_);
  checkers_.fact(boot_clock_now(), sim::TermBegan{won.term, won.database_now});
}

void History::committed(const Commit& commit) {
  const std::lock_guard lock(guard_);
  ++commits_;
  auto events = read_events(commit.events);
  if (!events) unreadable_.push_back(events.error());
  sim::Committed fact{commit.term, commit.now, commit.rows, {}, commit.expired};
  if (events) fact.events = *std::move(events);
  std::erase_if(fact.events, [this](const Event& event) { return left_out_.contains(event.kind); });
  checkers_.fact(boot_clock_now(), fact);
}

void History::leave_out(EventKind kind) {
  const std::lock_guard lock(guard_);
  left_out_.insert(kind);
}

std::vector<std::string> History::violations() {
  const std::lock_guard lock(guard_);
  checkers_.finish(boot_clock_now());
  std::vector<std::string> all = unreadable_;
  for (const sim::Violation& violation : checkers_.violations()) {
    all.push_back(violation.invariant + ": " + violation.detail);
  }
  return all;
}

namespace {

class RecordingWriter : public store::Writer {
 public:
  RecordingWriter(store::Writer& inner, History& history) : inner_(inner), history_(history) {}

  store::Result<store::AcquireAnswer> acquire(const store::Candidate& who,
                                              Duration lease) override {
    auto answer = inner_.acquire(who, lease);
    if (answer) {
      if (const auto* won = std::get_if<store::Won>(&*answer)) history_.began(*won);
    }
    return answer;
  }
  store::Result<void> renew(Term term, Duration lease) override {
    return inner_.renew(term, lease);
  }
  void release(Term term) override { inner_.release(term); }
  store::Result<void> announce(const store::Candidate& who) override {
    return inner_.announce(who);
  }
  store::Result<StoreImage> image() override { return inner_.image(); }
  store::Result<std::optional<RunImage>> run_image(RunId run) override {
    return inner_.run_image(run);
  }
  store::Result<void> commit(const Commit& commit) override {
    auto done = inner_.commit(commit);
    if (done) history_.committed(commit);
    return done;
  }
  store::Result<std::vector<ExpiredRun>> expirable(const store::Retention& keep, Instant now,
                                                   std::uint32_t limit) override {
    return inner_.expirable(keep, now, limit);
  }
  store::Result<bool> sweep(const store::Retention& keep, Instant now,
                            std::uint32_t rows) override {
    return inner_.sweep(keep, now, rows);
  }
  store::Result<void> check_writable() override { return inner_.check_writable(); }

 private:
  store::Writer& inner_;
  History& history_;
};

class RecordingStore : public store::Store {
 public:
  RecordingStore(std::unique_ptr<store::Store> inner, History& history)
      : inner_(std::move(inner)), writer_(inner_->writer(), history) {}

  store::Writer& writer() override { return writer_; }
  bool is_ours_alone() const override { return inner_->is_ours_alone(); }
  void watch(std::function<void()> may_be_free) override { inner_->watch(std::move(may_be_free)); }
  store::Result<std::unique_ptr<store::Reader>> reader() override { return inner_->reader(); }

 private:
  std::unique_ptr<store::Store> inner_;
  RecordingWriter writer_;
};

}  // namespace

std::unique_ptr<store::Store> record(std::unique_ptr<store::Store> inner, History& history) {
  return std::make_unique<RecordingStore>(std::move(inner), history);
}

}  // namespace vortex::chaos
