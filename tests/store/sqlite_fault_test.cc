// Every write and sync of a scenario fails once, in turn: nothing is ever done by half, a definite
// answer stays true after a crash, and the store works again when the fault is over.

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/fault_vfs.h"
#include "tests/store/bed.h"
#include "tests/store/dump.h"
#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

using faults::FaultPlan;
using faults::FaultVfs;

SqliteOptions options_at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.checkpoint_pages = 30;
  options.wall_clock = [] { return kT0; };
  return options;
}

Commit step(int number, const PlanPtr& plan, Term term) {
  Commit commit;
  commit.term = term;
  commit.now = kT0 + millis(number);
  const auto id = static_cast<std::uint64_t>(number);
  add_run(commit.rows, run_row(id, plan, fmt::format("key-{}", number)));
  if (number > 1) {
    commit.rows.runs.push_back(finished(run_row(id - 1, plan), commit.now));
    commit.logs.push_back(
        {.attempt = {task_id(id - 1, 0), {1}}, .offset = 0, .data = std::string(9'000, 'y')});
  }
  if (number > 2) commit.expired = {{id - 2}};
  return commit;
}

// What the files would give back if the process died right now. Copied by another process: closing
// the database file here would drop the locks that SQLite holds on it.
std::string image_after_crash(const TempFolder& folder) {
  const std::string copy = folder.file("copy.db");
  const std::string from = folder.file("v.db");
  const pid_t child = ::fork();
  if (child == 0) {
    std::error_code error;
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(copy + part, error);
    std::filesystem::copy_file(from, copy, error);
    if (!error) std::filesystem::copy_file(from + "-wal", copy + "-wal", error);
    ::_exit(error ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) return "no copy";
  auto store = open_sqlite(options_at(copy));
  if (!store) return store.error().detail;
  return show((*store)->writer().image());
}

// How failed commits of all scenarios answered.
struct Seen {
  int definite = 0;
  int unknown = 0;
};

class Scenario {
 public:
  Scenario(FaultPlan plan, Seen& seen)
      : fault_(plan), faults_(plan), options_(options_at(folder_.file("v.db"))), seen_(seen) {
    options_.vfs = faults_.name();
  }

  // True: the fault came to light. Failures of expectations are reported to GoogleTest.
  bool run(const std::string& ready_file) {
    std::filesystem::copy_file(ready_file, options_.path);
    auto opened = open_sqlite(options_);
    if (!opened) {
      expect_known_fault(opened.error());
      return true;
    }
    store_ = *std::move(opened);
    if (!lead()) return true;
    before_ = show(writer().image());
    for (int number = 1; number <= 3; ++number) {
      if (!commit(number)) faulted_ = true;
      if (::testing::Test::HasFailure()) return true;
    }
    return faulted_;
  }

 private:
  Writer& writer() { return store_->writer(); }

  bool lead() {
    for (int tries = 0; tries < 2; ++tries) {
      const auto won = writer().acquire({ControllerId{"c"}, {}}, seconds(1));
      if (won) {
        term_ = std::get<Won>(*won).term;
        return true;
      }
      faulted_ = true;
      expect_known_fault(won.error());
    }
    ADD_FAILURE() << "leadership cannot be had again";
    return false;
  }

  bool commit(int number) {
    const Commit next = step(number, plan_, term_);
    const auto done = writer().commit(next);
    if (done) {
      before_ = show(writer().image());
      return true;
    }
    expect_known_fault(done.error());
    const bool unknown = done.error().fault == Fault::kUnknown;
    ++(unknown ? seen_.unknown : seen_.definite);
    EXPECT_EQ(show(writer().image()), before_) << "a failed commit shows";
    const std::string crashed = image_after_crash(folder_);
    if (!unknown) {
      EXPECT_EQ(crashed, before_) << "a definite failure turned up after a crash";
    }
    if (unknown) {
      const auto refused = writer().commit(next);
      EXPECT_FALSE(refused) << "nothing may be written on top of a doubt";
      if (!lead()) return false;
    }
    const auto again = writer().commit(step(number, plan_, term_));
    EXPECT_TRUE(again) << again.error().detail;
    const std::string after = show(writer().image());
    if (unknown) {
      EXPECT_TRUE(crashed == before_ || crashed == after) << crashed;
    }
    EXPECT_EQ(image_after_crash(folder_), after) << "an acknowledged commit is lost";
    before_ = after;
    return false;
  }

  void expect_known_fault(const Error& error) const {
    const bool full = fault_.kind == FaultPlan::Kind::kFull;
    const bool fine = error.fault == Fault::kUnknown ||
                      error.fault == (full ? Fault::kFull : Fault::kUnavailable) ||
                      error.fault == Fault::kUnavailable;
    EXPECT_TRUE(fine) << error.detail;
  }

  FaultPlan fault_;
  FaultVfs faults_;
  TempFolder folder_;
  SqliteOptions options_;
  std::unique_ptr<Store> store_;
  PlanPtr plan_ = sample_plan("thumbs", 2);
  Term term_;
  std::string before_;
  bool faulted_ = false;
  Seen& seen_;
};

Seen fail_every_call(FaultPlan::Kind kind) {
  const TempFolder folder;
  const std::string ready_file = folder.file("ready.db");
  EXPECT_TRUE(open_sqlite(options_at(ready_file)));
  Seen seen;
  std::uint64_t quiet = 0;
  // Failures while the log is moved into the file stay unseen, because nothing is lost by them:
  // only many in a row say that the scenario has no more calls.
  for (std::uint64_t call = 1; quiet < 60 && !::testing::Test::HasFailure(); ++call) {
    SCOPED_TRACE(call);
    Scenario scenario({.kind = kind, .first = call, .last = call}, seen);
    quiet = scenario.run(ready_file) ? 0 : quiet + 1;
  }
  return seen;
}

TEST(SqliteFault, FullDiskAtAnyWriteLeavesNothingByHalf) {
  const Seen seen = fail_every_call(FaultPlan::Kind::kFull);
  EXPECT_GT(seen.definite, 40);
}

TEST(SqliteFault, ErrorAtAnyWriteOrSyncLeavesNothingByHalf) {
  const Seen seen = fail_every_call(FaultPlan::Kind::kIo);
  EXPECT_GT(seen.definite, 40);
  EXPECT_GE(seen.unknown, 3) << "the sync of each commit";
}

TEST(SqliteFault, NewFileThatCouldNotBeMadeIsMadeTheNextTime) {
  int refused = 0;
  for (std::uint64_t call = 1; call <= 90; call += 2) {
    SCOPED_TRACE(call);
    const TempFolder folder;
    SqliteOptions options = options_at(folder.file("v.db"));
    {
      const FaultVfs faults({.kind = FaultPlan::Kind::kFull, .first = call, .last = call});
      options.vfs = faults.name();
      if (!open_sqlite(options)) ++refused;
    }
    options.vfs.clear();
    const auto again = open_sqlite(options);
    ASSERT_TRUE(again) << again.error().detail;
    ASSERT_TRUE((*again)->writer().image());
  }
  EXPECT_GT(refused, 30);
}

TEST(SqliteFault, FullDiskIsSaidSoUntilThereIsSpaceAgain) {
  const TempFolder folder;
  SqliteOptions options = options_at(folder.file("v.db"));
  ASSERT_TRUE(open_sqlite(options));
  const FaultVfs faults({.kind = FaultPlan::Kind::kFull, .first = 40, .last = 70});
  options.vfs = faults.name();
  const auto store = *open_sqlite(options);
  const PlanPtr plan = sample_plan("thumbs", 6);
  const Term term =
      std::get<Won>(*store->writer().acquire({ControllerId{"c"}, {}}, seconds(1))).term;
  int number = 1;
  int refused = 0;
  int not_writable = 0;
  for (int tries = 0; tries < 200 && number <= 12; ++tries) {
    const auto done = store->writer().commit(step(number, plan, term));
    if (done) {
      ++number;
      continue;
    }
    ASSERT_EQ(done.error().fault, Fault::kFull) << done.error().detail;
    ++refused;
    if (!store->writer().check_writable()) ++not_writable;
  }
  EXPECT_EQ(number, 13) << "works again by itself";
  EXPECT_GT(refused, 3);
  EXPECT_GT(not_writable, 3);
}

TEST(SqliteFault, LayerForTheWholeProcessIsBelowEveryStore) {
  const TempFolder folder;
  {
    const FaultVfs faults({.kind = FaultPlan::Kind::kFull, .first = 1},
                          FaultVfs::For::kWholeProcess);
    const auto refused = open_sqlite(options_at(folder.file("v.db")));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kFull);
  }
  EXPECT_TRUE(open_sqlite(options_at(folder.file("v.db")))) << "gone with its object";
}

TEST(FaultPlan, TextSaysWhichCallsFail) {
  EXPECT_EQ(faults::parse_fault_plan("full@17")->last, 17U);
  EXPECT_EQ(faults::parse_fault_plan("io@3-9")->last, 9U);
  EXPECT_EQ(faults::parse_fault_plan("io@3-")->last, ~std::uint64_t{0});
  EXPECT_EQ(faults::parse_fault_plan("io@3")->kind, FaultPlan::Kind::kIo);
  for (const char* text :
       {"", "full", "full@", "full@0", "full@x", "full@9-3", "disk@1", "io@1-x"}) {
    EXPECT_FALSE(faults::parse_fault_plan(text)) << text;
  }
}

}  // namespace
}  // namespace vortex::store::testing
