// A copy to another kind of database answers every question as the source did, also when it was
// interrupted, and nothing starts on one that is not finished.

#include "store/copy.h"

#include <utility>

#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/compare.h"
#include "tests/store/rows.h"
#include "tests/store/world.h"
#include "tests/support/postgres/postgres_cluster.h"

namespace vortex::store::testing {
namespace {

using vortex::testing::PostgresCluster;

class CopyTest : public ::testing::Test {
 protected:
  CopyTest() {
    for (int i = 0; i < 40; ++i) {
      const auto done = bed.writer().commit(world.next(bed.term()));
      if (!done) throw std::runtime_error(done.error().detail);
    }
    const auto reader = bed.reader();
    before = ask_everything(bed.writer(), *reader, world, 7);
    bed.close();
  }

  // The same questions, asked of a store that was just opened.
  Answers asked(Store& store) {
    auto won = store.writer().acquire(kBedController, seconds(10));
    EXPECT_TRUE(won) << won.error().detail;
    auto reader = store.reader();
    EXPECT_TRUE(reader);
    return ask_everything(store.writer(), **reader, world, 7);
  }
  Answers asked_postgres() {
    auto store = open_postgres(postgres());
    EXPECT_TRUE(store) << store.error().detail;
    return asked(**store);
  }
  PostgresOptions postgres() const {
    PostgresOptions options;
    options.url = url;
    options.logs = kSmallLogs;
    return options;
  }
  void expect_same(const Answers& after) {
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [question, answer] : before) EXPECT_EQ(answer, after.at(question)) << question;
  }
  Result<CopyDone> copy(const std::string& from, const std::string& to,
                        std::function<void(const CopyProgress&)> progress = {}) {
    return copy_store({.from = from, .to = to, .progress = std::move(progress)});
  }

  Bed bed{Backend::kSqlite};
  World world{5};
  Answers before;
  TempFolder folder;
  std::string url = PostgresCluster::shared().new_schema();
};

TEST_F(CopyTest, ThereAndBackNothingIsLost) {
  const auto there = copy(bed.path(), url);
  ASSERT_TRUE(there) << there.error().detail;
  EXPECT_GT(there->rows, 100U);
  expect_same(asked_postgres());
  const std::string back = folder.file("back.db");
  const auto again = copy(url, back);
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->hash, there->hash);
  SqliteOptions options;
  options.path = back;
  options.logs = kSmallLogs;
  auto store = open_sqlite(options);
  ASSERT_TRUE(store) << store.error().detail;
  expect_same(asked(**store));
}

TEST_F(CopyTest, InterruptedCopyOpensForNobodyAndGoesOn) {
  PostgresCluster& cluster = PostgresCluster::shared();
  bool stopped = false;
  const auto cut = [&](const CopyProgress& so_far) {
    if (so_far.table != "attempts" || so_far.verifying || std::exchange(stopped, true)) return;
    cluster.stop();
  };
  const auto broken = copy(bed.path(), url, cut);
  cluster.start();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().fault, Fault::kUnavailable) << broken.error().detail;
  const auto refused = open_postgres(postgres());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBadRequest) << refused.error().detail;
  const auto done = copy(bed.path(), url);
  ASSERT_TRUE(done) << done.error().detail;
  expect_same(asked_postgres());
}

TEST_F(CopyTest, TargetThatHoldsSomethingIsLeftAlone) {
  ASSERT_TRUE(copy(bed.path(), url));
  const auto refused = copy(bed.path(), url);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBadRequest) << refused.error().detail;
  expect_same(asked_postgres());
}

TEST_F(CopyTest, NothingIsCopiedWhileAControllerLeadsAtEitherEnd) {
  bed.reopen();
  auto refused = copy(bed.path(), url);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kLocked) << refused.error().detail;
  bed.close();
  auto store = open_postgres(postgres());
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->writer().acquire(kBedController, seconds(60)));
  refused = copy(bed.path(), url);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kLocked) << refused.error().detail;
}

TEST_F(CopyTest, SourceThatIsNotThereIsNotMade) {
  const std::string nowhere = folder.file("nowhere.db");
  EXPECT_FALSE(copy(nowhere, url));
  EXPECT_FALSE(std::filesystem::exists(nowhere));
}

}  // namespace
}  // namespace vortex::store::testing
