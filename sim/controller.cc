#include "sim/controller.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/reconcile.h"
#include "core/step.h"
#include "sim/fact_text.h"

namespace vortex::sim {

namespace {

// The whole state is checked after this many engine turns; every turn would cost too much.
constexpr std::uint32_t kTurnsPerCheck = 40;

void set_request(core::Command& command, RequestId request) {
  std::visit(
      [request](auto& c) {
        if constexpr (requires { c.request; }) c.request = request;
      },
      command);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

void append_rows(RowBatch& to, RowBatch& from) {
  append(to.runs, from.runs);
  append(to.tasks, from.tasks);
  append(to.task_data, from.task_data);
  append(to.attempts, from.attempts);
  append(to.workers, from.workers);
  append(to.machines, from.machines);
  append(to.recoveries, from.recoveries);
  append(to.recovery_items, from.recovery_items);
  append(to.dead_letters, from.dead_letters);
  append(to.leases, from.leases);
  append(to.queues, from.queues);
  if (from.counters) to.counters = from.counters;
}

}  // namespace

Controller::Controller(Scene& scene, std::uint32_t index, FindProbeTarget find_target, Rng rng)
    : scene_(scene),
      index_(index),
      host_(scene.setup.controller_host(index)),
      clock_(scene.setup.controller_clocks[index]),
      find_target_(std::move(find_target)),
      rng_(rng),
      name_(fmt::format("c{}", index)),
      passes_on_(rng_.chance(400)) {}

void Controller::note(std::string what) { scene_.recorder.note(name_, std::move(what)); }

void Controller::boot() {
  if (process_.is_alive()) return;
  process_.begin();
  note("starts");
  begin_leadership();
}

void Controller::crash(std::string_view why) {
  if (!process_.is_alive()) return;
  note(fmt::format("dies {}", why));
  const Term term = state_ ? state_->term : Term{};
  process_.die();
  engine_due_ = false;
  drop_memory();
  leadership_.reset();
  lead_wake_at_ = kNever;
  // The database sees the session end, when it can see anything, and frees the lease at once.
  scene_.network.send(host_, scene_.setup.store_host(),
                      [this, term] { scene_.store.free_lease(term); });
}

void Controller::pause() {
  if (!process_.runs()) return;
  note("is paused");
  process_.pause();
}

void Controller::resume() {
  if (!process_.is_paused()) return;
  note("continues");
  process_.resume();
}

void Controller::receive(const LinePtr& line, const core::Command& command) {
  process_.run_in(process_.life(), [this, line, command] { take(line, command); });
}

void Controller::line_closed(const LinePtr& line) {
  process_.run_in(process_.life(), [this, line] { close_line(line); });
}

void Controller::take(const LinePtr& line, const core::Command& command) {
  if (!serves_) {
    const bool from_peer = line->caller.value < scene_.setup.controllers;
    const bool knows = known_leader_ && *known_leader_ != index_;
    if (knows && passes_on_ && !from_peer) return pass_on(line, command);
    return scene_.board.answer(line, NotLeader{knows ? known_leader_ : std::nullopt});
  }
  const RequestId request{next_request_++};
  core::Command numbered = command;
  set_request(numbered, request);
  waiters_.emplace(request, Waiter{line, numbered});
  enqueue(std::move(numbered));
}

void Controller::pass_on(const LinePtr& line, const core::Command& command) {
  Duration limit = scene_.setup.timings.client_limit;
  if (const auto* sync = std::get_if<core::Sync>(&command)) limit += sync->body.wait;
  const auto done = [this, line, life = process_.life()](const CallResult& result) {
    process_.run_in(life, [this, line, result] {
      passed_on_.erase(line->id);
      if (std::holds_alternative<NoAnswer>(result)) return scene_.board.drop(line);
      scene_.board.answer(line, result);
    });
  };
  passed_on_[line->id] = scene_.board.call({host_, *known_leader_, command, limit}, done);
}

void Controller::close_line(const LinePtr& line) {
  if (const auto it = passed_on_.find(line->id); it != passed_on_.end()) {
    const LinePtr onward = it->second;
    passed_on_.erase(it);
    scene_.board.hang_up(onward);
  }
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.line != line) {
      ++it;
      continue;
    }
    if (const auto* sync = std::get_if<core::Sync>(&it->second.command)) {
      enqueue(core::ConnectionLost{sync->body.worker, sync->body.incarnation, it->first});
    }
    it = waiters_.erase(it);
  }
}

void Controller::enqueue(core::Command command) {
  inbox_.push_back(std::move(command));
  wake_engine();
}

void Controller::wake_engine() {
  if (engine_due_ || !serves_) return;
  engine_due_ = true;
  scene_.agenda.after(rng_.between(micros(5), micros(500)), process_.mine([this] {
    engine_due_ = false;
    run_engine();
  }));
}

void Controller::run_engine() {
  // Two batches are on their way already, or a finished run is being read: the inbox waits.
  if (!serves_ || waiting_ || reading_image_) return;
  if (!adoptions_.empty()) return adopt_next();
  if (inbox_.empty()) return;
  if (!may_act()) return abandon("the lease to lead is over");
  Batch batch;
  for (std::uint32_t n = 0; n < scene_.setup.batch_max && !inbox_.empty(); ++n) {
    const core::Command command = std::move(inbox_.front());
    inbox_.pop_front();
    if (!step_into(batch, command)) return;
  }
  check_lightly();
  arm_tick();
  submit(std::move(batch));
  if (!inbox_.empty()) wake_engine();
}

bool Controller::step_into(Batch& batch, const core::Command& command) {
  const Instant now = term_now();
  core::Effects effects = core::step(*state_, command, now);
  note_facts(command, effects);
  if (effects.reload) {
    scene_.recorder.violation("21 reconciler finds nothing to repair",
                              "the core asks to be reloaded");
    abandon("the core asks to be reloaded");
    return false;
  }
  if (!batch.request) batch.request = std::make_shared<CommitRequest>();
  batch.request->term = state_->term;
  batch.request->term_now = now;
  append_rows(batch.request->rows, effects.rows);
  append(batch.request->events, effects.events);
  append(batch.replies, effects.replies);
  append(batch.probes, effects.probes);
  batch.self_check = batch.self_check || effects.self_check;
  return true;
}

void Controller::note_facts(const core::Command& command, const core::Effects& effects) {
  Recorder& recorder = scene_.recorder;
  const Instant now = state_->clock.last_seen();
  if (recorder.is_tracing() && !std::holds_alternative<core::Tick>(command)) {
    note(describe(command));
  }
  const auto* sync = std::get_if<core::Sync>(&command);
  if (sync == nullptr) return;
  for (const core::Reply& reply : effects.replies) {
    const bool refused = std::holds_alternative<SyncRefusal>(reply.body);
    if (reply.request == sync->request && refused) return;
  }
  recorder.fact(WorkerHeard{state_->term, sync->body.worker, sync->body.incarnation, now});
}

void Controller::arm_tick() {
  const core::State& state = *state_;
  const Instant now = term_now();
  const Instant wanted = std::min(now + state.policy.sweep, state.next_wake());
  const Duration wait = std::max(wanted - now, micros(1));
  const Instant when = scene_.agenda.now() + clock_.true_span(wait) + micros(1);
  if (tick_at_ > scene_.agenda.now() && tick_at_ <= when) return;
  tick_at_ = when;
  scene_.agenda.at(when, process_.mine([this, when] {
    if (tick_at_ != when || !state_) return;
    tick_at_ = kNever;
    enqueue(core::Tick{});
  }));
}

void Controller::check_lightly() {
  if (++unchecked_ < kTurnsPerCheck) return;
  unchecked_ = 0;
  for (const core::Finding& finding : core::check_state(*state_, core::Depth::kLight)) {
    scene_.recorder.violation("21 reconciler finds nothing to repair", finding.what);
  }
}

void Controller::check_thoroughly() {
  if (!state_) return;
  for (const core::Finding& finding : core::check_state(*state_, core::Depth::kThorough)) {
    scene_.recorder.violation("21 reconciler finds nothing to repair", finding.what);
  }
}

}  // namespace vortex::sim
