#include "cli/screen/life.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/arguments.h"

namespace vortex::cli {
namespace {

boost::json::object object_of(std::string_view text) {
  return boost::json::parse(text).as_object();
}

PlanPtr plan_of_map() {
  return *plan_of_spec(boost::json::parse(
      R"({"name":"thumbs","tasks":{"report":{"run":["true"]},)"
      R"("resize":{"run":["true"],"map":{"over":{"range":{"from":0,"to":9}}}}}})"));
}

TEST(Life, ARunningTaskShowsWorkerTimeProgressAndItsLastLine) {
  const auto task = object_of(R"({"index": 4, "worker": "w1", "percent": 65, "step": "encoding",
                                  "started_at": "2026-01-01T00:00:00.000000Z"})");
  const Instant now{1767225612'000000};  // twelve seconds later
  EXPECT_EQ(running_line(task, *plan_of_map(), "frame 1\nframe 2\r\n", now),
            "resize[3]  on w1, 12s, 65% encoding | frame 2");
}

TEST(Life, OutputOfATaskCannotBreakOutOfItsLine) {
  const auto task = object_of(R"({"index": 0, "worker": "w1"})");
  const std::string line = running_line(task, *plan_of_map(), "a\x1b[2Jb\n", Instant{});
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find("report  on w1 | a"), 0U);
}

TEST(Life, AStandstillNamesObstaclesWorkersAndWhatToDo) {
  const auto standstill = object_of(R"({"tasks": 2, "workers_unnamed": 5,
      "obstacles": [{"reason": "queue_paused", "what": "queue 'gpu' is paused",
                     "action": "vortex queues resume gpu"},
                    {"reason": "no_such_worker", "what": "no worker has the label gpu=a100",
                     "action": "vortex worker --label gpu=a100"}],
      "workers": [{"worker": "w1", "why": "lacks the label gpu=a100"},
                  {"worker": "w2", "why": "is offline"}, {"worker": "w3", "why": "is offline"},
                  {"worker": "w4", "why": "is offline"}]})");
  const Remedy remedy = remedy_of(standstill);
  EXPECT_EQ(remedy.found,
            "2 tasks wait: queue 'gpu' is paused; also, no worker has the label gpu=a100 (w1 lacks "
            "the label gpu=a100; w2 is offline; w3 is offline; 6 more)");
  EXPECT_EQ(remedy.fix, "vortex queues resume gpu\nvortex worker --label gpu=a100");
  EXPECT_EQ(
      standstills_text({standstill}),
      remedy.found + "\n  try: vortex queues resume gpu\n       vortex worker --label gpu=a100");
}

TEST(Life, ALostWorkerIsToldUntilItsTaskRunsAgain) {
  LostTasks lost;
  const PlanPtr plan = plan_of_map();
  const auto requeued = object_of(R"({"event": "task_requeued", "task_id": "r1-L0-4",
      "data": {"reason": "worker_lost", "previous_worker": "w1"}})");
  const auto again = object_of(R"({"event": "task_reassigned", "task_id": "r1-L0-4",
      "data": {"previous_worker": "w1", "new_worker": "w2"}})");
  EXPECT_EQ(lost.see(again, *plan), std::nullopt);  // a retry is no loss
  EXPECT_EQ(lost.see(requeued, *plan), "worker w1 lost, resize[3] is queued again");
  EXPECT_EQ(lost.see(again, *plan), "worker w1 lost, resize[3] is running again on w2");
  EXPECT_EQ(lost.see(again, *plan), std::nullopt);
  const auto foreign = object_of(R"({"event": "task_requeued", "task_id": "r1-L0-99",
      "data": {"reason": "worker_lost", "previous_worker": "w1"}})");
  EXPECT_EQ(lost.see(foreign, *plan), std::nullopt);
}

}  // namespace
}  // namespace vortex::cli
