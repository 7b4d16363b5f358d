#include "controller/inbox.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vortex::controller {
namespace {

Asked submit() { return core::Command{core::SubmitRun{}}; }
Asked heartbeat() { return core::Command{core::Sync{}}; }

TEST(Inbox, RefusesNewWorkWhenFull) {
  Inbox inbox(2);
  EXPECT_TRUE(inbox.ask(submit()));
  EXPECT_TRUE(inbox.ask(submit()));
  EXPECT_FALSE(inbox.ask(submit()));
}

TEST(Inbox, HearsWorkersLongerThanItTakesNewWork) {
  Inbox inbox(1);
  EXPECT_TRUE(inbox.ask(submit()));
  EXPECT_FALSE(inbox.ask(submit()));
  EXPECT_TRUE(inbox.ask(heartbeat()));
  while (inbox.ask(heartbeat())) {
  }
  EXPECT_EQ(inbox.size(), 4U) << "that too has an end";
}

TEST(Inbox, NoticesAreAlwaysLetIn) {
  Inbox inbox(1);
  ASSERT_TRUE(inbox.ask(submit()));
  inbox.notice(engine::Input{engine::StopRequested{}});
  const Inbox::Taken taken = inbox.take(Duration{}, false);
  EXPECT_EQ(taken.notices.size(), 1U);
  EXPECT_TRUE(taken.asked.empty()) << "what was asked stays while it is not wanted";
  EXPECT_EQ(inbox.take(Duration{}, true).asked.size(), 1U);
}

TEST(Inbox, WakesTheOneWhoWaits) {
  Inbox inbox(10);
  std::thread other([&inbox] { inbox.ask(submit()); });
  EXPECT_EQ(inbox.take(seconds(30), true).asked.size(), 1U);
  other.join();
}

TEST(Inbox, GivesBackTheOrderInWhichItWasAsked) {
  Inbox inbox(10);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    inbox.ask(core::Command{core::CancelRun{RequestId{i}, RunId{i}}});
  }
  std::uint64_t next = 1;
  for (const Asked& asked : inbox.take(Duration{}, true).asked) {
    EXPECT_EQ(engine::request_of(std::get<engine::Asked>(asked)).value, next++);
  }
  EXPECT_EQ(next, 6U);
}

std::vector<std::size_t> sizes_of_parts(const std::vector<core::Command>& commands) {
  std::vector<std::size_t> sizes;
  for (std::size_t begin = 0, end = 0; begin < commands.size(); begin = end) {
    end = part_end(commands, begin);
    sizes.push_back(end - begin);
  }
  return sizes;
}

TEST(Parts, OfManyCommandsAreBoundedByTheTasksTheyBeginWith) {
  EXPECT_TRUE(sizes_of_parts({}).empty());
  const std::vector<core::Command> acts(2'500, core::CancelRun{});
  EXPECT_EQ(sizes_of_parts(acts), (std::vector<std::size_t>{1'000, 1'000, 500}));
  const auto plan_of = [](std::size_t nodes) {
    const auto base = std::make_shared<PlanBase>();
    base->nodes.resize(nodes);
    return std::make_shared<const DagPlan>(base);
  };
  core::SubmitRun large;
  large.dag = PlanPtr(plan_of(4'000));
  EXPECT_EQ(sizes_of_parts(std::vector<core::Command>(7, large)),
            (std::vector<std::size_t>{3, 3, 1}));
  large.dag = PlanPtr(plan_of(50'000));
  EXPECT_EQ(sizes_of_parts(std::vector<core::Command>(2, large)), (std::vector<std::size_t>{1, 1}));
}

}  // namespace
}  // namespace vortex::controller
