// 43 and 44: what is handed over to the next attempt, and what is kept of the one before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::ElementsAre;

// A task whose first attempt kept a checkpoint and failed; the second is granted.
struct Handover {
  Handover() {
    s.tell(WorkerSaid{w, {1}, {{id, {1}}, Checkpoint{"half"}}});
    s.rows().task_data.push_back({.id = id, .epoch = {1}, .checkpoint = "half"});
    s.commit();
    s.fail(id);
    s.commit();
    s.pass(minutes(1));
    s.grant(id, w);
    s.commit();
    given.attempt = {id, {2}};
    given.number = 2;
    given.work = PlannedWork{s.run(id.run).plan, 0, s.run(id.run).request};
    given.execution_timeout = s.policy.execution_timeout;
    given.kill_grace = s.policy.kill_time;
    given.checkpoint = "half";
  }
  std::set<std::string> broken() {
    s.tell(WorkerGiven{w, {1}, {given}});
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
  TaskId id = s.running_task(w);
  Assignment given;
};

TEST(HandoverChecker, HandedOverAsGrantedIsClean) {
  EXPECT_THAT(Handover().broken(), ElementsAre());
}

TEST(HandoverChecker, CheckpointThatWasLost) {
  Handover h;
  h.given.checkpoint.clear();
  EXPECT_THAT(h.broken(), ElementsAre("43-handed-over"));
}

TEST(HandoverChecker, CheckpointOfItsOwnIsNotHandedOverAgain) {
  Handover h;
  h.s.start(h.id);
  h.s.tell(WorkerSaid{h.w, {1}, {{h.id, {2}}, Checkpoint{"more"}}});
  h.s.rows().task_data.push_back({.id = h.id, .epoch = {2}, .checkpoint = "more"});
  h.s.commit();
  EXPECT_THAT(h.broken(), ElementsAre());  // an answer from before that came late
}

TEST(HandoverChecker, OtherWorkOrLimits) {
  Handover number;
  number.given.number = 1;
  EXPECT_THAT(number.broken(), ElementsAre("43-handed-over"));
  Handover limit;
  limit.given.execution_timeout = seconds(1);
  EXPECT_THAT(limit.broken(), ElementsAre("43-handed-over"));
  Handover params;
  std::get<PlannedWork>(params.given.work).request =
      std::make_shared<const RunRequest>(RunRequest{{}, "{\"other\":1}", {}, 0});
  EXPECT_THAT(params.broken(), ElementsAre("43-handed-over"));
  Handover epoch;
  epoch.given.attempt.epoch = {3};
  EXPECT_THAT(epoch.broken(), ElementsAre("43-handed-over"));
}

// A task that said these outputs and is completed with those.
std::set<std::string> completed(const std::string& said, std::optional<std::string> kept) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.tell(WorkerSaid{w, {1}, {{id, {1}}, Completed{said}}});
  s.complete(id);
  s.end_run(id.run, RunState::kCompleted);
  if (kept) s.rows().task_data.push_back({.id = id, .epoch = {1}, .outputs = std::move(kept)});
  s.commit();
  return s.broken();
}

TEST(SaidChecker, OutputsAreDurableWithTheirSuccess) {
  EXPECT_THAT(completed("{}", "{}"), ElementsAre());
  EXPECT_THAT(completed("{}", std::nullopt), ElementsAre("44-said-is-kept"));
  EXPECT_THAT(completed("{}", "{\"a\":1}"), ElementsAre("44-said-is-kept"));
}

TEST(SaidChecker, CheckpointThatNobodyMade) {
  Handover h;
  h.s.rows().task_data.push_back({.id = h.id, .epoch = {2}, .checkpoint = "half"});
  h.s.commit();
  EXPECT_THAT(h.broken(), ElementsAre("44-said-is-kept"));
}

}  // namespace
}  // namespace vortex::sim
