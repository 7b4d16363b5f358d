// Who may serve, what is loaded, and how it ends.

#include <gmock/gmock.h>

#include "tests/engine/desk.h"

namespace vortex::engine {
namespace {

using How = CommitEnded::How;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EngineLead, WhatIsAskedOfOneThatDoesNotLeadDidNotHappen) {
  Desk desk;
  desk.ask(submit(1));
  const auto refused = desk.take_order<Refuse>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request, RequestId{1});
  EXPECT_EQ(refused->why, Unserved::kNotLeader);
  EXPECT_FALSE(desk.engine().wants_asked());
}

TEST(EngineLead, ServesAtOnceWhenNothingWasRepaired) {
  Desk desk;
  desk.win();
  EXPECT_FALSE(desk.engine().serves());
  desk.load();
  EXPECT_TRUE(desk.engine().serves());
  EXPECT_EQ(desk.take_order<Serves>()->term, desk.term);
}

// A run whose counts are wrong is repaired by the load.
RunImage wrong_counts(core::Mirror& store) {
  store.runs.begin()->second.made[0] += 3;
  return store.run_image(store.runs.begin()->first);
}

TEST(EngineLead, RepairsAreDurableBeforeItServes) {
  Desk desk;
  desk.lead();
  desk.ask(submit(1));
  desk.turn();
  desk.commit();
  desk.ask(submit(2));
  desk.turn();
  desk.end_commit(How::kInDoubt);
  desk.orders.clear();
  wrong_counts(desk.store);
  desk.win();
  desk.load();
  ASSERT_TRUE(desk.has<WriteBatch>()) << "the repairs";
  EXPECT_FALSE(desk.engine().serves());
  EXPECT_FALSE(desk.has<ReleaseBatch>());
  desk.end_commit(How::kDone);
  EXPECT_TRUE(desk.engine().serves());
  EXPECT_TRUE(desk.has<ReleaseBatch>()) << "and their events are told";
}

TEST(EngineLead, AnImageOfAnEarlierTermIsNotTaken) {
  Desk desk;
  desk.win();
  const auto old_order = desk.take_order<LoadImage>();
  desk.pass(seconds(80));  // its own clock ends the term
  desk.turn();
  desk.orders.clear();
  desk.win();
  desk.tell(ImageRead{old_order->term, desk.store.image()});
  EXPECT_FALSE(desk.engine().serves());
  EXPECT_EQ(desk.engine().state(), nullptr);
  desk.load();
  EXPECT_TRUE(desk.engine().serves());
}

TEST(EngineLead, AnImageThatCannotBeReadGivesTheLeadBack) {
  Desk desk;
  desk.win();
  const auto order = desk.take_order<LoadImage>();
  desk.tell(ImageRead{order->term, std::unexpected(std::string("a broken page"))});
  EXPECT_EQ(desk.take_order<LoadFailed>()->why, "a broken page");
  EXPECT_TRUE(desk.has<core::lead::Release>());
  EXPECT_FALSE(desk.engine().serves());
}

TEST(EngineStop, CommitsWhatWasGatheredBeforeItGivesTheLeadBack) {
  Desk desk;
  desk.lead();
  desk.ask(submit(1));
  desk.tell(StopRequested{});
  EXPECT_FALSE(desk.engine().wants_asked());
  EXPECT_FALSE(desk.has<core::lead::Release>());
  desk.turn();
  ASSERT_TRUE(desk.has<WriteBatch>());
  desk.turn();
  EXPECT_FALSE(desk.has<core::lead::Release>()) << "not while it is being written";
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1));
  EXPECT_FALSE(desk.engine().is_done());
  desk.turn();
  EXPECT_TRUE(desk.has<core::lead::Release>());
  EXPECT_EQ(desk.take_order<RefuseAll>()->why, Unserved::kNotLeader);
  EXPECT_TRUE(desk.engine().is_done());
}

TEST(EngineStop, OneThatOnlyWaitsToLeadEndsAtOnce) {
  Desk desk;
  desk.turn();
  desk.tell(StopRequested{});
  EXPECT_TRUE(desk.engine().is_done());
}

TEST(EngineAdopt, AFinishedRunIsReadOnlyWhenEverythingBeforeIsDurable) {
  Desk desk;
  desk.lead();
  const TaskId task = desk.finished_run();
  desk.ask(submit(1));
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  EXPECT_FALSE(desk.engine().wants_asked()) << "the steps stand still";
  for (const std::uint64_t held_back : {3U, 4U, 5U}) desk.ask(submit(held_back));
  desk.turn();
  EXPECT_FALSE(desk.has<ReadRun>());
  desk.commit();
  desk.turn();
  const auto order = desk.take_order<ReadRun>();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->run, task.run);
  desk.turn();
  EXPECT_FALSE(desk.has<ReadRun>()) << "once is enough";
  desk.tell(RunRead{order->term, desk.store.run_image(task.run)});
  desk.turn();
  desk.commit();
  const auto answer = desk.answer_to(RequestId{2});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<core::Refusal>(*answer).kind, core::RefusalKind::kWrongState)
      << "judged by what was read: it was cancelled, not failed";
  EXPECT_THAT(desk.answered(), ElementsAre(1, 2, 3, 4, 5)) << "in the order they were asked in";
}

// Every step also goes on with long work of other runs: that is not lost with the refusal.
TEST(EngineAdopt, WhatElseTheStepDidIsDurable) {
  EngineConfig config = Desk::test_config();
  config.policy.bulk_tasks_per_step = 1;
  Desk desk(config);
  desk.lead();
  const TaskId task = desk.finished_run();
  core::SubmitRun wide = submit(1);
  NodeSpec map = testing::node("m");
  map.map.emplace();
  map.map->over = MapRange{1, 3, 1};
  wide.dag = testing::dag({map});
  desk.ask(wide);
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  ASSERT_FALSE(desk.engine().wants_asked());
  const std::size_t made = desk.engine().state()->tasks.live();
  ASSERT_GE(made, 1u) << "its first item";
  desk.turn();
  desk.commit();
  std::size_t written = 0;
  for (const auto& [id, row] : desk.store.tasks) written += id.run == task.run ? 0 : 1;
  EXPECT_GE(written, made);
}

TEST(EngineAdopt, ARunThatIsNotKeptAnyMoreIsRefused) {
  Desk desk;
  desk.lead();
  const TaskId task = desk.finished_run();
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  desk.turn();
  const auto order = desk.take_order<ReadRun>();
  ASSERT_TRUE(order);
  desk.tell(RunRead{order->term, std::nullopt});
  desk.turn();
  const auto answer = desk.answer_to(RequestId{2});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<core::Refusal>(*answer).kind, core::RefusalKind::kUnknownRun);
}

TEST(EngineAdopt, ARunReadInAnEarlierTermIsNotAdopted) {
  Desk desk;
  desk.lead();
  const TaskId task = desk.finished_run();
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  desk.turn();
  const auto old_order = desk.take_order<ReadRun>();
  desk.pass(seconds(80));
  desk.turn();
  desk.orders.clear();
  desk.lead();
  desk.ask(core::RetryTask{RequestId{3}, task, nullptr});
  desk.turn();
  desk.orders.clear();
  desk.tell(RunRead{old_order->term, desk.store.run_image(task.run)});
  desk.turn();
  EXPECT_FALSE(desk.answer_to(RequestId{3})) << "it waits for what it asked for itself";
}

TEST(EngineAdopt, WhatWasHeldBackIsRefusedWhenTheTermEnds) {
  Desk desk;
  desk.lead();
  const TaskId task = desk.finished_run();
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  desk.ask(submit(3));
  desk.pass(seconds(80));
  desk.turn();
  const auto refused = desk.take_order<Refuse>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request, RequestId{3});
  EXPECT_EQ(refused->why, Unserved::kNotLeader) << "it was never stepped";
}

TEST(EngineRetention, ForgetsRunsTogetherWithTheirKeys) {
  Desk desk;
  desk.lead();
  desk.ask(submit(1, "key"));
  desk.turn();
  desk.commit();
  desk.orders.clear();
  desk.tell(Expirable{desk.term, {{RunId{77}, "other"}}});
  desk.turn();
  ASSERT_TRUE(desk.writing);
  EXPECT_THAT(desk.writing->batch->commit().expired, ElementsAre(RunId{77}));
  desk.commit();
  desk.tell(Expirable{desk.term, {{RunId{1}, "key"}}});
  desk.turn();
  EXPECT_FALSE(desk.writing) << "a run that is live again is not forgotten";
  EXPECT_TRUE(desk.engine().state()->keys.contains("key"));
  desk.tell(Expirable{Term{desk.term.value + 1}, {{RunId{78}, ""}}});
  desk.turn();
  EXPECT_FALSE(desk.writing) << "an answer of another term means nothing";
}

TEST(EngineRetention, ARunThatIsBeingReadIsNotForgotten) {
  Desk desk;
  desk.lead();
  const TaskId task = desk.finished_run();
  desk.ask(core::RetryTask{RequestId{2}, task, nullptr});
  desk.turn();
  const auto order = desk.take_order<ReadRun>();
  ASSERT_TRUE(order);
  desk.tell(Expirable{desk.term, {{task.run, "key"}, {RunId{77}, ""}}});
  desk.turn();
  ASSERT_TRUE(desk.writing);
  EXPECT_THAT(desk.writing->batch->commit().expired, ElementsAre(RunId{77}));
  desk.commit();
  desk.tell(RunRead{order->term, desk.store.run_image(task.run)});
  desk.tell(Expirable{desk.term, {{task.run, "key"}}});
  desk.turn();
  ASSERT_TRUE(desk.writing) << "it stayed as it was: from now on it may go";
  EXPECT_THAT(desk.writing->batch->commit().expired, ElementsAre(task.run));
}

TEST(EngineRetention, LooksOnceInEachInterval) {
  EngineConfig config = Desk::test_config();
  config.retention_interval = seconds(5);
  Desk desk(config);
  desk.lead();
  desk.pass(seconds(5));
  desk.turn();
  EXPECT_TRUE(desk.take_order<FindExpirable>());
  if (desk.writing) desk.commit();
  desk.turn();
  EXPECT_FALSE(desk.has<FindExpirable>());
  desk.tell(Expirable{desk.term, {}});
  desk.pass(millis(60));
  desk.turn();
  EXPECT_TRUE(desk.has<FindExpirable>()) << "there was more: soon again";
}

TEST(EngineCheck, SlicesAreTakenAtTheEdgeOfACommit) {
  Desk desk;
  desk.lead();
  desk.ask(submit(1));
  desk.tell(CheckRequested{});
  EXPECT_FALSE(desk.has<TakeSlice>()) << "what was stepped is not with the store yet";
  desk.turn();
  ASSERT_EQ(desk.orders.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<WriteBatch>(desk.orders[0]));
  ASSERT_TRUE(std::holds_alternative<TakeSlice>(desk.orders[1]));
  EXPECT_TRUE(std::get<TakeSlice>(desk.orders[1]).first);
  desk.orders.clear();
  desk.commit();
  desk.tell(SliceChecked{desk.term, false, {}});
  desk.pass(millis(10));
  desk.turn();
  const auto further = desk.take_order<TakeSlice>();
  ASSERT_TRUE(further);
  EXPECT_FALSE(further->first);
  desk.tell(SliceChecked{desk.term, true, {}});
  const auto end = desk.take_order<CheckEnded>();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->reloads);
  EXPECT_TRUE(desk.engine().serves());
}

TEST(EngineCheck, WhatDiffersFromTheStoreIsLoadedAgainOnce) {
  Desk desk;
  desk.lead();
  const auto check = [&desk] {
    desk.tell(CheckRequested{});
    desk.turn();
    ASSERT_TRUE(desk.take_order<TakeSlice>());
    desk.tell(SliceChecked{desk.term, true, {"task 7 is gone"}});
  };
  check();
  EXPECT_TRUE(desk.take_order<CheckEnded>()->reloads);
  EXPECT_FALSE(desk.engine().serves());
  desk.orders.clear();
  desk.win();
  desk.load();
  ASSERT_TRUE(desk.writing) << "what was found is noted in the first commit";
  ASSERT_EQ(desk.writing->batch->events.size(), 1U);
  desk.commit();
  desk.turn();
  if (desk.writing) desk.commit();
  desk.orders.clear();
  check();
  EXPECT_FALSE(desk.take_order<CheckEnded>()->reloads) << "another load would not cure it";
  EXPECT_TRUE(desk.engine().serves());
}

}  // namespace
}  // namespace vortex::engine
