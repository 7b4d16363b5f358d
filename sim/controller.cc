#include "sim/controller.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/reached.h"
#include "core/reconcile.h"
#include "sim/fact_text.h"

namespace vortex::sim {

namespace {

// The whole state is checked after this many turns of the engine; every turn would cost too much.
constexpr std::uint32_t kTurnsPerCheck = 40;

void set_request(core::Command& command, RequestId request) {
  std::visit(
      [request](auto& c) {
        if constexpr (requires { c.request; }) c.request = request;
      },
      command);
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

engine::EngineConfig Controller::engine_config() {
  const Timings& timings = scene_.setup.timings;
  engine::EngineConfig config;
  config.me = ControllerId(name_);
  config.policy = timings.policy;
  config.leader_lease = timings.leader_lease;
  config.leader_pace = timings.leader_lease;
  config.commit_stalled = timings.store_stalled;
  if (const auto& keep = scene_.setup.retention) config.retention_interval = keep->interval;
  config.seed = rng_.next();
  config.observe = [this](const core::Command& command, const core::Effects& effects) {
    note_step(command, effects);
  };
  return config;
}

void Controller::boot() {
  if (process_.is_alive()) return;
  process_.begin();
  note("starts");
  known_leader_.reset();
  engine_.emplace(engine_config(), boot_now());
  tell(engine::Turn{});
}

void Controller::crash(std::string_view why) {
  if (!process_.is_alive()) return;
  note(fmt::format("dies {}", why));
  end_process();
  // The database sees the session end, when it can see anything, and frees the lease at once.
  scene_.network.send(host_, scene_.setup.store_host(),
                      [this, term = term_] { scene_.store.free_lease(term); });
}

void Controller::stop(Duration down) {
  process_.run_in(process_.life(), [this, down] {
    note("is asked to stop");
    down_ = down;
    tell(engine::StopRequested{});
  });
}

void Controller::end_process() {
  process_.die();
  engine_.reset();
  turn_due_ = false;
  wake_at_ = kNever;
  inbox_.clear();
  for (const auto& [request, waiter] : std::exchange(waiters_, {})) scene_.board.drop(waiter.line);
  for (const auto& [line, onward] : std::exchange(passed_on_, {})) scene_.board.hang_up(onward);
}

void Controller::hint_free() {
  process_.run_in(process_.life(), [this] { tell(core::lead::Input{core::lead::MayBeFree{}}); });
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
  process_.run_in(
      process_.life(), [this, line](const core::Command& asked) { take(line, asked); }, command);
}

void Controller::line_closed(const LinePtr& line) {
  process_.run_in(process_.life(), [this, line] { close_line(line); });
}

void Controller::take(const LinePtr& line, const core::Command& command) {
  if (!leads()) {
    const bool from_peer = line->caller.value < scene_.setup.controllers;
    const bool knows = known_leader_ && *known_leader_ != index_;
    if (knows && passes_on_ && !from_peer) return pass_on(line, command);
    return scene_.board.answer(line, NotLeader{knows ? known_leader_ : std::nullopt});
  }
  const RequestId request{next_request_++};
  core::Command numbered = command;
  set_request(numbered, request);
  Waiter waiter{line, std::nullopt};
  if (const auto* sync = std::get_if<core::Sync>(&command)) {
    waiter.worker.emplace(sync->body.worker, sync->body.incarnation);
  }
  waiters_.emplace(request, std::move(waiter));
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
    if (const auto& worker = it->second.worker) {
      enqueue(core::ConnectionLost{worker->first, worker->second, it->first});
    }
    it = waiters_.erase(it);
  }
}

void Controller::enqueue(core::Command command) {
  if (!leads()) return;
  inbox_.push_back(std::move(command));
  take_turn_soon();
}

void Controller::take_turn_soon() {
  if (turn_due_) return;
  turn_due_ = true;
  scene_.agenda.after(rng_.between(micros(5), scene_.setup.turn_max), process_.mine([this] {
    turn_due_ = false;
    take_turn();
  }));
}

void Controller::take_turn() {
  for (std::uint32_t n = 0; n < scene_.setup.batch_max; ++n) {
    if (inbox_.empty() || !engine_->wants_asked()) break;
    engine::Asked asked = std::move(inbox_.front());
    inbox_.pop_front();
    if (!carry_out(engine_->on(std::move(asked), boot_now()))) return;
  }
  feed(engine::Turn{});
  if (!engine_) return;
  check_now_and_then();
  if (!inbox_.empty() && engine_->wants_asked()) take_turn_soon();
}

// What came from outside: the turn that follows is a moment later.
void Controller::tell(engine::Input input) {
  feed(std::move(input));
  if (engine_) take_turn_soon();
}

void Controller::feed(engine::Input input) {
  if (!carry_out(engine_->on(std::move(input), boot_now()))) return;
  if (!engine_->is_done()) return arm_wake();
  note("has stopped");
  REACHED("controller stopped on request");
  end_process();
  scene_.agenda.after(down_, [this] { boot(); });
}

// False: it died on the way.
bool Controller::carry_out(engine::Orders orders) {
  const std::uint64_t life = process_.life();
  for (const engine::Order& order : orders) {
    std::visit([this](const auto& what) { perform(what); }, order);
    if (life != process_.life()) return false;
  }
  return true;
}

// One with slow turns takes its time for the next slice of a long piece of work as well.
Duration Controller::turn_takes_least() {
  const Duration most = scene_.setup.turn_max;
  return most > kTurnMax ? rng_.between(micros(5), most) : micros(1);
}

void Controller::arm_wake() {
  const Instant now = scene_.agenda.now();
  const Instant wanted = engine_->next_wake();
  const Instant soonest = now + turn_takes_least();
  const Instant when =
      wanted <= boot_now() ? soonest : std::max(clock_.true_at(wanted), now + micros(1));
  if (wake_at_ > now && wake_at_ <= when) return;
  wake_at_ = when;
  scene_.agenda.at(when, process_.mine([this, when] {
    if (wake_at_ != when) return;
    wake_at_ = kNever;
    take_turn();
  }));
}

void Controller::note_step(const core::Command& command, const core::Effects& effects) {
  Recorder& recorder = scene_.recorder;
  if (recorder.is_tracing() && !std::holds_alternative<core::Tick>(command)) {
    note(describe(command));
  }
  const auto* sync = std::get_if<core::Sync>(&command);
  if (sync == nullptr) return;
  for (const core::Reply& reply : effects.replies) {
    const bool refused = std::holds_alternative<SyncRefusal>(reply.body);
    if (reply.request == sync->request && refused) return;
  }
  const core::State& state = *engine_->state();
  recorder.fact(
      WorkerHeard{state.term, sync->body.worker, sync->body.incarnation, state.clock.last_seen()});
}

void Controller::check_now_and_then() {
  if (++unchecked_ < kTurnsPerCheck) return;
  unchecked_ = 0;
  report_findings(core::Depth::kLight);
}

void Controller::check_thoroughly() { report_findings(core::Depth::kThorough); }

void Controller::report_findings(core::Depth depth) {
  if (state() == nullptr) return;
  for (const core::Finding& finding : core::check_state(*state(), depth)) {
    scene_.recorder.violation("21 reconciler finds nothing to repair", finding.what);
  }
}

}  // namespace vortex::sim
