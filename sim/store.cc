#include "sim/store.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace vortex::sim {

namespace {

constexpr std::int64_t kLongPatience = 20;  // in time limits

}  // namespace

SimStore::SimStore(Agenda& agenda, Network& network, Recorder& recorder, const Setup& setup,
                   Rng rng)
    : agenda_(agenda),
      network_(network),
      recorder_(recorder),
      setup_(setup),
      strength_(setup.store),
      rng_(rng),
      clock_(setup.store_clock) {}

void SimStore::commit(HostId from, std::shared_ptr<const engine::Batch> batch,
                      const CommitDone& done) {
  Question question;
  question.from = from;
  question.serve = [batch = std::move(batch), done](SimStore& store) -> Answer {
    const CommitOutcome outcome = store.apply(*batch);
    return [done, outcome] { done(outcome); };
  };
  question.refused = [done] { done(CommitOutcome::kRefused); };
  question.in_doubt = [done] { done(CommitOutcome::kUnknown); };
  ask(std::move(question));
}

void SimStore::ask(Question question) {
  auto exchange = std::make_shared<Exchange>(Exchange{std::move(question), false});
  network_.send(exchange->question.from, setup_.store_host(),
                [this, exchange] { arrive(exchange); });
  const bool long_wait = exchange->question.patience == Patience::kLong;
  agenda_.after(setup_.timings.store_limit * (long_wait ? kLongPatience : 1), [exchange] {
    if (exchange->settled) return;
    exchange->settled = true;
    exchange->question.in_doubt();
  });
}

void SimStore::arrive(const ExchangePtr& exchange) {
  if (outages_ > 0) {
    if (outage_how_ == Outage::kRefuses) answer(exchange, exchange->question.refused);
    return;
  }
  if (stalls_ > 0) {
    stalled_.push_back(exchange);
    return;
  }
  const Duration latency = rng_.between(strength_.latency_min, strength_.latency_max);
  agenda_.after(latency, [this, exchange, session = session_] { perform(exchange, session); });
}

void SimStore::perform(const ExchangePtr& exchange, std::uint64_t session) {
  if (outages_ > 0 || session != session_) {
    // The session ended under it. Its last words may or may not have got through before.
    if (rng_.chance(500)) exchange->question.serve(*this);
    return answer(exchange, exchange->question.in_doubt);
  }
  Answer with = exchange->question.serve(*this);
  if (rng_.chance(strength_.lost_answer_permille)) return;
  const bool large = exchange->question.patience == Patience::kLong;
  if (!large || strength_.transfer_max <= Duration{}) return answer(exchange, std::move(with));
  agenda_.after(rng_.between(Duration{}, strength_.transfer_max),
                [this, exchange, with] { answer(exchange, with); });
}

void SimStore::answer(const ExchangePtr& exchange, Answer with) {
  network_.send(setup_.store_host(), exchange->question.from, [exchange, with = std::move(with)] {
    if (exchange->settled) return;
    exchange->settled = true;
    with();
  });
}

CommitOutcome SimStore::apply(const engine::Batch& batch) {
  const Commit& commit = batch.commit();
  const bool fenced = commit.term != leader_.term;
  if (fenced && !planted(PlantedBug::kTwoControllersRecover)) return CommitOutcome::kFenced;
  if (fulls_ > 0) return CommitOutcome::kFull;
  if (rng_.chance(strength_.abort_permille)) return CommitOutcome::kRefused;
  newest_ = std::max(newest_, commit.now);
  tables_.apply(commit.rows);
  tables_.forget(commit.expired);
  recorder_.fact(Committed{commit.term, commit.now, commit.rows, batch.events, commit.expired});
  return CommitOutcome::kCommitted;
}

std::optional<SimStore::Tenure> SimStore::acquire(const ControllerId& who, Duration lease) {
  const bool held = !leader_.holder.empty() && leader_.expires_at > database_now();
  if (held && leader_.holder != who) return std::nullopt;
  leader_ = {who, leader_.term.next(), database_now() + lease};
  newest_ = std::max(newest_ + micros(1), database_now());
  return Tenure{leader_.term, newest_};
}

bool SimStore::renew(Term term, Duration lease) {
  if (leader_.term != term) return false;
  leader_.expires_at = database_now() + lease;
  return true;
}

void SimStore::free_lease(Term term) {
  if (leader_.term != term || leader_.holder.empty()) return;
  leader_.holder = ControllerId{};
  if (on_free) on_free();
}

void SimStore::outage(bool on, Outage how) {
  if (on) {
    ++outages_;
    outage_how_ = how;
    cut_sessions();
  } else if (outages_ > 0) {
    --outages_;
  }
}

void SimStore::stall(bool on) {
  if (on) {
    ++stalls_;
    return;
  }
  if (stalls_ > 0) --stalls_;
  if (stalls_ > 0) return;
  for (const ExchangePtr& exchange : std::exchange(stalled_, {})) arrive(exchange);
}

void SimStore::full(bool on) {
  if (on) {
    ++fulls_;
  } else if (fulls_ > 0) {
    --fulls_;
  }
}

void SimStore::heal() {
  outages_ = 0;
  fulls_ = 0;
  stalls_ = 1;
  stall(false);
  strength_ = StoreStrength{};
}

}  // namespace vortex::sim
