#include <memory>
#include <utility>

#include "base/planted.h"
#include "engine/engine.h"

namespace vortex::engine {
namespace {

constexpr Duration kTrySpaceAgain = millis(500);

TaskId task_of(const core::Command& command) {
  if (const auto* retry = std::get_if<core::RetryTask>(&command)) return retry->task;
  return std::get<core::RedriveDeadLetter>(command).task;
}

void set_image(core::Command& command, std::shared_ptr<const RunImage> image) {
  if (auto* retry = std::get_if<core::RetryTask>(&command)) {
    retry->image = std::move(image);
  } else {
    std::get<core::RedriveDeadLetter>(command).image = std::move(image);
  }
}

}  // namespace

void Engine::hand_over() {
  if (writing_ || !state_) return;
  if (serves_ && !may_act()) return abandon("the leader lease has expired");
  if (gathering_.is_empty()) {
    read_run_when_quiet();
    if (stopping_ && serves_) feed(core::lead::StopRequested{});
    return;
  }
  Batch batch = std::exchange(gathering_, new_batch());
  if (batch.writes_nothing()) return release(std::make_shared<Batch>(std::move(batch)), {});
  write(std::move(batch));
}

void Engine::write(Batch batch) {
  if (planted(PlantedBug::kReplyBeforeCommit)) {
    Batch early = new_batch();
    early.replies.swap(batch.replies);
    release(std::make_shared<Batch>(std::move(early)), {});
  }
  batch.seal(state_->term, term_now());
  writing_.emplace(std::make_shared<Batch>(std::move(batch)), ++commits_, now_, std::nullopt);
  start_commit();
  // What is remembered is what this commit makes true: the moment to compare them.
  if (slice_is_due()) take_slice();
}

// Gives the batch to the store, for the first time or again after there was no space.
void Engine::start_commit() {
  writing_->again_at.reset();
  writing_->since = now_;
  orders_.emplace_back(WriteBatch{writing_->number, writing_->batch});
#ifdef VX_PLANTED_BUGS
  if (planted(PlantedBug::kBatchHandedOverTwice)) {
    if (planted_before_) orders_.emplace_back(WriteBatch{0, planted_before_});
    planted_before_ = writing_->batch;
  }
#endif
}

void Engine::handle(CommitEnded& ended) {
  if (!writing_ || writing_->number != ended.number) return;
  switch (ended.how) {
    case CommitEnded::How::kDone:
      return on_committed(ended.took);
    case CommitEnded::How::kFull:
      // Nothing happened, so the same batch may go again once there is space.
      writing_->again_at = now_ + kTrySpaceAgain;
      orders_.emplace_back(MakeSpace{});
      return;
    case CommitEnded::How::kFenced:
      orders_.emplace_back(FoundFenced{std::move(ended.detail)});
      if (planted(PlantedBug::kAnswerAfterSteppingDown)) release(writing_->batch, {});
      return feed(core::lead::FenceLost{state_->term});
    case CommitEnded::How::kInDoubt:
      return abandon(std::move(ended.detail));
  }
}

void Engine::handle(SpaceMade& space) {
  if (space.made && writing_ && writing_->again_at) start_commit();
}

void Engine::on_committed(Duration took) {
  std::shared_ptr<Batch> batch = std::move(writing_->batch);
  writing_.reset();
  // The repairs of a freshly loaded state are durable: now it may serve, and they may be told.
  if (!serves_) {
    feed(core::lead::ReloadDone{state_->term});
    if (serves_) release(std::move(batch), took);
    return;
  }
  if (!may_act()) return abandon("the leader lease has expired");
  if (stalled_) tell_store_health(true);
  if (serves_) release(std::move(batch), took);
}

void Engine::watch_for_stall() {
  if (!writing_) return;
  if (writing_->again_at && now_ >= *writing_->again_at) return start_commit();
  if (stalled_ || !serves_ || now_ < writing_->since + config_.commit_stalled) return;
  tell_store_health(false);
}

void Engine::tell_store_health(bool writable) {
  stalled_ = !writable;
  orders_.emplace_back(StoreStalls{stalled_});
  step_into(gathering_, core::StoreHealth{writable});
}

void Engine::release(std::shared_ptr<Batch> batch, Duration took) {
  orders_.emplace_back(ReleaseBatch{std::move(batch), took});
}

// Everything stepped so far is durable: what is read now is what the next step builds on.
void Engine::read_run_when_quiet() {
  if (!wants_image_ || reading_image_) return;
  reading_image_ = true;
  orders_.emplace_back(ReadRun{state_->term, task_of(*wants_image_).run});
}

// What is being read comes back to life: to forget it meanwhile would lose its key.
bool Engine::waits_for_image_of(RunId run) const {
  return reading_image_ && task_of(*wants_image_).run == run;
}

void Engine::handle(RunRead& read) {
  if (!state_ || !wants_image_ || read.term != state_->term) return;
  reading_image_ = false;
  core::Command command = std::move(*wants_image_);
  wants_image_.reset();
  if (!read.image) return abandon(std::move(read.image.error()));
  if (*read.image) {
    set_image(command, std::make_shared<const RunImage>(std::move(**read.image)));
    if (!step_into(gathering_, command)) return;
  } else {
    const core::Refusal gone{core::RefusalKind::kUnknownRun, "this run is no longer kept", {}, {}};
    gathering_.answer({request_of(command), gone});
  }
  for (Asked& asked : std::exchange(held_back_, {})) step(std::move(asked));
}

}  // namespace vortex::engine
