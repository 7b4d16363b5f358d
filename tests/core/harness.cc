#include "tests/core/harness.h"

#include <algorithm>

#include "core/load.h"
#include "core/reconcile.h"
#include "core/step.h"
#include "sim/durable.h"

namespace vortex::core {

namespace {

// Far more than a healthy exchange needs: a livelock fails the test instead of hanging it.
constexpr int kRoundsMax = 20'000;

const EventValue* find_field(const Event& event, std::string_view key) {
  for (const EventField& field : event.data) {
    if (key == field.first) return &field.second;
  }
  ADD_FAILURE() << to_text(event.kind) << " has no field " << key;
  return nullptr;
}

}  // namespace

Policy test_policy() {
  Policy policy;
  policy.retry.backoff.jitter_permille = 0;
  return policy;
}

WorkerInfo worker_info(std::string name, std::uint32_t slots) {
  WorkerInfo info;
  info.machine = MachineId("host-of-" + name);
  info.name = name;
  info.id = WorkerId(std::move(name));
  info.slots = slots;
  return info;
}

RetryPolicy retries(std::uint16_t max, Duration delay) {
  RetryPolicy policy;
  policy.max_retries = max;
  policy.backoff = {BackoffKind::kFixed, delay, delay, 0};
  return policy;
}

NodeSpec with_retries(NodeSpec node, std::uint16_t max) {
  node.retry = retries(max);
  return node;
}

std::int64_t number(const Event& event, std::string_view key) {
  const EventValue* value = find_field(event, key);
  return value != nullptr ? std::get<std::int64_t>(*value) : 0;
}

std::string text(const Event& event, std::string_view key) {
  const EventValue* value = find_field(event, key);
  return value != nullptr ? std::get<std::string>(*value) : std::string();
}

bool Hand::holds(Attempt attempt) const {
  return std::any_of(held.begin(), held.end(),
                     [&](const HeldTask& task) { return task.attempt == attempt; });
}

void Hand::drop(Attempt attempt) {
  std::erase_if(held, [&](const HeldTask& task) { return task.attempt == attempt; });
}

void Hand::show(Attempt attempt, Progress progress) {
  for (HeldTask& task : held) {
    if (task.attempt == attempt) task.progress = std::move(progress);
  }
}

World::World(const Policy& p, std::uint64_t seed) : policy(p), seed_(seed) {
  Effects repairs;
  state = std::make_unique<State>(load(policy, Term{1}, now, seed_, StoreImage{}, repairs));
  EXPECT_TRUE(is_empty(repairs.rows) && repairs.events.empty());
}

void World::check_whole_state() {
  if (!expect_clean) return;
  for (const Finding& finding : check_state(*state, Depth::kThorough)) {
    ADD_FAILURE() << "whole-state check: " << finding.what;
  }
}

// Reading all rows again after every step would take too long for the tests with very many of them.
void World::check_reload() {
  constexpr std::uint32_t kRowsMax = 200;
  if (!expect_clean || state->tasks.slots() > kRowsMax || state->journals.size() > kRowsMax) return;
  for (const std::string& told : reload_differences(*state, mirror.image())) {
    ADD_FAILURE() << told;
  }
}

Effects World::raw(const Command& command) {
  Effects fx = core::step(*state, command, now);
  check_whole_state();
  Effects out = fx;
  record(fx);
  check_reload();
  return out;
}

void World::record(Effects& fx) {
  mirror.apply(fx.rows);
  std::move(fx.events.begin(), fx.events.end(), std::back_inserter(events));
  std::move(fx.probes.begin(), fx.probes.end(), std::back_inserter(probes));
  samples.insert(samples.end(), fx.samples.begin(), fx.samples.end());
  self_checks += fx.self_check ? 1 : 0;
  EXPECT_TRUE(expect_reload || !fx.reload) << "the core wants to be loaded again";
  for (Reply& reply : fx.replies) route(std::move(reply));
}

void World::route(Reply reply) {
  const auto call = calls_.find(reply.request);
  if (call == calls_.end()) return replies.push_back(std::move(reply));
  Hand& hand = hands.at(call->second);
  calls_.erase(call);
  if (hand.poll == reply.request) hand.poll = {};
  if (hand.silent) return;
  if (const auto* refusal = std::get_if<SyncRefusal>(&reply.body)) {
    // Whose session is over falls silent; who was only overtaken goes on.
    hand.silent = refusal->why != SyncRefusal::Why::kOldMessage;
    return hand.refusals.push_back(*refusal);
  }
  absorb(hand, std::get<SyncReply>(reply.body));
}

void World::absorb(Hand& hand, const SyncReply& reply) {
  if (reply.mark < hand.ack) return;
  hand.ack = reply.mark;
  if (reply.drain) hand.drain_within = reply.drain_within;
  for (const Assignment& assignment : reply.assignments) {
    if (hand.holds(assignment.attempt)) continue;
    hand.held.push_back({assignment.attempt, std::nullopt});
    hand.assigned.push_back(assignment);
  }
  for (const StopOrder& stop : reply.stops) {
    const auto known = std::find_if(hand.stops.begin(), hand.stops.end(), [&](const auto& s) {
      return s.attempt == stop.attempt && s.why == stop.why;
    });
    if (known == hand.stops.end()) hand.stops.push_back(stop);
  }
  for (const Attempt& stale : reply.stale) {
    hand.drop(stale);
    hand.stale.push_back(stale);
  }
}

bool World::poll_once() {
  for (auto& [name, hand] : hands) {
    if (hand.silent || hand.poll.value != 0 || !hand.refusals.empty()) continue;
    poll(hand);
    return true;
  }
  return false;
}

void World::run_shell() {
  for (int round = 0; round < kRoundsMax; ++round) {
    const bool polled = poll_once();
    const bool wanted = state->next_wake() <= now;
    if (wanted) raw(Tick{});
    if (!polled && !wanted) return;
  }
  ADD_FAILURE() << "the exchange does not come to rest";
}

void World::step(const Command& command) {
  raw(command);
  run_shell();
}

void World::advance(Duration duration) {
  const Instant target = now + duration;
  while (now < target) {
    const Instant wake = std::max(state->next_wake(), now + micros(1));
    now = std::min({target, now + policy.sweep, wake});
    step(Tick{});
  }
}

void World::reload() {
  Effects repairs;
  const Term next = state->term.next();
  state = std::make_unique<State>(load(policy, next, now, ++seed_, mirror.image(), repairs));
  check_whole_state();
  record(repairs);
  calls_.clear();
  for (auto& [name, hand] : hands) hand.poll = {};
  run_shell();
}

Hand& World::join(WorkerInfo info, Incarnation incarnation) {
  Hand& hand = hands[info.id.text];
  hand = Hand{};
  hand.info = info;
  hand.incarnation = incarnation;
  hand.slots = info.slots;
  hand.silent = true;  // until it is registered
  const auto registered = ask<Registered>(RegisterWorker{{}, info, incarnation});
  EXPECT_EQ(registered.lease, policy.worker_lease);
  hand.silent = false;
  run_shell();
  return hand;
}

SyncRequest World::request_of(const Hand& hand) const {
  SyncRequest request;
  request.worker = hand.id();
  request.incarnation = hand.incarnation;
  request.seq = hand.seq + 1;
  request.ack = hand.ack;
  request.slots = hand.slots;
  request.leaving = hand.leaving;
  return request;
}

RequestId World::send(Hand& hand, SyncRequest request) {
  const RequestId id = next_request();
  hand.seq = std::max(hand.seq, request.seq);
  calls_[id] = hand.id().text;
  if (request.wait > Duration{}) hand.poll = id;
  raw(Sync{id, std::move(request)});
  return id;
}

void World::poll(Hand& hand) {
  SyncRequest request = request_of(hand);
  request.wait = policy.heartbeat_interval;
  request.held = hand.held;
  send(hand, std::move(request));
}

void World::report(Hand& hand, std::vector<Report> reports) {
  SyncRequest request = request_of(hand);
  request.reports = std::move(reports);
  const RequestId id = send(hand, std::move(request));
  EXPECT_FALSE(calls_.contains(id)) << "a report was not answered at once";
  run_shell();
}

void World::end(Hand& hand, Attempt attempt, ReportBody how) {
  hand.drop(attempt);
  report(hand, {{attempt, std::move(how)}});
}

Attempt World::take_assignment(Hand& hand) {
  if (hand.assigned.empty()) {
    ADD_FAILURE() << hand.id().text << " was given nothing";
    return {};
  }
  const Attempt attempt = hand.assigned.front().attempt;
  hand.assigned.pop_front();
  return attempt;
}

Attempt World::take_and_start(Hand& hand) {
  const Attempt attempt = take_assignment(hand);
  start(hand, attempt);
  return attempt;
}

StopOrder World::take_stop(Hand& hand) {
  if (hand.stops.empty()) {
    ADD_FAILURE() << hand.id().text << " was not asked to stop anything";
    return {};
  }
  const StopOrder stop = hand.stops.front();
  hand.stops.pop_front();
  return stop;
}

Attempt World::take_stale(Hand& hand) {
  if (hand.stale.empty()) {
    ADD_FAILURE() << hand.id().text << " was told of nothing stale";
    return {};
  }
  const Attempt stale = hand.stale.front();
  hand.stale.pop_front();
  return stale;
}

SyncRefusal::Why World::take_refusal(Hand& hand) {
  if (hand.refusals.empty()) {
    ADD_FAILURE() << "no call of " << hand.id().text << " was refused";
    return SyncRefusal::Why::kMalformed;
  }
  const auto why = hand.refusals.front().why;
  hand.refusals.pop_front();
  return why;
}

void World::kill(Hand& hand) {
  hand.silent = true;
  ask_done(WorkerExited{{}, hand.id(), hand.incarnation});
}

void World::cut(Hand& hand) {
  hand.silent = true;
  const RequestId call = std::exchange(hand.poll, RequestId{});
  EXPECT_NE(call.value, 0u) << "no call of it is open";
  calls_.erase(call);
  step(ConnectionLost{hand.id(), hand.incarnation, call});
}

void World::forget_run(RunId run) {
  mirror.runs.at(run).request = std::make_shared<const RunRequest>();
  std::erase_if(mirror.dead_letters,
                [&](const auto& letter) { return letter.second.attempt.task.run == run; });
}

RunId World::submit(DagSpec spec) {
  SubmitRun command;
  command.dag = std::move(spec);
  return ask<RunAccepted>(std::move(command)).run;
}

Event World::take(EventKind kind) {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [kind](const Event& event) { return event.kind == kind; });
  if (found == events.end()) {
    ADD_FAILURE() << "no event " << to_text(kind);
    return {};
  }
  Event event = *found;
  events.erase(found);
  return event;
}

std::vector<Event> World::take_all(EventKind kind) {
  std::vector<Event> out;
  while (count(kind) > 0) out.push_back(take(kind));
  return out;
}

std::size_t World::count(EventKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [kind](const Event& event) { return event.kind == kind; }));
}

std::vector<Duration> World::measured(Sample::Kind kind, std::string_view label) const {
  std::vector<Duration> values;
  for (const Sample& sample : samples) {
    if (sample.kind == kind && sample.label == label) values.push_back(sample.value);
  }
  return values;
}

Probe World::take_probe() {
  if (probes.empty()) {
    ADD_FAILURE() << "nobody is probed";
    return {};
  }
  Probe probe = probes.front();
  probes.pop_front();
  return probe;
}

void World::take_self_check() {
  EXPECT_GT(self_checks, 0u) << "no self check was asked for";
  self_checks = 0;
}

void World::ignore_ordinary_life() {
  using K = EventKind;
  ignore({K::kWorkerRegistered, K::kWorkerReady, K::kMachineOnline, K::kRunSubmitted,
          K::kRunComplete, K::kTaskClaimed, K::kTaskStarted, K::kTaskComplete, K::kLevelCheck,
          K::kLevelComplete, K::kHealthPass, K::kStateReconcileStart, K::kStateReconcileComplete});
}

void World::ignore_comings_and_goings() {
  using K = EventKind;
  ignore({K::kWorkerCrash, K::kWorkerExit, K::kWorkerOffline, K::kWorkerInactive,
          K::kHeartbeatStale, K::kMachineOffline, K::kTaskRequeued, K::kTaskReassigned});
}

void World::expect_all_taken() {
  if (ignore_all_) return;
  EXPECT_TRUE(replies.empty()) << replies.size() << " replies were not taken";
  EXPECT_TRUE(probes.empty()) << probes.size() << " probes were not taken";
  EXPECT_EQ(self_checks, 0u) << "a self check was not taken";
  for (const Event& event : events) {
    EXPECT_TRUE(ignored_.contains(event.kind)) << "not taken: event " << to_text(event.kind);
  }
  for (const auto& [name, hand] : hands) {
    EXPECT_TRUE(hand.assigned.empty()) << name << ": an assignment was not taken";
    EXPECT_TRUE(hand.stops.empty()) << name << ": an order to stop was not taken";
    EXPECT_TRUE(hand.stale.empty()) << name << ": a stale attempt was not taken";
    EXPECT_TRUE(hand.refusals.empty()) << name << ": a refusal was not taken";
  }
}

}  // namespace vortex::core
