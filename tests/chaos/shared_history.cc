#include "tests/chaos/shared_history.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/clock.h"
#include "sim/check/checkers.h"
#include "tests/chaos/event_lines.h"

namespace vortex::chaos {

const char* const kNoteCommits = R"(
CREATE TABLE commit_notes (seq BIGSERIAL PRIMARY KEY, term BIGINT NOT NULL, clock_us BIGINT NOT NULL);
CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO commit_notes (term, clock_us) VALUES (NEW.term, NEW.clock_us);
  RETURN NULL;
END $$;
CREATE TRIGGER note_commit AFTER UPDATE ON leadership FOR EACH ROW
  WHEN (NEW.term <> OLD.term OR NEW.clock_us <> OLD.clock_us) EXECUTE FUNCTION note_commit();
)";

const char* const kReadNotes =
    "SELECT coalesce(string_agg(term || ' ' || clock_us, E'\\n' ORDER BY seq), '') "
    "FROM commit_notes";

void SharedHistory::began(const store::Won& won) {
  const std::scoped_lock lock(guard_);
  Entry entry{boot_clock_now(), sim::Fact(sim::TermBegan{won.term, won.database_now}), {}};
  terms_[won.term].push_back(std::move(entry));
}

void SharedHistory::committed(const Commit& commit, Answer answer) {
  const std::scoped_lock lock(guard_);
  auto events = read_events(commit.events);
  if (!events) broken_.push_back(events.error());
  sim::Committed fact{commit.term, commit.now, commit.rows, {}, commit.expired};
  if (events) fact.events = *std::move(events);
  std::erase_if(fact.events, [this](const Event& event) { return left_out_.contains(event.kind); });
  terms_[commit.term].push_back(
      {boot_clock_now(), sim::Fact(std::move(fact)), commit.now, true, answer});
}

void SharedHistory::leave_out(EventKind kind) {
  const std::scoped_lock lock(guard_);
  left_out_.insert(kind);
}

SharedHistory::Verdict SharedHistory::judge(const core::Policy& policy, const std::string& notes) {
  const std::scoped_lock lock(guard_);
  Verdict verdict;
  verdict.violations = broken_;
  const auto say = [&verdict](std::string what) { verdict.violations.push_back(std::move(what)); };
  // What the database knows, in its own order.
  std::set<std::pair<std::uint64_t, std::int64_t>> noted;
  std::istringstream lines(notes);
  std::uint64_t newest = 0;
  std::uint64_t term = 0;
  for (std::int64_t clock = 0; lines >> term >> clock;) {
    if (term < newest) say(fmt::format("term {} wrote after term {} had begun", term, newest));
    newest = std::max(newest, term);
    noted.emplace(term, clock);
  }
  sim::Checkers checkers(policy);
  Instant at{};
  for (auto& [number, entries] : terms_) {
    ++verdict.terms;
    for (Entry& entry : entries) {
      at = std::max(at, entry.at);
      if (entry.is_commit) {
        const bool durable = noted.contains({number.value, entry.clock.us});
        if (entry.answer == Answer::kLost) {
          ++verdict.lost_answers;
          verdict.lost_but_durable += durable ? 1 : 0;
          if (!durable) continue;
        } else if (!durable) {
          say(fmt::format("a commit of term {} was acknowledged, but is not in the database",
                          number.value));
        }
        ++verdict.commits;
      }
      checkers.fact(at, entry.fact);
    }
  }
  checkers.finish(at);
  for (const sim::Violation& violation : checkers.violations()) {
    say(violation.invariant + ": " + violation.detail);
  }
  return verdict;
}

void Plug::cut() {
  const std::scoped_lock lock(guard_);
  cut_ = true;
  changed_.notify_all();
}

void Plug::stall() {
  const std::scoped_lock lock(guard_);
  stalls_ = true;
}

void Plug::go_on() {
  const std::scoped_lock lock(guard_);
  stalls_ = false;
  changed_.notify_all();
}

bool Plug::passes() {
  std::unique_lock lock(guard_);
  changed_.wait(lock, [this] { return cut_ || !stalls_; });
  return !cut_;
}

namespace {

std::unexpected<store::Error> gone() {
  return std::unexpected(store::Error{store::Fault::kUnavailable, "the plug is cut"});
}

class PluggedWriter : public store::Writer {
 public:
  PluggedWriter(store::Writer& inner, SharedHistory& history, std::shared_ptr<Plug> plug)
      : inner_(inner), history_(history), plug_(std::move(plug)) {}

  store::Result<store::AcquireAnswer> acquire(const store::Candidate& who,
                                              Duration lease) override {
    if (!plug_->passes()) return gone();
    auto answer = inner_.acquire(who, lease);
    if (answer) {
      if (const auto* won = std::get_if<store::Won>(&*answer)) history_.began(*won);
    }
    return answer;
  }
  store::Result<void> renew(Term term, Duration lease) override {
    if (!plug_->passes()) return gone();
    return inner_.renew(term, lease);
  }
  void release(Term term) override {
    if (plug_->passes()) inner_.release(term);
  }
  store::Result<void> announce(const store::Candidate& who) override {
    if (!plug_->passes()) return gone();
    return inner_.announce(who);
  }
  store::Result<StoreImage> image() override {
    if (!plug_->passes()) return gone();
    return inner_.image();
  }
  store::Result<std::optional<RunImage>> run_image(RunId run) override {
    if (!plug_->passes()) return gone();
    return inner_.run_image(run);
  }
  store::Result<void> commit(const Commit& commit) override {
    if (!plug_->passes()) return gone();
    auto done = inner_.commit(commit);
    if (done) history_.committed(commit, SharedHistory::Answer::kDurable);
    if (!done && done.error().fault == store::Fault::kUnknown) {
      history_.committed(commit, SharedHistory::Answer::kLost);
    }
    return done;
  }
  store::Result<std::vector<ExpiredRun>> expirable(const store::Retention& keep, Instant now,
                                                   std::uint32_t limit) override {
    if (!plug_->passes()) return gone();
    return inner_.expirable(keep, now, limit);
  }
  store::Result<bool> sweep(const store::Retention& keep, Instant now,
                            std::uint32_t rows) override {
    if (!plug_->passes()) return gone();
    return inner_.sweep(keep, now, rows);
  }
  store::Result<void> check_writable() override {
    if (!plug_->passes()) return gone();
    return inner_.check_writable();
  }

 private:
  store::Writer& inner_;
  SharedHistory& history_;
  std::shared_ptr<Plug> plug_;
};

class PluggedStore : public store::Store {
 public:
  PluggedStore(std::unique_ptr<store::Store> inner, SharedHistory& history,
               const std::shared_ptr<Plug>& plug)
      : inner_(std::move(inner)), writer_(inner_->writer(), history, plug) {}

  store::Writer& writer() override { return writer_; }
  bool is_ours_alone() const override { return inner_->is_ours_alone(); }
  void watch(std::function<void()> may_be_free) override { inner_->watch(std::move(may_be_free)); }
  store::Result<std::unique_ptr<store::Reader>> reader() override { return inner_->reader(); }

 private:
  std::unique_ptr<store::Store> inner_;
  PluggedWriter writer_;
};

}  // namespace

std::unique_ptr<store::Store> record(std::unique_ptr<store::Store> inner, SharedHistory& history,
                                     std::shared_ptr<Plug> plug) {
  return std::make_unique<PluggedStore>(std::move(inner), history, plug);
}

}  // namespace vortex::chaos
