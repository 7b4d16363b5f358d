#include "sim/world.h"

#include <set>

#include <gtest/gtest.h>

#include "base/reached.h"
#include "sim/regress.h"

namespace vortex::sim {
namespace {

Case case_of(std::uint64_t seed) {
  Case c;
  c.seed = seed;
  return c;
}

TEST(World, TheSameSeedGivesTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(run_case(case_of(seed)).hash, run_case(case_of(seed)).hash) << "seed " << seed;
  }
}

TEST(World, WatchingDoesNotChangeWhatHappens) {
  std::size_t lines = 0;
  const auto watched = run_case(case_of(7), [&](const TraceLine&) { ++lines; });
  EXPECT_EQ(watched.hash, run_case(case_of(7)).hash);
  EXPECT_GT(lines, 0U);
}

TEST(World, DifferentSeedsGiveDifferentHistories) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) hashes.insert(run_case(case_of(seed)).hash);
  EXPECT_EQ(hashes.size(), 50U);
}

TEST(World, SomeHundredSeedsBreakNoInvariant) {
  for (std::uint64_t seed = 900'000; seed < 900'300; ++seed) {
    const Result result = run_case(case_of(seed));
    for (const Violation& broken : result.violations) {
      ADD_FAILURE() << "seed " << seed << ": " << broken.invariant << ": " << broken.detail;
    }
  }
}

TEST(World, EverySavedCaseStaysClean) {
  const auto saved = read_cases(std::string(VX_SOURCE_ROOT) + "/tests/regress");
  ASSERT_TRUE(saved.has_value()) << saved.error();
  EXPECT_GE(saved->size(), 2U);
  for (const SavedCase& one : *saved) {
    const Result result = run_case(one.parsed);
    for (const Violation& broken : result.violations) {
      ADD_FAILURE() << one.file << ": " << broken.invariant << ": " << broken.detail;
    }
  }
}

TEST(World, ACaseSurvivesBeingWrittenAndRead) {
  Case c = case_of(4711);
  c.off = {FaultKind::kTwin, FaultKind::kWallJump};
  c.no_faults = {1, 3};
  c.no_acts = {2};
  c.no_workers = {0};
  const auto read = parse_case(to_text(c));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, c);
}

TEST(World, ABrokenCaseFileIsRefusedWithItsLine) {
  const auto read = parse_case("seed 1\noff no-such-fault\n");
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().find("no-such-fault"), std::string::npos) << read.error();
}

}  // namespace
}  // namespace vortex::sim
