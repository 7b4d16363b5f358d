#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/step.h"

namespace vortex::engine {
namespace {

constexpr Duration kIdle = seconds(1);  // the longest it goes without a turn
constexpr Duration kExpireAgain = millis(50);

core::LeadershipConfig leadership_config(const EngineConfig& config) {
  return {config.me, config.leader_lease, config.seed, config.leader_pace};
}

bool makes_run(const core::Command& command) {
  return std::holds_alternative<core::SubmitRun>(command) ||
         std::holds_alternative<core::TriggerSchedule>(command);
}

}  // namespace

RequestId request_of(const core::Command& command) {
  return std::visit(
      [](const auto& c) {
        if constexpr (requires { c.request; }) return c.request;
        return RequestId{};
      },
      command);
}

RequestId request_of(const Asked& asked) {
  if (const auto* side = std::get_if<SideWrite>(&asked)) return side->request;
  return request_of(std::get<core::Command>(asked));
}

Engine::Engine(EngineConfig config, Instant now)
    : config_(std::move(config)),
      now_(now),
      leadership_(leadership_config(config_), now),
      gathering_(config_.write_event) {}

Orders Engine::on(Input input, Instant now) {
  now_ = std::max(now_, now);
  std::visit([this](auto& fact) { handle(fact); }, input);
  return take_orders();
}

Orders Engine::on(Asked&& asked, Instant now) {
  now_ = std::max(now_, now);
  step(std::move(asked));
  return take_orders();
}

Orders Engine::take_orders() { return std::exchange(orders_, {}); }

void Engine::handle(Turn&) {
  tick_when_due();
  retain_when_due();
  watch_for_stall();
  hand_over();
  check_when_due();
  if (leadership_.next_wake() <= now_) feed(core::lead::Tick{});
}

bool Engine::is_done() const {
  return stopping_ && !writing_ &&
         std::holds_alternative<core::Leadership::Stopped>(leadership_.state());
}

Instant Engine::next_wake() const {
  Instant wake = std::min(now_ + kIdle, leadership_.next_wake());
  if (serves_) wake = std::min(wake, now_ + (next_tick_ - term_now()));
  if (has_room_for_bulk()) wake = now_;
  // What only the end of the commit can move must not wake it again and again until then.
  if (writing_ && writing_->again_at) wake = std::min(wake, *writing_->again_at);
  if (writing_ && serves_ && !stalled_) {
    wake = std::min(wake, writing_->since + config_.commit_stalled);
  }
  if (!writing_ && serves_ && check_ != Check::kNone && !comparing_) {
    wake = std::min(wake, next_slice_);
  }
  return std::max(wake, now_);
}

bool Engine::wants_asked() const {
  return serves_ && !wants_image_ && !stopping_ && gathering_.rows() < config_.batch_rows_max;
}

void Engine::step(Asked&& asked) {
  if (!serves_) {
    orders_.emplace_back(Refuse{request_of(asked), Unserved::kNotLeader});
    return;
  }
  if (wants_image_) return held_back_.push_back(std::move(asked));
  if (auto* side = std::get_if<SideWrite>(&asked)) {
    std::visit([this](auto& row) { gathering_.add(std::move(row)); }, side->row);
    return gathering_.answer({side->request, core::Done{}});
  }
  const auto& command = std::get<core::Command>(asked);
  if (low_space_ && makes_run(command)) {
    orders_.emplace_back(Refuse{request_of(command), Unserved::kNoSpace});
    return;
  }
  step_into(gathering_, command);
}

// False: nothing was added to the batch, the memory is gone.
bool Engine::step_into(Batch& batch, const core::Command& command) {
  const Instant now = term_now();
  core::Effects effects = core::step(*state_, command, now);
  if (config_.observe) config_.observe(command, effects);
  if (effects.reload) {
    carried_ = std::move(effects.findings);
    orders_.emplace_back(FoundBroken{carried_});
    abandon("memory is inconsistent");
    return false;
  }
  // Only the answer waits: the step has also gone on with the work of other runs.
  if (take_refusal_for_image(command, effects)) {
    REACHED("engine: finished run looked up");
    wants_image_ = command;
  }
  for (const core::Sample& sample : effects.samples) {
    if (sample.kind == core::Sample::Kind::kHealthPass) ++health_passes_;
  }
  if (planted(PlantedBug::kReplyWithBatchBefore) && writing_) {
    for (core::Reply& reply : std::exchange(effects.replies, {})) {
      writing_->batch->answer(std::move(reply));
    }
  }
  batch.add(std::move(effects), now);
  return true;
}

// The task's run is finished and has left memory: the command is stepped again with its image, so
// its refusal is taken out. Others may be answered in the same step.
bool Engine::take_refusal_for_image(const core::Command& command, core::Effects& effects) {
  const auto* retry = std::get_if<core::RetryTask>(&command);
  const auto* redrive = std::get_if<core::RedriveDeadLetter>(&command);
  const bool could = (retry != nullptr && !retry->image) || (redrive != nullptr && !redrive->image);
  if (!could) return false;
  const auto is_not_live = [request = request_of(command)](const core::Reply& reply) {
    const auto* refusal = std::get_if<core::Refusal>(&reply.body);
    return reply.request == request && refusal != nullptr &&
           refusal->kind == core::RefusalKind::kRunNotLive;
  };
  return std::erase_if(effects.replies, is_not_live) > 0;
}

void Engine::tick_when_due() {
  if (!serves_) return;
  const Instant now = term_now();
  const bool bulk = has_room_for_bulk();
  if (!bulk && now < next_tick_ && now < state_->next_due()) return;
  if (!may_act()) return abandon("the leader lease has expired");
  if (!step_into(gathering_, core::Tick{bulk, !low_space_})) return;
  next_tick_ = std::min(now + config_.policy.sweep, std::max(state_->next_due(), now));
}

bool Engine::has_room_for_bulk() const {
  return serves_ && !state_->bulk.empty() && gathering_.rows() < config_.bulk_rows_max;
}

// Finished runs beyond the limits are looked up, forgotten in the next commit, then swept away in
// slices; each slice is a short transaction between two commits.
void Engine::retain_when_due() {
  if (!serves_ || now_ < next_retention_ || writing_) return;
  next_retention_ = now_ + config_.retention_interval;
  orders_.emplace_back(FindExpirable{state_->term, term_now()});
}

void Engine::handle(Expirable& expirable) {
  if (!serves_ || expirable.term != state_->term) return;
  for (const ExpiredRun& expired : expirable.runs) {
    // An operator revived it, or is about to.
    if (state_->runs.find(expired.run).valid() || waits_for_image_of(expired.run)) continue;
    if (!step_into(gathering_, core::ForgetRun{expired.run, expired.idempotency_key})) return;
    gathering_.expire(expired.run);
  }
  // There is more to do: go on soon, but let commits pass.
  next_retention_ = now_ + kExpireAgain;
}

void Engine::handle(StopRequested&) {
  stopping_ = true;
  if (planted(PlantedBug::kStopDropsGathered) && serves_) {
    release(std::make_shared<Batch>(std::exchange(gathering_, new_batch())), {});
    return feed(core::lead::StopRequested{});
  }
  if (!serves_) feed(core::lead::StopRequested{});
}

// The thorough check: begun once in every reconcile interval or when asked for, done in slices.

namespace {

constexpr Duration kBetweenSlices = millis(5);  // room for what is more urgent

}  // namespace

void Engine::handle(CheckRequested&) {
  if (!serves_ || check_ != Check::kNone) return;
  check_ = Check::kFirstSlice;
  next_slice_ = now_;
}

bool Engine::slice_is_due() const {
  return serves_ && check_ != Check::kNone && !comparing_ && now_ >= next_slice_;
}

void Engine::check_when_due() {
  if (!serves_) return;
  if (check_ == Check::kNone && now_ >= next_check_) {
    check_ = Check::kFirstSlice;
    next_slice_ = now_;
  }
  // Otherwise with the next commit: only at its edge is memory what the store holds.
  if (slice_is_due() && !writing_ && gathering_.is_empty()) take_slice();
}

void Engine::take_slice() {
  comparing_ = true;
  orders_.emplace_back(TakeSlice{state_->term, check_ == Check::kFirstSlice});
  check_ = Check::kFurtherSlice;
}

void Engine::handle(SliceChecked& checked) {
  if (!serves_ || !comparing_ || checked.term != state_->term) return;
  comparing_ = false;
  next_slice_ = now_ + kBetweenSlices;
  if (checked.last) end_check(std::move(checked.findings));
}

void Engine::end_check(std::vector<std::string> findings) {
  check_ = Check::kNone;
  next_check_ = now_ + config_.policy.reconcile_interval;
  // What another load did not cure is only told: the store is the truth, and it was read.
  const bool again = findings == last_found_;
  last_found_ = findings;
  const bool reloads = !findings.empty() && !again;
  orders_.emplace_back(CheckEnded{findings, reloads});
  if (findings.empty()) return;
  if (!reloads) {
    step_into(gathering_, core::NoteFindings{std::move(findings), false});
    return;
  }
  carried_ = std::move(findings);
  abandon("memory differs from the database");
}

}  // namespace vortex::engine
