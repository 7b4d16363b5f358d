// 37 to 39 and 45 to 48: who is given what, judged by the log at the moment of the claim.

#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

// Workers and tasks whose log tells all that bears on placement.
class Placing {
 public:
  Story s;

  WorkerId join(const std::string& name, const std::function<void(WorkerInfo&)>& change = {}) {
    const WorkerId id = s.join(name);
    WorkerRow& row = s.worker(id);
    WorkerInfo info = *row.info;
    if (change) change(info);
    row.info = std::make_shared<const WorkerInfo>(info);
    about(EventKind::kWorkerRegistered, id).data = {{"incarnation", std::int64_t{1}}};
    about(EventKind::kWorkerReady, id);
    if (std::exchange(online_, true)) return id;
    s.event(EventKind::kMachineOnline).data = {{"machine", std::string("m1")}};
    return id;
  }
  RunId submit(const DagSpec& spec) {
    const RunId run = s.submit(spec);
    s.event(EventKind::kRunSubmitted).run = run;
    return run;
  }
  Event& about(EventKind kind, const WorkerId& worker, std::optional<TaskId> task = {}) {
    Event& event = s.event(kind, task);
    event.worker = worker;
    return event;
  }
  void claim(TaskId id, const WorkerId& worker) {
    s.grant(id, worker);
    about(EventKind::kTaskClaimed, worker, id).data = {
        {"epoch", static_cast<std::int64_t>(s.task(id).epoch.value)}};
  }
  void fail(TaskId id) {
    const WorkerId worker = s.task(id).worker;
    s.fail(id);
    about(EventKind::kTaskFailed, worker, id);
    about(EventKind::kTaskRequeued, worker, id).data = {
        {"epoch", static_cast<std::int64_t>(s.task(id).epoch.value)}};
    s.task(id).ready_at = s.now;
  }
  std::set<std::string> broken() {
    s.commit();
    return s.broken();
  }

 private:
  bool online_ = false;
};

std::set<std::string> claimed_with(const std::function<void(NodeSpec&)>& task,
                                   const std::function<void(WorkerInfo&)>& worker = {}) {
  Placing p;
  const WorkerId w = p.join("w1", worker);
  NodeSpec spec = node("a");
  if (task) task(spec);
  const RunId run = p.submit(dag({spec}));
  p.s.commit();
  p.claim({run, 0}, w);
  return p.broken();
}

TEST(PlacementChecker, WorkerThatFitsIsClean) {
  EXPECT_THAT(claimed_with({}), ElementsAre());
  EXPECT_THAT(claimed_with([](NodeSpec& n) { n.requirements.labels = {{"zone", "a"}}; },
                           [](WorkerInfo& i) { i.labels = {{"zone", "a"}}; }),
              ElementsAre());
  EXPECT_THAT(claimed_with([](NodeSpec& n) { n.requirements.user = "build"; },
                           [](WorkerInfo& i) { i.users = {"build"}; }),
              ElementsAre());
}

TEST(PlacementChecker, WorkerThatLacksSomething) {
  const std::vector<std::function<void(NodeSpec&)>> demands{
      [](NodeSpec& n) { n.requirements.queue = "bulk"; },
      [](NodeSpec& n) { n.requirements.labels = {{"zone", "a"}}; },
      [](NodeSpec& n) { n.requirements.runtime = "py"; },
      [](NodeSpec& n) { n.requirements.user = "build"; },
      [](NodeSpec& n) { n.requirements.worker = WorkerId("w2"); }};
  for (const auto& demand : demands) {
    EXPECT_THAT(claimed_with(demand), ElementsAre("37-placed-right"));
  }
}

// What somebody did just before the claim, in the same commit.
std::set<std::string> claimed_after(
    const std::function<void(Placing&, const WorkerId&, RunId)>& act) {
  Placing p;
  const WorkerId w = p.join("w1");
  const RunId run = p.submit(dag({node("a")}));
  p.s.commit();
  act(p, w, run);
  p.claim({run, 0}, w);
  return p.broken();
}

TEST(PlacementChecker, NothingForAWorkerThatIsUnwantedOrUnwell) {
  EXPECT_THAT(claimed_after([](Placing& p, const WorkerId& w, RunId) {
                p.about(EventKind::kWorkerCordoned, w);
                p.s.worker(w).cordoned = true;
              }),
              ElementsAre("37-placed-right"));
  EXPECT_THAT(claimed_after([](Placing& p, const WorkerId& w, RunId) {
                p.about(EventKind::kWorkerDraining, w);
                p.s.worker(w).state = WorkerState::kDraining;
              }),
              ElementsAre("37-placed-right"));
  EXPECT_THAT(claimed_after([](Placing& p, const WorkerId& w, RunId) {
                p.about(EventKind::kHeartbeatStale, w).data = {{"reason", std::string("closed")}};
                p.s.worker(w).suspect = true;
              }),
              ElementsAre("37-placed-right"));
}

TEST(PlacementChecker, NothingFromWhatIsPaused) {
  EXPECT_THAT(claimed_after([](Placing& p, const WorkerId&, RunId run) {
                p.s.event(EventKind::kRunPaused).run = run;
                p.s.run(run).paused = true;
              }),
              ElementsAre("37-placed-right"));
  EXPECT_THAT(claimed_after([](Placing& p, const WorkerId&, RunId) {
                p.s.event(EventKind::kQueuePaused).data = {{"queue", std::string("default")}};
                p.s.rows().queues.push_back({"default", true});
              }),
              ElementsAre("37-placed-right"));
}

// A task that failed on the first of two workers, and who gets it after a while.
std::set<std::string> retried(const std::string& on, Duration after) {
  Placing p;
  const WorkerId first = p.join("w1");
  p.join("w2");
  const TaskId id{p.submit(dag({node("a")})), 0};
  p.claim(id, first);
  p.s.commit();
  p.s.pass(seconds(1));
  p.fail(id);
  p.s.commit();
  p.s.pass(after);
  p.claim(id, WorkerId(on));
  return p.broken();
}

TEST(KeepAwayChecker, RetryGoesToAnotherWorkerFirst) {
  EXPECT_THAT(retried("w1", seconds(4)), ElementsAre("38-keeps-away"));
  EXPECT_THAT(retried("w2", seconds(4)), ElementsAre());
  EXPECT_THAT(retried("w1", seconds(5)), ElementsAre());
}

// Two tasks that wait, of which the second is taken.
std::set<std::string> second_taken(int first_priority, bool apart) {
  Placing p;
  const WorkerId w = p.join("w1");
  NodeSpec first = node("a");
  first.priority = static_cast<std::int8_t>(first_priority);
  p.submit(dag({first}));
  if (apart) p.s.commit();
  const RunId later = p.submit(dag({node("b")}));
  p.s.commit();
  p.claim({later, 0}, w);
  return p.broken();
}

TEST(TurnChecker, HigherPriorityGoesFirst) {
  EXPECT_THAT(second_taken(1, false), ElementsAre("39-taken-in-turn"));
  EXPECT_THAT(second_taken(-1, true), ElementsAre());
}

TEST(TurnChecker, OlderGoesFirst) {
  EXPECT_THAT(second_taken(0, true), ElementsAre("39-taken-in-turn"));
  EXPECT_THAT(second_taken(0, false), ElementsAre());
}

// 45 to 48: blame has a cap and an end, and quotas hold.

void blame(Story& s, const WorkerId& id, Duration wait = seconds(300)) {
  WorkerRow& row = s.worker(id);
  row.cordoned = true;
  row.blame = WorkerBlame::kCordoned;
  row.times_blamed = 1;
  row.probation_at = s.now + wait;
}

TEST(BlameCapChecker, OneOfTwoMayWaitAndTwoMayNot) {
  Story one;
  blame(one, one.join("w1"));
  one.join("w2");
  one.commit();
  EXPECT_EQ(one.report(), "");
  Story both;
  blame(both, both.join("w1"));
  blame(both, both.join("w2"));
  both.commit();
  EXPECT_THAT(both.broken(), ElementsAre("45-blame-capped"));
}

TEST(BlameCapChecker, AnOperatorsCordonIsNotCounted) {
  Story s;
  for (const char* name : {"w1", "w2", "w3"}) s.worker(s.join(name)).cordoned = true;
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(BlameCapChecker, AWaitThatIsLongerThanAnnounced) {
  Story s;
  blame(s, s.join("w1"), seconds(301));
  s.join("w2");
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("47-probation-begins"));
}

TEST(BlameCapChecker, AProbationThatNeverBegins) {
  Story s;
  blame(s, s.join("w1"));
  const WorkerId other = s.join("w2");
  s.commit();
  s.tell(FaultsStopped{});
  s.pass(seconds(400));
  s.worker(other).last_heartbeat = s.now;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("47-probation-begins"));
}

struct OnProbation : Placing {
  OnProbation() {
    s.commit();
    about(EventKind::kWorkerCordoned, w).data = {{"probation_in_ms", std::int64_t{1000}}};
    about(EventKind::kWorkerProbation, w);
    s.worker(w).cordoned = true;
    s.worker(w).blame = WorkerBlame::kProbation;
  }
  WorkerId w = join("w1");
  RunId run = submit(dag({node("a"), node("b")}));
};

TEST(ProbationChecker, OneTaskIsCleanAndTwoAreNot) {
  OnProbation one;
  one.claim({one.run, 0}, one.w);
  EXPECT_THAT(one.broken(), ElementsAre());
  OnProbation two;
  two.claim({two.run, 0}, two.w);
  two.claim({two.run, 1}, two.w);
  EXPECT_THAT(two.broken(), ElementsAre("46-one-on-probation"));
}

TEST(QuotaChecker, MoreLiveRunsThanAllowed) {
  Story s;
  for (std::uint64_t i = 0; i < s.policy.quota.runs; ++i) s.submit(dag({node("a")}));
  s.commit();
  EXPECT_EQ(s.report(), "");
  Story more;
  for (std::uint64_t i = 0; i <= s.policy.quota.runs; ++i) more.submit(dag({node("a")}));
  more.commit();
  EXPECT_THAT(more.broken(), ElementsAre("48-quota-kept"));
}

}  // namespace
}  // namespace vortex::sim
