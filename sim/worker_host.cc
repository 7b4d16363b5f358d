#include "sim/worker_host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

agent::Input register_result(agent::CallId call, const CallResult& result,
                             const std::string& session = {}) {
  if (const auto* not_leader = std::get_if<NotLeader>(&result)) {
    agent::CallFailed failed{call, {}, {}};
    if (not_leader->leader) failed.leader = {*not_leader->leader};
    return failed;
  }
  if (const auto* body = std::get_if<core::ReplyBody>(&result)) {
    if (const auto* yes = std::get_if<core::Registered>(body)) {
      return agent::RegisterAnswer{
          call, agent::RegisterAccepted{yes->term, yes->lease, yes->heartbeat_interval,
                                        yes->self_fence, session}};
    }
    const auto* no = std::get_if<core::Refusal>(body);
    if (no && no->kind == core::RefusalKind::kStaleIncarnation && no->incarnation) {
      return agent::RegisterAnswer{call, agent::RegisterRefused{*no->incarnation}};
    }
  }
  return agent::CallFailed{call, {}, {}};
}

}  // namespace

agent::Input sync_result(agent::CallId call, const CallResult& result) {
  if (const auto* body = std::get_if<core::ReplyBody>(&result)) {
    if (const auto* yes = std::get_if<SyncReply>(body)) return agent::SyncAnswer{call, *yes};
    if (const auto* no = std::get_if<SyncRefusal>(body)) return agent::SyncAnswer{call, *no};
  }
  return register_result(call, result);
}

WorkerHost::WorkerHost(Scene& scene, std::uint32_t index, Rng rng)
    : scene_(scene),
      setup_(scene.setup.workers[index]),
      clock_(scene.machine_clocks[setup_.machine]),
      host_(scene.setup.machine_host(setup_.machine)),
      rng_(rng),
      executor_(scene, process_, clock_,
                {.tell = [this](agent::Input input) { feed(std::move(input)); },
                 .poisoned = [this] { crash(); },
                 .upload = [this](Attempt attempt, bool too_large) { upload(attempt, too_large); }},
                rng.fork(1)),
      words_rng_(scene.setup.seed * 1000 + index) {}

void WorkerHost::note(std::string what) { scene_.recorder.note(id().text, std::move(what)); }

void WorkerHost::boot() {
  if (setup_.absent || !host_up_ || supervisor_.is_alive()) return;
  supervisor_.begin();
  // Its journal begins anew with it.
  ++journals_;
  written_ = 0;
  journal_.clear();
  telling_ = false;
  start_process();
}

void WorkerHost::start_process() {
  end_earlier();
  executor_.kill_all();  // nothing of an earlier process may be left
  process_.begin();
  idle_.clear();
  ++starts_;
  // Lives are numbered by a clock: what a process adds by itself never reaches the next one's.
  constexpr std::uint64_t kStride = 100;
  last_incarnation_ = {(last_incarnation_.value / kStride + 1) * kStride};
  const Timings& timings = scene_.setup.timings;
  agent::AgentConfig config;
  config.info = is_other_life() && !scene_.faults_stopped ? *setup_.other : setup_.info;
  config.incarnation = last_incarnation_;
  config.controllers = scene_.setup.controllers;
  config.heartbeat_interval = timings.policy.heartbeat_interval;
  config.self_fence = timings.self_fence;
  config.kill_time = timings.policy.kill_time;
  config.tick = timings.agent_tick;
  config.seed = rng_.next();
  // Some take their tasks for short from the start: they hold work ahead, and are wrong often.
  if (config.seed % 10 < 3) config.assumed_run = millis(2);
  agent_.emplace(std::move(config));
  note(fmt::format("starts as #{}", last_incarnation_.value));
  write_journal(EventKind::kWorkerSpawn, last_incarnation_);
  feed(agent::Start{});
}

void WorkerHost::feed(agent::Input input) {
  if (!agent_) return;
  agent::Outbox outbox = agent_->on(std::move(input), clock_.boot(scene_.agenda.now()));
  executor_.renew(agent_->tasks_until());
  // The agent raises its incarnation itself when a controller has given up the earlier one.
  if (agent_->incarnation() > last_incarnation_) {
    last_incarnation_ = agent_->incarnation();
    // Once the controllers have forgotten both, whichever life comes first is taken at its word.
    if (has_twin_) scene_.recorder.fact(HolderReplaced{id(), last_incarnation_});
  }
  for (agent::Output& output : outbox) {
    if (!agent_) return;
    std::visit([this](auto& order) { perform(order); }, output);
  }
  if (agent_) arm_wake();
}

void WorkerHost::perform(agent::SendRegister& send) {
  // Made by the controller that hears it; what stands for the secret stands for its hash as well.
  const std::string session =
      fmt::format("{}-{}-{}", id().text, send.incarnation.value, send.call.value);
  core::RegisterWorker command{{}, std::move(send.info), send.incarnation, session, {}, "workers"};
  // On record before anybody hears of it.
  if (lives_.empty() || lives_.back() != send.incarnation) lives_.push_back(send.incarnation);
  const auto done = [this, call = send.call, as = send.incarnation, session,
                     life = process_.life()](const CallResult& result) {
    process_.run_in(
        life,
        [this, call, as, session](const CallResult& told) {
          const auto* body = std::get_if<core::ReplyBody>(&told);
          if (body != nullptr && std::holds_alternative<core::Registered>(*body)) {
            sessions_[as] = session;  // on record before anything is said in that life
          }
          feed(register_result(call, told, session));
        },
        result);
  };
  call({send.controller, agent::Channel::kReport, send.call}, {std::move(command), send.time_limit},
       done);
}

// What the checkers hold against the rows: results and checkpoints on their way.
void WorkerHost::tell_results(const SyncRequest& request) const {
  for (const Report& report : request.reports) {
    const bool tells = std::holds_alternative<Completed>(report.body) ||
                       std::holds_alternative<Checkpoint>(report.body);
    if (tells) scene_.recorder.fact(WorkerSaid{id(), request.incarnation, report});
  }
}

void WorkerHost::take_answer(const Exchange& exchange, const CallResult& result) {
  const auto* body = std::get_if<core::ReplyBody>(&result);
  const auto* reply = body != nullptr ? std::get_if<SyncReply>(body) : nullptr;
  if (reply != nullptr && !reply->assignments.empty()) {
    scene_.recorder.fact(WorkerGiven{id(), exchange.as, reply->assignments});
  }
  feed(sync_result(exchange.call, result));
}

void WorkerHost::perform(agent::SendSync& send) {
  send.request.worker_clock = clock_.wall(scene_.agenda.now());
  if (setup_.slack) drop_words(send.request);
  tell_results(send.request);
  core::Sync command{{}, std::move(send.request), std::move(send.session)};
  const Exchange exchange{send.call, command.body.incarnation, send.controller.value};
  const auto done = [this, exchange, life = process_.life()](const CallResult& result) {
    process_.run_in(
        life, [this, exchange](const CallResult& told) { answered(exchange, told); }, result);
  };
  call({send.controller, send.channel, send.call}, {std::move(command), send.time_limit}, done);
}

void WorkerHost::drop_words(SyncRequest& request) const {
  const auto forgotten = [this](const auto& item) { return dropped_.contains(item.attempt); };
  if (request.held) std::erase_if(*request.held, forgotten);
  std::erase_if(request.reports, forgotten);
}

// A connection carries one call at a time, as in the product.
void WorkerHost::call(const CallPlace& place, Outgoing what, const CallDone& done) {
  std::erase_if(lines_, [](const auto& open) { return open.second.line->closed; });
  for (const auto& [other, open] : lines_) {
    if (open.place.controller != place.controller || open.place.channel != place.channel) continue;
    scene_.recorder.violation(
        "one call per connection",
        fmt::format("{}: call {} while {} is under way", id().text, place.call.value, other.value));
  }
  const LinePtr line = scene_.board.call(
      {host_, place.controller.value, std::move(what.command), clock_.true_span(what.time_limit)},
      done);
  lines_.insert_or_assign(place.call, OpenCall{place, line});
}

void WorkerHost::perform(agent::HangUp& hang_up) {
  const auto found = lines_.find(hang_up.call);
  if (found == lines_.end()) return;
  scene_.board.hang_up(found->second.line);
  lines_.erase(found);
}

void WorkerHost::perform(agent::StartProcess& start) {
  if (setup_.slack) {
    idle_.insert(start.assignment.attempt);
    return;
  }
  executor_.serve(id(), agent_->incarnation());
  executor_.start(start.assignment);
}

void WorkerHost::perform(agent::KillProcess& kill) {
  if (idle_.erase(kill.attempt) == 0) return executor_.kill(kill.attempt);
  dropped_.insert(kill.attempt);
  scene_.agenda.after(micros(1), process_.mine([this, attempt = kill.attempt] {
    feed(agent::ProcessExited{attempt, agent::Killed{}});
  }));
}

void WorkerHost::perform(agent::Exit& exit) {
  note(exit.how == agent::Exit::How::kDrained ? "leaves, drained" : "leaves, superseded");
  const Duration away = exit.how == agent::Exit::How::kDrained
                            ? rng_.between(millis(10), scene_.setup.timings.policy.worker_lease)
                            : rng_.between(millis(10), millis(500));
  process_gone();
  respawn_after(away);
}

void WorkerHost::arm_wake() {
  const Instant wanted = agent_->next_wake();
  const Instant boot_now = clock_.boot(scene_.agenda.now());
  Instant when = scene_.agenda.now() + micros(1);
  if (wanted >= kNever) return;
  if (wanted > boot_now) when = std::max(when, clock_.true_at(wanted));
  // A busy host wakes its processes a little late.
  if (rng_.chance(50)) when = when + share(rng_, scene_.setup.timings.agent_tick, 0, 900);
  if (wake_at_ > scene_.agenda.now() && wake_at_ <= when) return;
  wake_at_ = when;
  scene_.agenda.at(when, process_.mine([this, when] {
    if (wake_at_ == when) feed(agent::Tick{});
  }));
}

void WorkerHost::hang_up_all() {
  for (const auto& [id, open] : std::exchange(lines_, {})) scene_.board.hang_up(open.line);
}

// The process is gone; the supervisor sees it, cleans up and says so.
void WorkerHost::process_gone() {
  const Incarnation dead = last_incarnation_;
  std::vector<Incarnation> lives = std::exchange(lives_, {});
  agent_.reset();
  process_.die();
  wake_at_ = kNever;
  hang_up_all();
  const Duration notices = rng_.between(micros(100), millis(20));
  scene_.agenda.after(notices, supervisor_.mine([this, dead, lives = std::move(lives)] {
    std::vector<Attempt> started;
    if (dead == last_incarnation_) {
      started = executor_.attempts();
      executor_.kill_all();
    }
    write_journal(EventKind::kWorkerExit, dead);
    const auto controllers = scene_.setup.controllers;
    prove_exit({{}, id(), dead, std::move(started), lives, {}, session_of(dead)},
               static_cast<std::uint32_t>(rng_.below(controllers)));
  }));
}

// The newest secret that is known, up to this life.
std::string WorkerHost::session_of(Incarnation life) const {
  const auto after = sessions_.upper_bound(life);
  return after == sessions_.begin() ? std::string() : std::prev(after)->second;
}

void WorkerHost::respawn_after(Duration delay) {
  // Never before the tasks of the dead process are gone.
  scene_.agenda.after(delay + millis(25), supervisor_.mine([this] {
    if (may_respawn_ && !process_.is_alive()) start_process();
  }));
}

void WorkerHost::prove_exit(const core::WorkerExited& proof, std::uint32_t controller) {
  const Duration limit = scene_.setup.timings.policy.heartbeat_interval;
  const auto done = [this, proof, controller](const CallResult& result) {
    if (std::holds_alternative<core::ReplyBody>(result)) return;
    auto next = static_cast<std::uint32_t>((controller + 1) % scene_.setup.controllers);
    if (const auto* hint = std::get_if<NotLeader>(&result); hint && hint->leader) {
      next = *hint->leader;
    }
    const Duration wait = rng_.between(millis(10), millis(200));
    scene_.agenda.after(wait, supervisor_.mine([this, proof, next] { prove_exit(proof, next); }));
  };
  scene_.board.call({host_, controller, proof, limit}, done);
}

void WorkerHost::crash() {
  if (!process_.is_alive()) return;
  note("the worker process dies");
  process_gone();
  respawn_after(rng_.between(millis(50), scene_.setup.timings.policy.heartbeat_interval * 2));
}

void WorkerHost::crash_both() {
  if (!supervisor_.is_alive()) return;
  note("supervisor and worker die");
  supervisor_.die();
  // Tasks die with the last of the two: the kernel sees to that.
  executor_.kill_all();
  process_gone();
}

void WorkerHost::host_down() {
  if (!host_up_) return;
  host_up_ = false;
  end_earlier();
  note("the host dies");
  supervisor_.die();
  executor_.kill_all();
  agent_.reset();
  process_.die();
  wake_at_ = kNever;
  // Nobody closes the connections: the other side has to find out.
  for (const auto& [id, open] : lines_) open.line->closed = true, open.line->done = nullptr;
  lines_.clear();
}

void WorkerHost::host_up() {
  if (host_up_) return;
  host_up_ = true;
  boot();
}

void WorkerHost::pause() {
  if (!process_.runs()) return;
  scene_.recorder.fact(HolderPaused{id(), last_incarnation_});
  process_.pause();
}

void WorkerHost::resume() {
  if (!process_.is_paused()) return;
  note("continues");
  process_.resume();
}

void WorkerHost::drain(Duration limit) {
  if (!process_.runs()) return;
  note("is asked to leave");
  feed(agent::DrainRequested{});
  scene_.agenda.after(limit, process_.mine([this] { feed(agent::ReleaseNow{}); }));
}

void WorkerHost::forge_hint(bool on) {
  if (!on) {
    if (forged_ > 0) --forged_;
    return;
  }
  ++forged_;
  if (!process_.is_alive()) return;
  scene_.recorder.fact(HintForged{id(), last_incarnation_});
  // A broken line leaves the set, so the set is not walked itself.
  const auto lines = lines_;
  for (const auto& [id, open] : lines) scene_.board.break_line(open.line);
}

void WorkerHost::come_back() {
  may_respawn_ = true;
  resume();
  forged_ = 0;
  host_up();
  boot();
  // Others rely on what it was set up with: a life that registered as something else ends.
  if (process_.is_alive() && is_other_life()) crash();
  if (!process_.is_alive()) respawn_after(millis(100));
}

bool WorkerHost::is_registered() const {
  return agent_ && std::holds_alternative<agent::Serving>(agent_->session());
}

void WorkerHost::leave_to_twin() {
  pause();
  scene_.recorder.fact(HolderReplaced{id(), last_incarnation_});
  has_twin_ = true;
  may_respawn_ = false;
  supervisor_.die();
  executor_.lose_all();
}

void WorkerHost::take_over(WorkerHost& earlier) {
  last_incarnation_ = earlier.last_incarnation_;
  boot();
  earlier_ = &earlier;
}

// A supervisor that starts anew ends whatever it finds of an earlier life.
void WorkerHost::end_earlier() {
  if (WorkerHost* earlier = std::exchange(earlier_, nullptr)) {
    last_incarnation_ = std::max(last_incarnation_, earlier->last_incarnation_);
    earlier->host_down();
  }
}

core::ProbeOutcome WorkerHost::probe() const {
  if (!host_up_) return core::ProbeOutcome::kTimedOut;
  if (forged_ > 0) return core::ProbeOutcome::kRefused;
  if (!process_.is_alive()) return core::ProbeOutcome::kRefused;
  return process_.is_paused() ? core::ProbeOutcome::kTimedOut : core::ProbeOutcome::kAnswered;
}

}  // namespace vortex::sim
