// What every store says about its controllers: who leads, who is there, when the lead is free.

#include <atomic>
#include <memory>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/dump.h"

namespace vortex::store::testing {
namespace {

const Candidate kOther{ControllerId{"other"}, "http://127.0.0.1:8081"};

class ControllersTest : public ::testing::TestWithParam<Backend> {
 protected:
  ControllersTest() : bed(GetParam()), reader(bed.reader()) {}

  std::optional<Leader> leader() {
    auto read = reader->leader();
    EXPECT_TRUE(read) << read.error().detail;
    return read ? *read : std::nullopt;
  }
  std::string ids() {
    std::string all;
    const auto rows = reader->controllers();
    EXPECT_TRUE(rows) << rows.error().detail;
    for (const ControllerRow& row : *rows) all += row.id.text + " ";
    return all;
  }

  Bed bed;
  std::unique_ptr<Reader> reader;
};

INSTANTIATE_TEST_SUITE_P(, ControllersTest, ::testing::ValuesIn(kAllBackends),
                         [](const auto& chosen) { return name_of(chosen.param); });

TEST_P(ControllersTest, LeaderIsWhoAcquiredLastUntilItReleases) {
  const Won won = bed.acquire();
  auto read = leader();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, kBedController.id);
  EXPECT_EQ(read->url, kBedController.url);
  EXPECT_EQ(read->term, won.term);
  EXPECT_EQ(read->since, won.database_now);
  ASSERT_TRUE(bed.writer().renew(won.term, seconds(10)));
  EXPECT_EQ(leader()->since, won.database_now) << "a renewal is no new term";
  bed.writer().release(Term{won.term.value - 1});
  EXPECT_TRUE(leader()) << "an earlier term releases nothing";
  bed.writer().release(won.term);
  EXPECT_FALSE(leader());
}

TEST_P(ControllersTest, AnnouncedControllersAreListedUntilTheyAreNotSeenForAWhile) {
  ASSERT_TRUE(bed.writer().announce(kBedController));
  ASSERT_TRUE(bed.writer().announce(kOther));
  EXPECT_EQ(ids(), "controller other ");
  bed.wall = bed.wall + kControllersKept;
  ASSERT_TRUE(bed.writer().announce({kOther.id, "http://127.0.0.1:9999"}));
  EXPECT_EQ(ids(), "controller other ");
  bed.wall = bed.wall + millis(1);
  ASSERT_TRUE(bed.writer().announce(kOther));
  EXPECT_EQ(ids(), "other ");
  const auto rows = reader->controllers();
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front().url, kOther.url);
  EXPECT_EQ(rows->front().seen_at, bed.wall);
}

TEST_P(ControllersTest, AnnouncementNeedsNoTermAndEndsNone) {
  const Term term = bed.term();
  ASSERT_TRUE(bed.writer().announce(kOther));
  EXPECT_TRUE(bed.writer().renew(term, seconds(10)));
  EXPECT_EQ(leader()->id, kBedController.id);
}

TEST_P(ControllersTest, SecondControllerWaitsForTheLeaseOrTheRelease) {
  const std::unique_ptr<Store> other = bed.another();
  if (!other) GTEST_SKIP() << "one controller only";
  const Won first = bed.acquire();
  auto answer = other->writer().acquire(kOther, seconds(10));
  ASSERT_TRUE(answer);
  ASSERT_TRUE(std::holds_alternative<HeldByOther>(*answer));
  EXPECT_EQ(std::get<HeldByOther>(*answer).holder, kBedController.id);
  EXPECT_GT(std::get<HeldByOther>(*answer).remaining, Duration{});
  EXPECT_LE(std::get<HeldByOther>(*answer).remaining, seconds(10));
  std::atomic<int> told{0};
  other->watch([&told] {
    ++told;
    told.notify_all();
  });
  bed.writer().release(first.term);
  told.wait(0);
  other->watch({});
  answer = other->writer().acquire(kOther, seconds(10));
  ASSERT_TRUE(answer);
  ASSERT_TRUE(std::holds_alternative<Won>(*answer));
  EXPECT_EQ(std::get<Won>(*answer).term, first.term.next());
  EXPECT_EQ(leader()->url, kOther.url);
  Commit late;
  late.term = first.term;
  late.now = first.database_now;
  EXPECT_EQ(bed.writer().commit(late).error().fault, Fault::kFenced);
}

TEST_P(ControllersTest, LeaseThatEndedLeavesNobodyLeading) {
  const std::unique_ptr<Store> other = bed.another();
  if (!other) GTEST_SKIP() << "nobody else could take it";
  if (GetParam() == Backend::kPostgres) GTEST_SKIP() << "its clock is its own: postgres_test.cc";
  const Won first = bed.acquire();
  bed.wall = bed.wall + seconds(9);
  ASSERT_TRUE(bed.writer().renew(first.term, seconds(10)));
  bed.wall = bed.wall + seconds(9);
  EXPECT_TRUE(leader());
  bed.wall = bed.wall + seconds(1);
  EXPECT_FALSE(leader());
  const auto answer = other->writer().acquire(kOther, seconds(10));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<Won>(*answer));
  EXPECT_EQ(bed.writer().renew(first.term, seconds(10)).error().fault, Fault::kFenced);
}

}  // namespace
}  // namespace vortex::store::testing
