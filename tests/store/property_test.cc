// Two stores that are fed the same commits give the same answers to every question, whatever the
// commits were, also after one of them was closed and opened again.

#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/compare.h"
#include "tests/store/world.h"

namespace vortex::store::testing {
namespace {

void expect_same(Bed& one, Bed& other, const World& world, std::uint32_t limit) {
  const auto reader_one = one.reader();
  const auto reader_other = other.reader();
  const Answers a = ask_everything(one.writer(), *reader_one, world, limit);
  const Answers b = ask_everything(other.writer(), *reader_other, world, limit);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [question, answer] : a) ASSERT_EQ(answer, b.at(question)) << question;
}

void sweep_all(Bed& bed, const World& world, std::uint32_t rows) {
  const Retention keep{.runs_for = {}, .runs_max = 0, .events_for = hours(6)};
  for (int i = 0; i < 10'000; ++i) {
    const auto more = bed.writer().sweep(keep, world.now(), rows);
    ASSERT_TRUE(more) << more.error().detail;
    if (!*more) return;
  }
  FAIL() << "sweeping has no end";
}

void live(std::uint64_t seed, Backend backend) {
  SCOPED_TRACE(seed);
  Bed memory(Backend::kMemory);
  Bed other_bed(backend);
  World world(seed);
  Rng rng(seed);
  for (int step = 0; step < 25; ++step) {
    if (rng.chance(150)) {
      memory.reopen();
      other_bed.reopen();
    }
    ASSERT_EQ(memory.term(), other_bed.term());
    const bool bad = rng.chance(150);
    const Commit commit = bad ? world.unacceptable(memory.term()) : world.next(memory.term());
    const auto one = memory.writer().commit(commit);
    const auto other = other_bed.writer().commit(commit);
    ASSERT_EQ(one.has_value(), !bad) << one.error().detail;
    ASSERT_EQ(other.has_value(), !bad) << other.error().detail;
    if (bad) {
      ASSERT_EQ(one.error().fault, other.error().fault);
    }
    if (rng.chance(100)) {
      sweep_all(memory, world, 3);
      sweep_all(other_bed, world, 3);
    }
    if (step % 6 == 5) {
      expect_same(memory, other_bed, world, static_cast<std::uint32_t>(rng.between(1, 9)));
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class StoreProperty : public ::testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(, StoreProperty, ::testing::Values(Backend::kSqlite, Backend::kPostgres),
                         [](const auto& chosen) { return name_of(chosen.param); });

TEST_P(StoreProperty, AnswersAsTheStoreInMemoryDoes) {
  const std::uint64_t seeds = GetParam() == Backend::kPostgres ? 4 : 12;  // it is slower
  for (std::uint64_t seed = 1; seed <= seeds && !HasFatalFailure(); ++seed) live(seed, GetParam());
}

}  // namespace
}  // namespace vortex::store::testing
