// What the engine orders, done: jobs for the committer, answers for those who wait, and a line in
// the log of the process for what people should know.

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "controller/engine_shell.h"

namespace vortex::controller {

namespace lead = core::lead;

namespace {

constexpr std::uint32_t kExpireAtOnce = 500;
constexpr std::uint32_t kSweepRows = 2'000;

// A refusal of the store as the leadership sees it.
template <class Answer>
Answer refused(const store::Error& error) {
  if (error.fault == store::Fault::kUnknown) return lead::Unknown{};
  return lead::Unavailable{};
}

decltype(lead::AcquireAnswer::result) answer_to(const store::Result<store::AcquireAnswer>& result) {
  using Answer = decltype(lead::AcquireAnswer::result);
  if (!result) return refused<Answer>(result.error());
  if (const auto* won = std::get_if<store::Won>(&*result)) {
    return lead::Won{won->term, won->database_now};
  }
  const auto& other = std::get<store::HeldByOther>(*result);
  return lead::HeldByOther{other.holder, other.remaining};
}

engine::CommitEnded ended(std::uint64_t number, const store::Result<void>& result) {
  using How = engine::CommitEnded::How;
  if (result) return {number, How::kDone};
  const store::Error& error = result.error();
  if (error.fault == store::Fault::kFull) return {number, How::kFull, error.detail};
  if (error.fault == store::Fault::kFenced) return {number, How::kFenced, error.detail};
  return {number, How::kInDoubt, error.detail};
}

template <class T>
std::expected<T, std::string> or_why(store::Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error().detail));
  return std::move(*result);
}

std::string_view to_text(lead::StepDown::Why why) {
  using Why = lead::StepDown::Why;
  switch (why) {
    case Why::kOwnClock:
      return "the lease may expire before it is renewed";
    case Why::kLost:
      return "another controller is the leader";
    case Why::kFenceLost:
      return "a write found a newer term";
    case Why::kCommitUnknown:
      return "memory may differ from the database";
    case Why::kReloadFailed:
      return "loading the state failed";
    case Why::kStopped:
      return "it was asked to stop";
  }
  return "";
}

api::UnservedError error_of(engine::Unserved why) {
  switch (why) {
    case engine::Unserved::kNotLeader:
      break;
    case engine::Unserved::kNoSpace:
      return {api::Unserved::kNoSpace, "the disk under the database is almost full", seconds(5)};
    case engine::Unserved::kInDoubt:
      return {api::Unserved::kUnknown,
              "the connection to the store was lost during the write: it may have taken effect",
              millis(500)};
  }
  return {api::Unserved::kNotLeader, "this controller is not the leader", millis(500)};
}

}  // namespace

void EngineShell::perform(lead::TryAcquire& order) {
  committer_.post([this, order](store::Writer& writer) {
    const auto result = writer.acquire({order.me, url_}, order.lease);
    if (!result) note_outage(result.error());
    if (const auto line = result ? outage_.worked(boot_clock_now()) : std::nullopt) {
      outlet_.say(LogLevel::kInfo, *line);
    }
    tell(lead::Input{lead::AcquireAnswer{order.call, answer_to(result)}});
  });
}

void EngineShell::note_outage(const store::Error& error) {
  set_trouble("cannot write to the database: " + error.detail);
  const auto line = outage_.failed(boot_clock_now(), "cannot become the leader: " + error.detail);
  if (line) outlet_.say(LogLevel::kError, *line);
  // The reserve lets a controller start on a full disk and finish what is running.
  if (error.fault == store::Fault::kFull) outlet_.make_space();
}

void EngineShell::perform(lead::Renew& order) {
  using Answer = decltype(lead::RenewAnswer::result);
  committer_.post([this, order](store::Writer& writer) {
    const auto result = writer.renew(order.term, order.lease);
    Answer answer = lead::Renewed{};
    if (!result) {
      const bool lost = result.error().fault == store::Fault::kFenced;
      answer = lost ? Answer{lead::Lost{}} : refused<Answer>(result.error());
    }
    tell(lead::Input{lead::RenewAnswer{order.call, answer}});
  });
}

void EngineShell::perform(lead::Release& order) {
  committer_.post([term = order.term](store::Writer& writer) { writer.release(term); });
}

void EngineShell::perform(engine::WriteBatch& order) {
  committer_.post([this, order](store::Writer& writer) {
    const Instant begin = boot_clock_now();
    const auto result = writer.commit(order.batch->commit());
    last_commit_done_ = result.has_value();
    fault_point("after_commit");
    engine::CommitEnded end = ended(order.number, result);
    end.took = boot_clock_now() - begin;
    tell(std::move(end));
  });
}

void EngineShell::perform(engine::MakeSpace&) { tell(engine::SpaceMade{outlet_.make_space()}); }

void EngineShell::perform(engine::ReleaseBatch& order) {
  engine::Batch& batch = *order.batch;
  if (!batch.writes_nothing()) {
    store_well_ = true;
    last_commit_us_ = boot_clock_now().us;
    fault_point("before_reply");
  }
  for (core::Reply& reply : batch.replies) {
    waiters_.answer(reply.request, std::move(reply.body));
  }
  for (const core::Probe& probe : batch.probes) outlet_.probe(probe);
  if (batch.self_check) outlet_.self_check();
  outlet_.committed(batch, order.took);
}

void EngineShell::perform(engine::LoadImage& order) {
  term_ = order.term.value;
  clock_offset_us_ = (order.clock.database_at_start - order.clock.boot_at_start).us;
  committer_.post([this, term = order.term](store::Writer& writer) {
    last_commit_done_ = true;
    tell(engine::ImageRead{term, or_why(writer.image())});
  });
}

void EngineShell::perform(engine::ReadRun& order) {
  committer_.post([this, order](store::Writer& writer) {
    tell(engine::RunRead{order.term, or_why(writer.run_image(order.run))});
  });
}

void EngineShell::perform(engine::FindExpirable& order) {
  committer_.post([this, order](store::Writer& writer) {
    engine::Expirable found{order.term, {}};
    auto runs = writer.expirable(config_.retention, order.now, kExpireAtOnce);
    if (runs) found.runs = std::move(*runs);
    const auto more = writer.sweep(config_.retention, order.now, kSweepRows);
    if (!found.runs.empty() || more.value_or(false)) tell(std::move(found));
  });
}

void EngineShell::perform(engine::TakeSlice& order) {
  if (order.first) {
    std::set<RunId> set_aside;
    for (const DamagedRow& row : damaged()) set_aside.insert(row.run);
    audit_.begin(std::move(set_aside));
  }
  const Instant begin = boot_clock_now();
  Audit::Compare compare = audit_.slice(*engine_.state());
  audit_.add({}, boot_clock_now() - begin);
  if (!compare) return end_slice(order.term);
  committer_.post([this, term = order.term, compare = std::move(compare)](store::Writer&) {
    SliceCompared result{term, {}, {}};
    if (!audit_reader_) {
      if (auto reader = config_.open_reader()) audit_reader_ = std::move(*reader);
    }
    // After a failed commit the database lacks what the slice was taken with.
    if (audit_reader_ && last_commit_done_) {
      const Instant started = boot_clock_now();
      result.findings = compare(*audit_reader_);
      result.took = boot_clock_now() - started;
    }
    inbox_.notice(std::move(result));
  });
}

void EngineShell::take(SliceCompared& compared) {
  if (!audit_.is_active() || compared.term != term()) return;  // of a check that was dropped
  audit_.add(std::move(compared.findings), compared.took);
  end_slice(compared.term);
}

void EngineShell::end_slice(Term term) {
  engine::SliceChecked checked{term, audit_.is_complete(), {}};
  if (checked.last) {
    report_ = audit_.take_report();
    checked.findings = report_.findings;
  }
  tell(std::move(checked));
}

void EngineShell::perform(engine::CheckEnded& order) {
  report_.reloaded = order.reloads;
  outlet_.audited(report_);
  for (const std::string& what : order.findings) {
    outlet_.say(LogLevel::kError, "the thorough check found: " + what);
  }
  for (auto& done : std::exchange(audit_waiters_, {})) done(report_);
}

void EngineShell::drop_audit() {
  audit_.drop();
  for (auto& done : std::exchange(audit_waiters_, {})) {
    done(std::unexpected(api::UnservedError{
        api::Unserved::kNotLeader, "the state was reloaded during the check", millis(500)}));
  }
}

void EngineShell::turn_away(Asked& asked) {
  if (auto* peek = std::get_if<Peek>(&asked)) return peek->peek(nullptr, {});
  const api::UnservedError error = error_of(engine::Unserved::kNotLeader);
  if (auto* check = std::get_if<ReconcileAsked>(&asked)) {
    return check->done(std::unexpected(error));
  }
  waiters_.answer(engine::request_of(std::get<engine::Asked>(asked)), std::unexpected(error));
}

void EngineShell::perform(engine::Refuse& order) {
  waiters_.answer(order.request, std::unexpected(error_of(order.why)));
}

void EngineShell::perform(engine::RefuseAll& order) {
  serves_ = false;
  for (Asked& asked : std::exchange(taken_, {})) turn_away(asked);
  for (Asked& asked : inbox_.drop_asked()) turn_away(asked);
  waiters_.answer_all(error_of(order.why));
  drop_audit();
}

void EngineShell::perform(engine::Loaded& order) {
  outlet_.say(LogLevel::kInfo, fmt::format("term {}: loaded the state; live runs: {}, workers: {}",
                                           order.term.value, order.runs, order.workers));
  set_damaged(std::move(order.damaged));
  outlet_.loaded(order.last_event);
}

void EngineShell::perform(engine::LoadFailed& order) {
  set_trouble("loading the state failed: " + order.why);
  outlet_.say(LogLevel::kError, "loading the state failed: " + order.why);
}

void EngineShell::perform(engine::Serves& order) {
  outlet_.say(LogLevel::kInfo, fmt::format("leading (term {})", order.term.value));
  set_trouble({});
  store_well_ = true;
  serves_ = true;
}

void EngineShell::perform(engine::SteppedDown& order) {
  const bool asked = order.why == lead::StepDown::Why::kStopped;
  outlet_.say(
      asked ? LogLevel::kInfo : LogLevel::kWarn,
      fmt::format("giving up leadership (term {}): {}", order.term.value, to_text(order.why)));
}

void EngineShell::perform(engine::Doubts& order) {
  store_well_ = false;
  outlet_.say(LogLevel::kError, fmt::format("reloading the state: {}", order.why));
}

void EngineShell::perform(engine::FoundFenced& order) {
  outlet_.say(LogLevel::kWarn, "another controller is the leader: " + order.detail);
}

void EngineShell::perform(engine::FoundBroken& order) {
  for (const std::string& what : order.findings) outlet_.say(LogLevel::kError, "found: " + what);
}

void EngineShell::perform(engine::StoreStalls& order) { store_well_ = !order.stalls; }

void EngineShell::set_damaged(std::vector<DamagedRow> rows) {
  for (const DamagedRow& row : rows) {
    const std::string what =
        row.run.value == 0 ? "left out" : fmt::format("{} is set aside", vortex::to_text(row.run));
    outlet_.say(LogLevel::kError, fmt::format("damaged, {}: {}", what, vortex::to_text(row)));
  }
  const std::scoped_lock lock(told_guard_);
  damaged_ = std::move(rows);
}

}  // namespace vortex::controller
