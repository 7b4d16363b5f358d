// Progress from recorded events: counts, bars and lines.

#include "cli/screen/progress.h"

#include <gtest/gtest.h>

#include "cli/arguments.h"

namespace vortex::cli {
namespace {

PlanPtr thumbs() {
  const auto spec = boost::json::parse(
      R"({"name":"thumbs","tasks":{"list":{"run":["true"]},)"
      R"("resize":{"needs":["list"],"run":["true"],"map":{"over":{"range":{"from":1,"to":10}}}},)"
      R"("report":{"needs":["resize"],"run":["true"]}}})");
  return *plan_of_spec(spec);
}

boost::json::object event(const std::string& kind, const std::string& task) {
  return {{"event", kind}, {"task_id", task}, {"run_id", "r1"}, {"seq", 1}};
}

TEST(Progress, CountsFollowTheEvents) {
  ProgressModel model(thumbs(), ProgressModel::Detail::kByNode);
  ASSERT_EQ(model.groups().size(), 3U);
  EXPECT_EQ(model.groups()[1].total, 10U);
  model.apply(event("task_claimed", "r1-L0-0"));
  EXPECT_EQ(model.groups()[0].in(TaskState::kScheduled), 1U);
  model.apply(event("task_started", "r1-L0-0"));
  model.apply(event("task_complete", "r1-L0-0"));
  EXPECT_EQ(model.groups()[0].ended(), 1U);
  model.apply(event("task_started", "r1-L1-1"));
  model.apply(event("task_failed", "r1-L1-1"));
  EXPECT_EQ(model.groups()[1].in(TaskState::kFailed), 0U) << "a failed try is not yet the end";
  model.apply(event("task_requeued", "r1-L1-1"));
  model.apply(event("task_dead_lettered", "r1-L1-1"));
  EXPECT_EQ(model.groups()[1].in(TaskState::kFailed), 1U);
  model.apply(event("task_retry", "r1-L1-1"));
  EXPECT_EQ(model.groups()[1].ended(), 0U);
}

TEST(Progress, TheSameEventTwiceCountsOnce) {
  ProgressModel model(thumbs(), ProgressModel::Detail::kByNode);
  for (int i = 0; i < 3; ++i) model.apply(event("task_complete", "r1-L1-4"));
  EXPECT_EQ(model.groups()[1].ended(), 1U);
  model.set(4, TaskState::kCompleted);  // as it was read meanwhile
  EXPECT_EQ(model.total().ended(), 1U);
}

TEST(Progress, AMapThatIsMadeAtRunTimeGrowsTheBars) {
  const auto dag = boost::json::parse(
      R"({"spec":{"name":"d","tasks":{"list":{"run":["true"]},"m":{"needs":["list"],)"
      R"("run":["true"],"map":{"over":"${{ tasks.list.outputs.l }}"}}}},"late_maps":{"m":3}})");
  ProgressModel model(unexpanded(*plan_of_run(dag.as_object())), ProgressModel::Detail::kByNode);
  model.apply(event("task_complete", "r1-L0-0"));
  EXPECT_EQ(model.total().total, 1U);
  model.grow(*plan_of_run(dag.as_object()));
  EXPECT_EQ(model.groups()[1].total, 3U);
  model.apply(event("task_complete", "r1-L1-3"));
  EXPECT_EQ(model.total().ended(), 2U);
  EXPECT_EQ(model.total().in(TaskState::kWaiting), 2U);
  EXPECT_EQ(task_name(model.plan(), 3), "m[2]");
}

TEST(Progress, ForeignEventsAreIgnored) {
  ProgressModel model(thumbs(), ProgressModel::Detail::kByNode);
  model.apply(event("task_complete", "r1-L0-999"));
  model.apply(event("health_pass", ""));
  model.apply({});
  EXPECT_EQ(model.total().ended(), 0U);
}

TEST(Progress, OneGroupTakesTheCountsOfTheRun) {
  ProgressModel model(thumbs(), ProgressModel::Detail::kWhole);
  model.set_counts({{"Completed", 4}, {"Failed", 1}, {"Running", 2}});
  EXPECT_EQ(model.total().ended(), 5U);
  EXPECT_EQ(model.groups()[0].in(TaskState::kWaiting), 5U) << "not made yet";
}

TaskGroup resize() {
  TaskGroup group{"resize", 500, {}};
  group.by_state[number_of(TaskState::kCompleted)] = 409;
  group.by_state[number_of(TaskState::kFailed)] = 3;
  group.by_state[number_of(TaskState::kWaiting)] = 88;
  return group;
}

TEST(Progress, ABarShowsCountsFailuresAndTimeLeft) {
  Pace pace;
  pace.see(Instant{0}, 212);
  pace.see(Instant{seconds(100).us}, 412);
  const BarRoom room{6, 8, 10};
  EXPECT_EQ(bar_line(resize(), pace, room, Look{}),
            "resize  [######--] 412/500  3 failed  eta 44s");
  EXPECT_EQ(bar_line(resize(), Pace{}, room, Look{}), "resize  [######--] 412/500  3 failed");
}

TEST(Progress, NoBarIsWiderThanTheScreen) {
  Look look;
  look.width = 30;
  const BarRoom room = room_for({resize()}, 30, 5);
  EXPECT_LE(bar_line(resize(), Pace{}, room, look).size(), 30U);
}

TEST(Progress, GroupsUnderWayAreShownFirst) {
  std::vector<TaskGroup> groups(10, TaskGroup{"waits", 1, {}});
  for (TaskGroup& group : groups) group.by_state[number_of(TaskState::kWaiting)] = 1;
  groups[7].by_state = {};
  groups[7].by_state[number_of(TaskState::kRunning)] = 1;
  groups[9].by_state = {};
  groups[9].by_state[number_of(TaskState::kFailed)] = 1;
  EXPECT_EQ(groups_to_show(groups, 3), (std::vector<std::size_t>{0, 7, 9}));
  EXPECT_EQ(groups_to_show(groups, 20).size(), 10U);
}

TEST(Progress, LinesDoNotFlood) {
  ProgressModel model(thumbs(), ProgressModel::Detail::kByNode);
  ProgressLines lines;
  Instant now{hours(1).us};
  EXPECT_TRUE(lines.take(model, now).empty()) << "nothing has happened";
  std::size_t told = 0;
  for (std::uint32_t i = 1; i <= 9; ++i) {
    model.set(i, TaskState::kCompleted);
    now = now + millis(100);
    told += lines.take(model, now).size();
  }
  EXPECT_EQ(told, 1U) << "one line in the first second";
  model.set(10, TaskState::kCompleted);
  const auto last = lines.take(model, now);
  ASSERT_EQ(last.size(), 1U) << "the end is told at once";
  EXPECT_EQ(last[0], "01:00:00 resize 10/10");
  EXPECT_TRUE(lines.take(model, now + seconds(5)).empty()) << "and only once";
}

}  // namespace
}  // namespace vortex::cli
