#include "sim/store.h"

#include <optional>

#include <gtest/gtest.h>

#include "core/state/policy.h"
#include "sim/draw.h"

namespace vortex::sim {
namespace {

// A store alone with one controller host, and no fault unless the test makes one.
class StoreTest : public testing::Test {
 protected:
  static sim::Setup calm() {
    sim::Setup setup;
    setup.controllers = 1;
    setup.timings.store_limit = seconds(1);
    return setup;
  }

  std::shared_ptr<const engine::Batch> batch(Term term, RunId run) {
    core::Effects effects;
    RunRow& row = effects.rows.runs.emplace_back();
    row.id = run;
    row.plan = std::make_shared<const DagPlan>();
    row.request = std::make_shared<const RunRequest>();
    auto out = std::make_shared<engine::Batch>();
    out->add(std::move(effects), {});
    out->seal(term, {});
    return out;
  }

  std::optional<CommitOutcome> commit(Term term, RunId run) {
    std::optional<CommitOutcome> outcome;
    store.commit(setup.controller_host(0), batch(term, run), [&](CommitOutcome o) { outcome = o; });
    while (!agenda.empty() && !outcome) agenda.run_next();
    return outcome;
  }

  bool has(RunId run) const { return store.tables().run_image(run).has_value(); }

  sim::Setup setup = calm();
  Agenda agenda{Rng(1)};
  Network network{agenda, Rng(2), setup.store_host().value + 1, LinkStrength{}};
  Recorder recorder{agenda, core::Policy{}, {}};
  SimStore store{agenda, network, recorder, setup, Rng(3)};
};

TEST_F(StoreTest, ACommitOfTheLeaderIsDurable) {
  const auto term = store.acquire(ControllerId("c0"), seconds(10));
  ASSERT_TRUE(term);
  EXPECT_EQ(commit(term->term, {1}), CommitOutcome::kCommitted);
  EXPECT_TRUE(has({1}));
}

TEST_F(StoreTest, AFormerLeaderIsFencedAndChangesNothing) {
  const auto old_term = store.acquire(ControllerId("c0"), seconds(10));
  store.free_lease(old_term->term);
  const auto term = store.acquire(ControllerId("c1"), seconds(10));
  ASSERT_GT(term->term, old_term->term);
  EXPECT_EQ(commit(old_term->term, {1}), CommitOutcome::kFenced);
  EXPECT_FALSE(has({1}));
}

TEST_F(StoreTest, AFullDiskRefusesAndLeavesNothing) {
  const auto term = store.acquire(ControllerId("c0"), seconds(10));
  store.full(true);
  EXPECT_EQ(commit(term->term, {1}), CommitOutcome::kFull);
  EXPECT_FALSE(has({1}));
  store.full(false);
  EXPECT_EQ(commit(term->term, {1}), CommitOutcome::kCommitted);
}

TEST_F(StoreTest, ALostAnswerLeavesTheCallerInDoubtThoughItHappened) {
  const auto term = store.acquire(ControllerId("c0"), seconds(10));
  network.cut(setup.store_host(), setup.controller_host(0), true);
  EXPECT_EQ(commit(term->term, {1}), CommitOutcome::kUnknown);
  EXPECT_TRUE(has({1}));
}

TEST_F(StoreTest, ALostRequestLeavesTheCallerInDoubtThoughNothingHappened) {
  const auto term = store.acquire(ControllerId("c0"), seconds(10));
  network.cut(setup.controller_host(0), setup.store_host(), true);
  EXPECT_EQ(commit(term->term, {1}), CommitOutcome::kUnknown);
  EXPECT_FALSE(has({1}));
}

TEST_F(StoreTest, WhoeverHoldsTheLeaseKeepsItUntilItEnds) {
  ASSERT_TRUE(store.acquire(ControllerId("c0"), seconds(10)));
  EXPECT_FALSE(store.acquire(ControllerId("c1"), seconds(10)));
}

TEST_F(StoreTest, TheHolderThatAsksAgainGetsAHigherTerm) {
  const auto first = store.acquire(ControllerId("c0"), seconds(10));
  const auto second = store.acquire(ControllerId("c0"), seconds(10));
  ASSERT_TRUE(first && second);
  EXPECT_GT(second->term, first->term);
}

TEST_F(StoreTest, AClockSetBackKeepsTheHolderAndGivesNoTermAnEarlierTime) {
  const auto first = store.acquire(ControllerId("c0"), seconds(10));
  store.jump_clock(Duration{} - hours(1));
  EXPECT_FALSE(store.acquire(ControllerId("c1"), seconds(10)));
  store.free_lease(first->term);
  const auto second = store.acquire(ControllerId("c1"), seconds(10));
  ASSERT_TRUE(second);
  EXPECT_GT(second->database_now, first->database_now);
}

TEST_F(StoreTest, AClockThatJumpsAheadEndsTheLease) {
  const auto first = store.acquire(ControllerId("c0"), seconds(10));
  store.jump_clock(seconds(11));
  const auto second = store.acquire(ControllerId("c1"), seconds(10));
  ASSERT_TRUE(second);
  EXPECT_EQ(commit(first->term, {1}), CommitOutcome::kFenced);
}

TEST_F(StoreTest, AForgottenRunIsGoneWithItsKeyAndSweptInSlices) {
  Tables tables;
  RowBatch rows;
  for (std::uint64_t run = 1; run <= 2; ++run) {
    RunRow& row = rows.runs.emplace_back();
    row.id = {run};
    row.state = RunState::kCompleted;
    row.finished_at = Instant{} + seconds(static_cast<std::int64_t>(run));
    row.request = std::make_shared<const RunRequest>(RunRequest{{}, {}, "key", 0});
    for (std::uint32_t task = 0; task < 3; ++task) rows.tasks.emplace_back().id = {{run}, task};
  }
  tables.apply(rows);
  RunRetention keep;
  keep.runs_max = 1;
  keep.at_once = 10;
  const auto expired = tables.expirable(keep, Instant{} + seconds(10));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].run, RunId{1});
  tables.forget(std::vector{expired[0].run});
  EXPECT_FALSE(tables.run_image({1}));
  EXPECT_EQ(tables.image().keys.size(), 1u);
  EXPECT_TRUE(tables.sweep(2));
  EXPECT_EQ(tables.tasks().size(), 4u);
  EXPECT_FALSE(tables.sweep(2));
  EXPECT_EQ(tables.tasks().size(), 3u);
}

}  // namespace
}  // namespace vortex::sim
