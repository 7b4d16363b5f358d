#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/fault_point.h"
#include "controller/engine.h"

namespace vortex::controller {
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
  if (serves_ && !may_act()) return abandon("the lease to lead is over");
  if (gathering_.is_empty()) {
    read_run_when_quiet();
    if (stopping_ && serves_) feed(core::lead::StopRequested{});
    return;
  }
  auto batch = std::make_shared<Batch>(std::exchange(gathering_, {}));
  if (batch->writes_nothing()) return release(*batch, {});
  write(std::move(batch));
}

void Engine::write(std::shared_ptr<Batch> batch) {
  batch->seal(state_->term, term_now());
  writing_.emplace(std::move(batch), ++commits_, boot_clock_now());
  start_commit();
  // What is remembered is what this commit makes true: the moment to compare them.
  if (audit_is_due()) take_slice();
}

// Gives the batch to the committer, for the first time or again after there was no space.
void Engine::start_commit() {
  space_again_.reset();
  writing_->since = boot_clock_now();
  committer_.post(
      [this, number = writing_->number, batch = writing_->batch](store::Writer& writer) {
        const Instant begin = boot_clock_now();
        auto result = writer.commit(batch->commit());
        last_commit_done_ = result.has_value();
        fault_point("after_commit");
        inbox_.notice(CommitEnded{number, std::move(result), boot_clock_now() - begin});
      });
}

void Engine::handle(CommitEnded& ended) {
  if (!writing_ || writing_->number != ended.number) return;
  if (!ended.result) {
    const store::Error& error = ended.result.error();
    switch (error.fault) {
      case store::Fault::kFull:
        if (outlet_.make_space()) return start_commit();
        space_again_ = boot_clock_now() + kTrySpaceAgain;
        return;
      case store::Fault::kFenced:
        outlet_.say(LogLevel::kWarn, "another controller leads: " + error.detail);
        return feed(core::lead::FenceLost{state_->term});
      default:
        return abandon(error.detail);
    }
  }
  store_well_ = true;
  last_commit_us_ = boot_clock_now().us;
  const std::shared_ptr<Batch> batch = std::move(writing_->batch);
  writing_.reset();
  // The repairs of a freshly loaded state are durable: now it may serve, and they may be told.
  if (!serves_) {
    feed(core::lead::ReloadDone{state_->term});
    if (serves_) release(*batch, ended.took);
    return;
  }
  if (!may_act()) return abandon("the lease to lead is over");
  if (stalled_) tell_store_health(true);
  if (!serves_) return;
  fault_point("before_reply");
  release(*batch, ended.took);
}

void Engine::watch_for_stall() {
  if (!writing_) return;
  const Instant now = boot_clock_now();
  if (space_again_ && now >= *space_again_) return start_commit();
  if (stalled_ || !serves_ || now < writing_->since + config_.commit_stalled) return;
  tell_store_health(false);
}

void Engine::tell_store_health(bool writable) {
  stalled_ = !writable;
  store_well_ = writable;
  step_into(gathering_, core::StoreHealth{writable});
}

void Engine::release(Batch& batch, Duration took) {
  for (core::Reply& reply : batch.replies) {
    waiters_.answer(reply.request, std::move(reply.body));
  }
  for (const core::Probe& probe : batch.probes) outlet_.probe(probe);
  if (batch.self_check) outlet_.self_check();
  outlet_.committed(batch, took);
}

// Everything stepped so far is durable: what is read now is what the next step builds on.
void Engine::read_run_when_quiet() {
  if (!wants_image_ || reading_image_) return;
  reading_image_ = true;
  committer_.post(
      [this, term = state_->term, run = task_of(*wants_image_).run](store::Writer& writer) {
        inbox_.notice(RunRead{term, writer.run_image(run)});
      });
}

void Engine::handle(RunRead& read) {
  if (!state_ || !wants_image_ || read.term != state_->term) return;
  reading_image_ = false;
  core::Command command = std::move(*wants_image_);
  wants_image_.reset();
  if (!read.image) return abandon(read.image.error().detail);
  std::shared_ptr<const RunImage> image;
  if (*read.image) image = std::make_shared<const RunImage>(std::move(**read.image));
  if (image) {
    set_image(command, std::move(image));
    step_into(gathering_, command);
    return;
  }
  const core::Refusal gone{core::RefusalKind::kUnknownRun, "this run is no longer kept", {}, {}};
  gathering_.answer({request_of(command), gone});
}

}  // namespace vortex::controller
