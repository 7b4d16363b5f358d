// 36: the log tells every change once, and nothing else.

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

// A history with its log: a worker that runs a task to its end.
class Logged {
 public:
  Story s;
  WorkerId w;
  TaskId id{{1}, 0};
  std::set<EventKind> untold;  // left out of the log
  std::set<EventKind> twice;   // told once more

  Event& say(EventKind kind, std::optional<TaskId> about = {}) {
    // Nothing follows from this one.
    if (untold.contains(kind)) return s.event(EventKind::kHealthPass);
    if (twice.contains(kind)) tell(kind, about);
    return tell(kind, about);
  }
  Event& tell(EventKind kind, std::optional<TaskId> about) {
    Event& event = s.event(kind, about);
    const bool of_worker = kind != EventKind::kRunSubmitted && kind != EventKind::kRunComplete;
    if (of_worker && !w.empty()) event.worker = w;
    event.run = RunId{1};
    if (kind == EventKind::kTaskClaimed) event.data = {{"epoch", std::int64_t{1}}};
    if (kind == EventKind::kTaskRequeued) event.data = {{"epoch", std::int64_t{2}}};
    if (kind == EventKind::kRunComplete) event.data = {{"state", std::string("Completed")}};
    if (kind == EventKind::kWorkerRegistered) event.data = {{"incarnation", std::int64_t{1}}};
    if (kind == EventKind::kMachineOnline) {
      event.worker = {};
      event.data = {{"machine", std::string("m1")}};
    }
    return event;
  }
  Logged& begin() {
    w = s.join("w1");
    say(EventKind::kWorkerRegistered);
    say(EventKind::kMachineOnline);
    say(EventKind::kWorkerReady);
    s.submit(dag({node("a")}));
    say(EventKind::kRunSubmitted);
    s.commit();
    s.grant(id, w);
    say(EventKind::kTaskClaimed, id);
    s.commit();
    s.start(id);
    say(EventKind::kTaskStarted, id);
    s.commit();
    return *this;
  }
  Logged& end() {
    s.complete(id);
    say(EventKind::kTaskComplete, id);
    s.end_run(id.run, RunState::kCompleted);
    s.run(id.run).levels_passed = 1;
    say(EventKind::kRunComplete);
    s.commit();
    return *this;
  }
};

TEST(EventChecker, LogThatTellsAllIsClean) {
  Logged log;
  log.begin().end();
  EXPECT_EQ(log.s.report(), "");
}

TEST(EventChecker, HistoryWithoutItsLogIsNotJudged) {
  Logged log;
  log.s.running_task(log.s.join("w1"));
  EXPECT_EQ(log.s.report(), "");
}

TEST(EventChecker, ChangeThatNobodyTells) {
  for (const EventKind kind :
       {EventKind::kWorkerReady, EventKind::kTaskClaimed, EventKind::kTaskStarted,
        EventKind::kTaskComplete, EventKind::kRunComplete, EventKind::kMachineOnline}) {
    Logged log;
    log.untold = {kind};
    log.begin().end();
    EXPECT_THAT(log.s.broken(), Contains("36-events-tell-all")) << to_text(kind);
  }
}

TEST(EventChecker, ChangeThatIsToldTwice) {
  for (const EventKind kind :
       {EventKind::kWorkerRegistered, EventKind::kTaskClaimed, EventKind::kTaskStarted,
        EventKind::kTaskComplete, EventKind::kRunComplete, EventKind::kMachineOnline}) {
    Logged log;
    log.twice = {kind};
    log.begin().end();
    EXPECT_THAT(log.s.broken(), ElementsAre("36-events-tell-all")) << to_text(kind);
  }
}

TEST(EventChecker, EventOfSomethingThatDidNotHappen) {
  using Tell = std::function<void(Logged&)>;
  const std::vector<Tell> lies{
      [](Logged& log) { log.say(EventKind::kWorkerCordoned); },
      [](Logged& log) { log.say(EventKind::kWorkerDraining); },
      [](Logged& log) { log.say(EventKind::kRunPaused); },
      [](Logged& log) { log.say(EventKind::kTaskFailed, log.id); },
      [](Logged& log) { log.say(EventKind::kTaskDeadLettered, log.id); },
      [](Logged& log) {
        log.say(EventKind::kHeartbeatStale).data = {{"reason", std::string("quiet")}};
      }};
  for (const Tell& lie : lies) {
    Logged log;
    log.begin();
    lie(log);
    log.s.worker(log.w);
    log.s.task(log.id);
    log.s.run(log.id.run);
    log.s.commit();
    EXPECT_THAT(log.s.broken(), ElementsAre("36-events-tell-all"));
  }
}

TEST(EventChecker, LossAndRequeueAreTold) {
  for (const bool told : {true, false}) {
    Logged log;
    log.begin();
    log.s.lose(log.w, Evidence::kExit);
    log.say(EventKind::kWorkerOffline);
    Event& machine = log.s.event(EventKind::kMachineOffline);
    machine.data = {{"machine", std::string("m1")}};
    if (told) log.say(EventKind::kTaskRequeued, log.id);
    log.s.commit();
    EXPECT_EQ(log.s.broken().contains("36-events-tell-all"), !told);
  }
}

}  // namespace
}  // namespace vortex::sim
