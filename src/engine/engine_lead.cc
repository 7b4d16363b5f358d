#include <utility>

#include "base/planted.h"
#include "core/load.h"
#include "engine/engine.h"

namespace vortex::engine {

namespace lead = core::lead;

void Engine::feed(const lead::Input& input) {
  for (const lead::Output& output : leadership_.on(input, now_)) {
    std::visit([this](const auto& order) { follow(order); }, output);
  }
}

void Engine::follow(const lead::StartLoading& order) {
  term_clock_ = order.clock;
  orders_.emplace_back(LoadImage{order.term, order.clock});
}

void Engine::handle(ImageRead& read) {
  const auto* loading = std::get_if<core::Leadership::Loading>(&leadership_.state());
  if (loading == nullptr) return;
  if (loading->hold.term != read.term) {
    if (!planted(PlantedBug::kImageAcrossTerms) || !read.image) return;
    read.term = loading->hold.term;
  }
  if (!read.image) {
    orders_.emplace_back(LoadFailed{std::move(read.image.error())});
    return feed(lead::ReloadFailed{read.term});
  }
  const Instant now = term_now();
  core::Effects repairs;
  state_ = std::make_unique<core::State>(core::load(
      config_.policy, read.term, now, config_.seed ^ read.term.value, *read.image, repairs));
  orders_.emplace_back(Loaded{read.term, state_->runs.size(), read.image->workers.size(),
                              read.image->counters.next_event - 1, std::move(read.image->damaged)});
  Batch first = new_batch();
  first.add(std::move(repairs), now);
  if (!carried_.empty()) {
    step_into(first, core::NoteFindings{std::exchange(carried_, {}), true});
  }
  if (!state_) return;
  if (first.writes_nothing()) return feed(lead::ReloadDone{read.term});
  write(std::move(first));
}

void Engine::follow(const lead::StartServing& order) {
  next_check_ = now_ + config_.policy.reconcile_interval;
  next_tick_ = term_now();
  next_retention_ = now_ + config_.retention_interval;
  serves_ = true;
  orders_.emplace_back(Serves{order.term});
}

void Engine::follow(const lead::StepDown& order) {
  orders_.emplace_back(SteppedDown{order.term, order.why});
  // Asked to stop, it has committed all that it stepped; who still waits only waits for news.
  const bool asked = order.why == lead::StepDown::Why::kStopped;
  drop_memory(asked ? Unserved::kNotLeader : Unserved::kInDoubt);
}

bool Engine::may_act() const {
  if (!leadership_.leads()) return false;
  const auto until = leadership_.serves_until();
  return until && now_ < *until;
}

void Engine::abandon(std::string why) {
  if (!state_) return;
  orders_.emplace_back(Doubts{std::move(why)});
  const Term term = state_->term;
  drop_memory(Unserved::kInDoubt);
  feed(lead::CommitUnknown{term});
}

void Engine::drop_memory(Unserved why) {
  if (!state_) return;
  serves_ = false;
  for (const Asked& asked : std::exchange(held_back_, {})) {
    orders_.emplace_back(Refuse{request_of(asked), Unserved::kNotLeader});
  }
  orders_.emplace_back(RefuseAll{why});
  writing_.reset();
  state_.reset();
  gathering_ = new_batch();
  wants_image_.reset();
  reading_image_ = false;
  stalled_ = false;
  check_ = Check::kNone;
  comparing_ = false;
  ++commits_;  // the end of an earlier commit means nothing any more
}

}  // namespace vortex::engine
