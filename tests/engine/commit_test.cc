// Durable first, then answer: what is written, in which order, and what leaves when.

#include <gmock/gmock.h>

#include "tests/engine/desk.h"

namespace vortex::engine {
namespace {

using How = CommitEnded::How;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CommitTest : public ::testing::Test {
 protected:
  void SetUp() override { desk.lead(); }
  Desk desk;
};

TEST_F(CommitTest, NothingLeavesBeforeItsCommit) {
  desk.ask(submit(1));
  EXPECT_THAT(desk.orders, IsEmpty()) << "it is only gathered";
  desk.turn();
  EXPECT_TRUE(desk.has<WriteBatch>());
  EXPECT_FALSE(desk.has<ReleaseBatch>());
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1));
}

TEST_F(CommitTest, WhatComesDuringAWriteLeavesWithTheNextBatch) {
  desk.ask(submit(1));
  desk.turn();
  desk.ask(submit(2));
  desk.turn();
  const auto first = desk.take_order<WriteBatch>();
  EXPECT_FALSE(desk.has<WriteBatch>()) << "one batch is written at a time";
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1));
  desk.turn();
  ASSERT_TRUE(desk.writing);
  EXPECT_GT(desk.writing->number, first->number);
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(2));
}

TEST_F(CommitTest, ManyStepsAreOneBatchWithItsTermAndTime) {
  desk.ask(submit(1));
  desk.ask(submit(2));
  desk.pass(millis(3));
  desk.turn();
  const Commit& commit = desk.writing->batch->commit();
  EXPECT_EQ(commit.rows.runs.size(), 2U);
  EXPECT_EQ(commit.term, desk.term);
  EXPECT_EQ(commit.now, desk.engine().term_now(desk.now));
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1, 2));
}

TEST_F(CommitTest, AnAnswerThatWritesNothingStillWaitsForWhatIsBeingWritten) {
  desk.ask(submit(1));
  desk.turn();
  desk.ask(core::CheckAttempt{RequestId{2}, {}});
  desk.turn();
  EXPECT_THAT(desk.answered(), IsEmpty()) << "it was judged by what may not be durable yet";
  desk.commit();
  desk.turn();
  EXPECT_THAT(desk.answered(), ElementsAre(1, 2));
}

TEST_F(CommitTest, AnAnswerAloneNeedsNoCommit) {
  desk.ask(core::CheckAttempt{RequestId{2}, {}});
  desk.turn();
  EXPECT_FALSE(desk.has<WriteBatch>());
  EXPECT_THAT(desk.answered(), ElementsAre(2));
}

TEST_F(CommitTest, WhatTheShellWritesIsAnsweredAfterItsCommitToo) {
  desk.ask(SideWrite{RequestId{5}, TokenRow{}});
  desk.turn();
  ASSERT_TRUE(desk.writing);
  EXPECT_EQ(desk.writing->batch->commit().tokens.size(), 1U);
  EXPECT_THAT(desk.answered(), IsEmpty());
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(5));
}

TEST_F(CommitTest, TheSameBatchGoesAgainOnceSpaceWasMade) {
  desk.ask(submit(1));
  desk.turn();
  const WriteBatch first = *desk.writing;
  desk.end_commit(How::kFull);
  EXPECT_TRUE(desk.take_order<MakeSpace>());
  desk.turn();
  EXPECT_FALSE(desk.writing) << "not before somebody said that there is space";
  desk.tell(SpaceMade{true});
  ASSERT_TRUE(desk.writing);
  EXPECT_EQ(desk.writing->number, first.number);
  EXPECT_EQ(desk.writing->batch, first.batch);
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1));
}

TEST_F(CommitTest, AFullStoreIsTriedAgainAfterAWhile) {
  desk.ask(submit(1));
  desk.turn();
  desk.end_commit(How::kFull);
  desk.tell(SpaceMade{false});
  desk.turn();
  EXPECT_FALSE(desk.writing);
  desk.pass(desk.engine().next_wake() - desk.now);
  desk.pass(seconds(1));
  desk.turn();
  ASSERT_TRUE(desk.writing);
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(1));
}

TEST_F(CommitTest, SpaceMadeWithoutNeedWritesNothingTwice) {
  desk.ask(submit(1));
  desk.turn();
  desk.take_order<WriteBatch>();
  desk.tell(SpaceMade{true});
  EXPECT_FALSE(desk.has<WriteBatch>());
}

TEST_F(CommitTest, InDoubtEverythingIsThrownAwayAndNobodyIsToldYes) {
  desk.ask(submit(1));
  desk.turn();
  const WriteBatch doubtful = *desk.writing;
  desk.ask(submit(2));
  desk.end_commit(How::kInDoubt);
  EXPECT_FALSE(desk.engine().serves());
  EXPECT_EQ(desk.engine().state(), nullptr);
  const auto all = desk.take_order<RefuseAll>();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->why, Unserved::kInDoubt);
  EXPECT_THAT(desk.answered(), IsEmpty());
  desk.orders.clear();
  desk.tell(CommitEnded{doubtful.number, How::kDone});
  EXPECT_THAT(desk.orders, IsEmpty()) << "a late end of that commit means nothing any more";
}

TEST_F(CommitTest, AfterDoubtItComesBackWithAHigherTermAndWhatIsDurable) {
  desk.ask(submit(1));
  desk.turn();
  desk.store.apply(desk.writing->batch->commit().rows);  // it did happen
  desk.end_commit(How::kInDoubt);
  desk.orders.clear();
  const Term before = desk.term;
  desk.lead();
  EXPECT_GT(desk.term, before);
  EXPECT_EQ(desk.engine().state()->runs.size(), 1U);
}

TEST_F(CommitTest, AFencedWriteEndsTheTerm) {
  desk.ask(submit(1));
  desk.turn();
  desk.end_commit(How::kFenced);
  EXPECT_TRUE(desk.take_order<FoundFenced>());
  ASSERT_TRUE(desk.has<SteppedDown>());
  EXPECT_EQ(desk.take_order<SteppedDown>()->why, core::lead::StepDown::Why::kFenceLost);
  EXPECT_EQ(desk.take_order<RefuseAll>()->why, Unserved::kInDoubt);
  EXPECT_THAT(desk.answered(), IsEmpty());
}

TEST_F(CommitTest, ACommitThatEndsAfterTheLeaseIsOverAnswersNobody) {
  desk.ask(submit(1));
  desk.turn();
  desk.pass(seconds(80));  // beyond the 70 % of the lease that may be served
  desk.commit();
  EXPECT_THAT(desk.answered(), IsEmpty());
  EXPECT_EQ(desk.take_order<RefuseAll>()->why, Unserved::kInDoubt);
}

TEST_F(CommitTest, NothingIsHandedOverWhenTheLeaseIsOver) {
  desk.ask(submit(1));
  desk.pass(seconds(80));
  desk.turn();
  EXPECT_FALSE(desk.has<WriteBatch>());
  EXPECT_EQ(desk.take_order<RefuseAll>()->why, Unserved::kInDoubt);
}

TEST_F(CommitTest, AStalledStoreIsToldOnceAndKeepsNobodyAwake) {
  desk.ask(submit(1));
  desk.turn();
  desk.pass(seconds(1));
  desk.turn();
  const auto stalls = desk.take_order<StoreStalls>();
  ASSERT_TRUE(stalls);
  EXPECT_TRUE(stalls->stalls);
  EXPECT_FALSE(desk.engine().state()->store_writable);
  desk.pass(millis(1));
  desk.turn();
  EXPECT_FALSE(desk.has<StoreStalls>());
  EXPECT_GT(desk.engine().next_wake(), desk.now) << "only the end of the commit moves it";
  desk.commit();
  EXPECT_FALSE(desk.take_order<StoreStalls>()->stalls);
  EXPECT_TRUE(desk.engine().state()->store_writable);
  EXPECT_THAT(desk.answered(), ElementsAre(1));
}

TEST_F(CommitTest, ABatchThatIsLargeEnoughTakesNothingMore) {
  EngineConfig config = Desk::test_config();
  config.batch_rows_max = 3;
  Desk small(config);
  small.lead();
  EXPECT_TRUE(small.engine().wants_asked());
  small.ask(submit(1));
  small.ask(submit(2));
  EXPECT_FALSE(small.engine().wants_asked());
  small.turn();
  EXPECT_TRUE(small.engine().wants_asked()) << "the next one is gathered while it is written";
}

TEST_F(CommitTest, LowSpaceRefusesNewRunsAlone) {
  desk.tell(SpaceLow{true});
  desk.ask(submit(1));
  desk.ask(core::PauseQueue{RequestId{2}, "default", true});
  const auto refused = desk.take_order<Refuse>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request, RequestId{1});
  EXPECT_EQ(refused->why, Unserved::kNoSpace);
  desk.turn();
  desk.commit();
  EXPECT_THAT(desk.answered(), ElementsAre(2));
  desk.tell(SpaceLow{false});
  desk.ask(submit(3));
  EXPECT_FALSE(desk.has<Refuse>());
}

core::SubmitRun submit_map(std::uint64_t request, std::int64_t items) {
  core::SubmitRun command = submit(request);
  command.dag =
      vortex::testing::dag({vortex::testing::mapped("m", vortex::testing::range(1, items))});
  return command;
}

// A commit takes its time; whoever comes meanwhile waits for the next one. What is made of a huge
// run must not grow with that time, or both would grow together.
TEST(BulkTest, ACommitCarriesABoundedPartOfAHugeRun) {
  EngineConfig config = Desk::test_config();
  config.policy.bulk_tasks_per_step = 10;
  config.bulk_rows_max = 20;
  Desk desk(config);
  desk.lead();
  desk.ask(submit_map(1, 500));
  desk.turn();
  std::size_t tasks = 0;
  for (int commits = 0; commits < 100 && tasks < 500; ++commits) {
    ASSERT_TRUE(desk.writing);
    EXPECT_LE(desk.writing->batch->rows(), 20U + 10U + 2U);
    tasks += desk.writing->batch->commit().rows.tasks.size();
    // However long the store takes and however often it is looked after.
    for (int i = 0; i < 50; ++i) {
      desk.pass(millis(1));
      desk.turn();
    }
    EXPECT_TRUE(desk.engine().wants_asked()) << "others are let in";
    EXPECT_GT(desk.engine().next_wake(), desk.now) << "it does not spin while it waits";
    desk.commit();
    desk.turn();
  }
  EXPECT_EQ(tasks, 500U);
}

}  // namespace
}  // namespace vortex::engine
