// What the engine orders, done in the simulated world. Everything that crosses the network or waits
// for the store comes back later, as something new that is told.

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "sim/controller.h"

namespace vortex::sim {

namespace lead = core::lead;

namespace {

// Controllers are called c0, c1, c2.
std::optional<std::uint32_t> index_of(const ControllerId& id) {
  std::uint32_t index = 0;
  const char* end = id.text.data() + id.text.size();
  if (id.text.size() < 2) return std::nullopt;
  if (std::from_chars(id.text.data() + 1, end, index).ptr != end) return std::nullopt;
  return index;
}

engine::CommitEnded ended(std::uint64_t number, CommitOutcome outcome) {
  using How = engine::CommitEnded::How;
  switch (outcome) {
    case CommitOutcome::kCommitted:
      return {number, How::kDone};
    case CommitOutcome::kFull:
      return {number, How::kFull, "no space"};
    case CommitOutcome::kFenced:
      return {number, How::kFenced, "another term"};
    case CommitOutcome::kRefused:
      return {number, How::kInDoubt, "a commit was refused"};
    case CommitOutcome::kUnknown:
      break;
  }
  return {number, How::kInDoubt, "the outcome of a commit is unknown"};
}

constexpr std::uint32_t kReservePermille = 300;  // that giving up the reserve makes space

}  // namespace

void Controller::perform(const lead::TryAcquire& order) {
  using Answer = decltype(lead::AcquireAnswer::result);
  const auto tell_answer = telling([this, call = order.call](const Answer& answer) {
    if (const auto* other = std::get_if<lead::HeldByOther>(&answer)) {
      known_leader_ = index_of(other->holder);
    }
    return lead::Input{lead::AcquireAnswer{call, answer}};
  });
  const auto serve = [tell_answer, order](SimStore& store) -> SimStore::Answer {
    Answer answer = lead::Unavailable{};
    if (!store.is_full()) {
      if (const auto won = store.acquire(order.me, order.lease)) {
        answer = lead::Won{won->term, won->database_now};
      } else {
        const LeaderRow& row = store.leader();
        answer = lead::HeldByOther{row.holder, row.expires_at - store.database_now()};
      }
    }
    return [tell_answer, answer] { tell_answer(answer); };
  };
  scene_.store.ask({host_, serve, [tell_answer] { tell_answer(Answer{lead::Unavailable{}}); },
                    [tell_answer] { tell_answer(Answer{lead::Unknown{}}); }});
}

void Controller::perform(const lead::Renew& order) {
  using Answer = decltype(lead::RenewAnswer::result);
  const auto tell_answer = telling([call = order.call](const Answer& answer) {
    return lead::Input{lead::RenewAnswer{call, answer}};
  });
  const auto serve = [tell_answer, order](SimStore& store) -> SimStore::Answer {
    Answer answer = lead::Unavailable{};
    if (!store.is_full()) {
      answer =
          store.renew(order.term, order.lease) ? Answer{lead::Renewed{}} : Answer{lead::Lost{}};
    }
    return [tell_answer, answer] { tell_answer(answer); };
  };
  scene_.store.ask({host_, serve, [tell_answer] { tell_answer(Answer{lead::Unavailable{}}); },
                    [tell_answer] { tell_answer(Answer{lead::Unknown{}}); }});
}

void Controller::perform(const lead::Release& order) {
  const auto serve = [term = order.term](SimStore& store) -> SimStore::Answer {
    store.free_lease(term);
    return [] {};
  };
  scene_.store.ask({host_, serve, [] {}, [] {}});
}

void Controller::perform(const engine::WriteBatch& order) {
  if (crashes_here("before a commit")) return;
  scene_.store.commit(host_, order.batch, telling([number = order.number](CommitOutcome outcome) {
                        return ended(number, outcome);
                      }));
}

void Controller::perform(const engine::MakeSpace&) {
  const bool made = rng_.chance(kReservePermille);
  scene_.agenda.after(micros(50), process_.mine([this, made] { tell(engine::SpaceMade{made}); }));
}

void Controller::perform(const engine::ReleaseBatch& order) {
  const engine::Batch& batch = *order.batch;
  const bool wrote = !batch.writes_nothing();
  if (wrote && crashes_here("between a commit and its replies")) return;
  bool first = true;
  for (const core::Reply& answer : batch.replies) {
    if (!first && wrote && crashes_here("between two replies")) return;
    first = false;
    reply(answer);
  }
  for (const core::Probe& probe : batch.probes) start_probe(probe);
  if (batch.self_check) start_self_check();
}

void Controller::reply(const core::Reply& answer) {
  const auto it = waiters_.find(answer.request);
  if (it == waiters_.end()) return;
  scene_.board.answer(it->second.line, answer.body);
  waiters_.erase(it);
}

// Loading takes as long as it takes: the answer may come when this term is long over.
void Controller::perform(const engine::LoadImage& order) {
  term_ = order.term;
  using ImagePtr = std::shared_ptr<const StoreImage>;  // null: it could not be read
  const auto tell_image = telling([term = order.term](const ImagePtr& image) {
    if (!image) return engine::ImageRead{term, std::unexpected(std::string("no answer"))};
    return engine::ImageRead{term, *image};
  });
  const auto serve = [tell_image](SimStore& store) -> SimStore::Answer {
    auto image = std::make_shared<const StoreImage>(store.tables().image());
    return [tell_image, image] { tell_image(image); };
  };
  const auto failed = [tell_image] { tell_image(ImagePtr{}); };
  scene_.store.ask({host_, serve, failed, failed, SimStore::Patience::kLong});
}

void Controller::perform(const engine::ReadRun& order) {
  using Image = std::expected<std::optional<RunImage>, std::string>;
  using ImagePtr = std::shared_ptr<const Image>;
  const auto tell_image =
      telling([term = order.term](const ImagePtr& image) { return engine::RunRead{term, *image}; });
  const auto serve = [tell_image, run = order.run](SimStore& store) -> SimStore::Answer {
    auto image = std::make_shared<const Image>(store.tables().run_image(run));
    return [tell_image, image] { tell_image(image); };
  };
  const auto failed = [tell_image] {
    tell_image(std::make_shared<const Image>(std::unexpected("a finished run could not be read")));
  };
  scene_.store.ask({host_, serve, failed, failed});
}

void Controller::perform(const engine::FindExpirable& order) {
  const auto& keep = scene_.setup.retention;
  if (!keep) return;
  using Runs = std::vector<ExpiredRun>;
  const auto tell_found =
      telling([term = order.term](const Runs& runs) { return engine::Expirable{term, runs}; });
  const auto serve = [tell_found, keep, now = order.now](SimStore& store) -> SimStore::Answer {
    const Runs runs = store.tables().expirable(*keep, now);
    const bool more = !store.is_full() && store.sweep(keep->sweep_rows);
    if (runs.empty() && !more) return [] {};
    return [tell_found, runs] { tell_found(runs); };
  };
  scene_.store.ask({host_, serve, [] {}, [] {}});
}

void Controller::perform(const engine::TakeSlice& order) {
  check_thoroughly();
  scene_.agenda.after(micros(100), process_.mine([this, term = order.term] {
    tell(engine::SliceChecked{term, true, {}});
  }));
}

void Controller::perform(const engine::CheckEnded&) {}

void Controller::perform(const engine::Refuse& order) {
  const auto it = waiters_.find(order.request);
  if (it == waiters_.end()) return;
  scene_.board.answer(it->second.line, NotLeader{});
  waiters_.erase(it);
}

void Controller::perform(const engine::RefuseAll& order) {
  for (const core::Command& command : std::exchange(inbox_, {})) {
    perform(engine::Refuse{engine::request_of(command), engine::Unserved::kNotLeader});
  }
  for (const auto& [request, waiter] : std::exchange(waiters_, {})) {
    if (order.why == engine::Unserved::kInDoubt) {
      scene_.board.drop(waiter.line);
    } else {
      scene_.board.answer(waiter.line, NotLeader{});
    }
  }
  for (const auto& [line, onward] : std::exchange(passed_on_, {})) scene_.board.hang_up(onward);
}

void Controller::perform(const engine::Loaded& order) {
  scene_.recorder.fact(TermBegan{order.term, engine_->term_now(boot_now())});
}

void Controller::perform(const engine::LoadFailed& order) {
  note(fmt::format("cannot load the state: {}", order.why));
}

void Controller::perform(const engine::Serves& order) {
  note(fmt::format("leads in term {}", order.term.value));
}

void Controller::perform(const engine::SteppedDown& order) {
  note(fmt::format("steps down from term {} ({})", order.term.value, static_cast<int>(order.why)));
}

void Controller::perform(const engine::Doubts& order) {
  note(fmt::format("throws its memory away: {}", order.why));
}

void Controller::perform(const engine::FoundFenced&) { note("finds that somebody else leads"); }

void Controller::perform(const engine::FoundBroken& order) {
  for (const std::string& what : order.findings) {
    scene_.recorder.violation("21 reconciler finds nothing to repair", what);
  }
}

void Controller::perform(const engine::StoreStalls& order) {
  if (order.stalls || state() == nullptr) return;
  scene_.recorder.fact(OutageEnded{state()->term, state()->clock.last_seen()});
}

void Controller::start_probe(const core::Probe& probe) {
  const auto target = find_target_(probe.worker);
  auto done = std::make_shared<bool>(false);
  const auto give_up = process_.mine([this, done, probe] {
    if (std::exchange(*done, true)) return;
    enqueue(core::ProbeResult{probe.worker, probe.incarnation, core::ProbeOutcome::kTimedOut});
  });
  scene_.agenda.after(scene_.setup.timings.policy.heartbeat_interval, give_up);
  if (!target) return;
  scene_.network.send(host_, target->host, [this, target, done, probe] {
    const core::ProbeOutcome outcome = target->answer();
    if (outcome == core::ProbeOutcome::kTimedOut) return;
    scene_.network.send(target->host, host_, process_.mine([this, done, probe, outcome] {
      if (std::exchange(*done, true)) return;
      enqueue(core::ProbeResult{probe.worker, probe.incarnation, outcome});
    }));
  });
}

void Controller::start_self_check() {
  const Duration takes = scene_.setup.timings.policy.heartbeat_interval / 2;
  scene_.agenda.after(takes, process_.mine([this] {
    const HostId store = scene_.setup.store_host();
    const bool reaches_store =
        scene_.network.is_open(host_, store) && scene_.network.is_open(store, host_);
    const bool well =
        scene_.store.is_writable() && reaches_store && !scene_.network.is_isolated(host_);
    enqueue(core::SelfCheckResult{well});
  }));
}

bool Controller::crashes_here(const char* where) {
  if (scene_.faults_stopped) return false;
  const std::uint32_t boundary = scene_.boundaries++;
  const bool planned = scene_.setup.boundary_crash_at == boundary;
  if (!planned && !rng_.chance(scene_.setup.boundary_crash_permille)) return false;
  crash(where);
  const Duration down = rng_.between(millis(50), scene_.setup.timings.policy.worker_lease / 2);
  scene_.agenda.after(down, [this] { boot(); });
  return true;
}

}  // namespace vortex::sim
