#include "tests/agent/walk.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "tests/agent/harness.h"

namespace vortex::agent {

namespace {

constexpr Duration kKill = seconds(15);
constexpr Instant kFaultsUntil{seconds(600).us};
constexpr Instant kUntil{seconds(1500).us};

AgentConfig config_of(std::uint64_t seed) {
  AgentConfig config;
  config.info.id = WorkerId{"w1"};
  config.info.slots = 4;
  config.incarnation = Incarnation{1};
  config.controllers = 2;
  config.seed = seed;
  return config;
}

}  // namespace

Walk::Walk(std::uint64_t seed) : rng_(seed), agent_(config_of(seed)) {
  for (std::uint32_t i = 0; i < 40; ++i) queued_[{RunId{1}, i}] = Epoch{1};
}

void Walk::run() {
  feed(Start{});
  while (now_ < kUntil && wrong_.empty()) {
    if (faults_ && now_ >= kFaultsUntil) faults_ = false;
    if (faults_ && rng_.chance(2)) cut_until_ = now_ + rng_.between(Duration{}, seconds(90));
    const Instant wake = agent_.next_wake();
    if (!events_.empty() && events_.begin()->first <= wake) {
      auto event = events_.extract(events_.begin());
      now_ = std::max(now_, event.key());
      event.mapped()();
    } else {
      now_ = std::max(now_, wake);
      feed(Tick{});
    }
  }
}

void Walk::after(Duration delay, std::function<void()> act) {
  events_.emplace(now_ + delay, std::move(act));
}

void Walk::feed(Input input) {
  digest_.add(input.index());
  Outbox out = agent_.on(std::move(input), now_);
  for (Output& output : out) {
    digest_.add(output.index());
    digest_.add(static_cast<std::uint64_t>(now_.us));
    obey(output);
  }
  if (agent_.next_wake() <= now_) wrong_.emplace_back("the agent spins");
}

void Walk::obey(Output& output) {
  if (const auto* call = std::get_if<SendRegister>(&output)) return send(*call);
  if (const auto* call = std::get_if<SendSync>(&output)) return send(*call);
  if (const auto* begin = std::get_if<StartProcess>(&output)) return start(begin->assignment);
  if (const auto* order = std::get_if<KillProcess>(&output)) {
    if (order->why == KillWhy::kSelfFenced) ++fenced_;
    return kill(order->attempt);
  }
  wrong_.emplace_back("exited without being asked to");
}

// The network. An answer may come twice; a call without one fails at its time limit.
void Walk::carry(CallId call, Duration limit, std::function<Served()> serve) {
  const auto delay = [this] {
    return rng_.between(micros(100), faults_ ? millis(400) : millis(5));
  };
  const auto lost = [this] { return now_ < cut_until_ || (faults_ && rng_.chance(50)); };
  after(limit, [this, call] { feed(CallFailed{call, {}, {}}); });
  if (lost()) return;
  after(delay(), [this, delay, lost, serve = std::move(serve)] {
    const Served served = serve();
    after(served.parked, [this, delay, lost, make = served.answer] {
      const auto answer = std::make_shared<Input>(make());
      if (lost()) return;
      after(delay(), [this, answer] { feed(*answer); });
      if (faults_ && rng_.chance(100)) after(delay(), [this, answer] { feed(*answer); });
    });
  });
}

void Walk::send(const SendRegister& call) {
  carry(call.call, call.time_limit, [this, call] {
    const Input answer = on_register(call);
    return Served{{}, [answer] { return answer; }};
  });
}

void Walk::send(const SendSync& call) {
  carry(call.call, call.time_limit, [this, call] { return on_sync(call); });
}

void Walk::start(const Assignment& assignment) {
  const Attempt attempt = assignment.attempt;
  if (!ever_started_.insert(attempt).second) wrong_.emplace_back("an epoch was started twice");
  for (const Attempt other : alive_) {
    if (other.task == attempt.task) wrong_.emplace_back("two processes of one task");
  }
  alive_.insert(attempt);
  after(rng_.between(Duration{}, millis(50)), [this, attempt] {
    if (!alive_.contains(attempt)) return;
    feed(ProcessStarted{attempt});
    after(rng_.between(Duration{}, seconds(70)), [this, attempt] {
      if (dying_.contains(attempt)) return;
      end(attempt, rng_.chance(100) ? ProcessExited{attempt, Failed{}}
                                    : ProcessExited{attempt, Completed{}});
    });
  });
}

void Walk::kill(Attempt attempt) {
  dying_.insert(attempt);
  after(rng_.between(Duration{}, kKill),
        [this, attempt] { end(attempt, ProcessExited{attempt, Killed{}}); });
}

void Walk::end(Attempt attempt, ProcessExited exited) {
  if (alive_.erase(attempt) > 0) feed(std::move(exited));
}

Input Walk::on_register(const SendRegister& call) {
  if (call.incarnation < incarnation_ || (call.incarnation == incarnation_ && !session_)) {
    return RegisterAnswer{call.call, RegisterRefused{incarnation_}};
  }
  if (call.incarnation > incarnation_) {
    for (const auto& [task, offer] : std::map(out_)) requeue(task);
    last_seq_ = 0;
    replies_ = 0;
  }
  incarnation_ = call.incarnation;
  session_ = true;
  end_lease(heard_ = now_);
  return RegisterAnswer{call.call, RegisterAccepted{Term{1}, kLease}};
}

// The lease: silence for L takes everything away, and nothing of it may still run.
void Walk::end_lease(Instant heard) {
  after(kLease, [this, heard] {
    if (heard != heard_ || !session_) return;
    session_ = false;
    for (const auto& [task, offer] : std::map(out_)) {
      if (alive_.contains({task, offer.epoch})) wrong_.emplace_back("runs on after its lease");
      requeue(task);
    }
  });
}

void Walk::requeue(TaskId task) {
  queued_[task] = out_.at(task).epoch.next();
  out_.erase(task);
}

Walk::Served Walk::on_sync(const SendSync& call) {
  const auto refuse = [&](SyncRefusal::Why why) {
    const Input answer = SyncAnswer{call.call, SyncRefusal{why, incarnation_}};
    return Served{{}, [answer] { return answer; }};
  };
  if (call.request.incarnation < incarnation_) return refuse(SyncRefusal::Why::kStaleIncarnation);
  if (!session_) return refuse(SyncRefusal::Why::kSessionEnded);
  if (call.request.seq <= last_seq_) return refuse(SyncRefusal::Why::kOldMessage);
  last_seq_ = call.request.seq;
  end_lease(heard_ = now_);
  take_reports(call.request);
  check_list(call.request);
  const Duration parked = rng_.between(Duration{}, call.request.wait);
  return {parked, [this, call]() -> Input {
            const bool over = !session_ || call.request.incarnation != incarnation_;
            if (!over) return SyncAnswer{call.call, reply_to(call.request)};
            return SyncAnswer{call.call, SyncRefusal{SyncRefusal::Why::kSessionEnded, {}}};
          }};
}

// What it acknowledged and we still count on, it must list.
void Walk::check_list(const SyncRequest& request) {
  if (!request.held) return;
  for (const auto& [task, offer] : out_) {
    const Attempt wanted{task, offer.epoch};
    const bool listed = std::any_of(request.held->begin(), request.held->end(),
                                    [&](const HeldTask& held) { return held.attempt == wanted; });
    if (offer.first_reply <= request.ack.reply && !listed) {
      wrong_.emplace_back("an acknowledged assignment is not listed");
    }
  }
}

void Walk::take_reports(const SyncRequest& request) {
  for (const Report& report : request.reports) {
    const auto it = out_.find(report.attempt.task);
    if (it == out_.end() || it->second.epoch != report.attempt.epoch) continue;
    if (std::holds_alternative<Completed>(report.body)) {
      out_.erase(it);
    } else if (is_end(report.body)) {
      requeue(report.attempt.task);
    }
  }
}

SyncReply Walk::reply_to(const SyncRequest& request) {
  SyncReply reply;
  reply.mark = {Term{1}, ++replies_};
  reply.seq_seen = last_seq_;
  reply.lease = kLease;
  for (const HeldTask& held : request.held.value_or(std::vector<HeldTask>{})) {
    const auto it = out_.find(held.attempt.task);
    const bool current = it != out_.end() && it->second.epoch == held.attempt.epoch;
    if (!current) reply.stale.push_back(held.attempt);
  }
  while (out_.size() < request.slots && !queued_.empty()) {
    const auto [task, epoch] = *queued_.begin();
    queued_.erase(queued_.begin());
    out_[task] = {epoch, replies_};
  }
  for (const auto& [task, offer] : out_) {
    if (offer.first_reply <= request.ack.reply) continue;
    Assignment assignment;
    assignment.attempt = {task, offer.epoch};
    reply.assignments.push_back(assignment);
  }
  return reply;
}

}  // namespace vortex::agent
