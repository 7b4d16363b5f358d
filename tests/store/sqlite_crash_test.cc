// kill -9 in the middle of writing: what was acknowledged is there, nothing is there by half.

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "store/sqlite/check.h"
#include "tests/store/bed.h"
#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

std::unique_ptr<Store> must_open(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.checkpoint_pages = 20;  // so that some kills hit a checkpoint
  auto opened = open_sqlite(options);
  if (!opened) std::abort();
  return *std::move(opened);
}

Term lead(Writer& writer) {
  const auto won = writer.acquire({ControllerId{"c"}, {}}, seconds(1));
  if (!won) std::abort();
  return std::get<Won>(*won).term;
}

Commit commit_number(std::uint64_t number, const PlanPtr& plan, Term term) {
  Commit commit;
  commit.term = term;
  commit.now = kT0 + millis(static_cast<std::int64_t>(number));
  add_run(commit.rows, run_row(number, plan));
  CounterRow counters;
  counters.next_run = {number + 1};
  counters.next_event = number + 1;
  counters.tasks[number_of(TaskState::kQueued)] = number * plan->tasks;
  commit.rows.counters = counters;
  commit.events = {.first_seq = number, .last_seq = number, .lines = "{}\n"};
  commit.logs.push_back(
      {.attempt = {task_id(number, 0), {1}}, .offset = 0, .data = std::string(2'000, 'x')});
  return commit;
}

// Commits without end, each acknowledged with one byte.
[[noreturn]] void write_until_killed(const std::string& path, int acknowledge) {
  const auto store = must_open(path);
  const PlanPtr plan = sample_plan("thumbs", 20);
  const Term term = lead(store->writer());
  std::uint64_t next = store->writer().image()->counters.next_run.value;
  for (;; ++next) {
    if (!store->writer().commit(commit_number(next, plan, term))) std::abort();
    if (::write(acknowledge, "+", 1) != 1) std::abort();
  }
}

// Gives how many commits were acknowledged before the kill.
std::uint64_t write_and_kill(const std::string& path, std::uint64_t kill_after) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    write_until_killed(path, ends[1]);
  }
  ::close(ends[1]);
  std::uint64_t acknowledged = 0;
  char byte = 0;
  while (acknowledged < kill_after && ::read(ends[0], &byte, 1) == 1) ++acknowledged;
  ::kill(pid, SIGKILL);
  while (::read(ends[0], &byte, 1) == 1) ++acknowledged;
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return acknowledged;
}

TEST(SqliteCrash, KilledWriterLosesNothingThatWasAcknowledgedAndLeavesNothingByHalf) {
  const TempFolder folder;
  const std::string path = folder.file("v.db");
  Rng rng(7);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 12; ++round) {
    const std::uint64_t before = acknowledged;
    acknowledged += write_and_kill(path, 1 + rng.below(20));
    const auto store = must_open(path);
    const auto image = store->writer().image();
    ASSERT_TRUE(image) << image.error().detail;
    const std::uint64_t there = image->counters.next_run.value - 1;
    ASSERT_GE(there, acknowledged) << "an acknowledged commit is lost";
    ASSERT_LE(there, acknowledged + 1) << "more than the one commit in flight appeared";
    ASSERT_GT(there, before);
    ASSERT_EQ(image->runs.size(), there);
    for (const RunImage& run : image->runs) ASSERT_EQ(run.tasks.size(), 22U);
    const auto reader = *store->reader();
    ASSERT_EQ(reader->events_after(there - 1, 1)->last_seq, there);
    ASSERT_EQ(reader->log({.attempt = {task_id(there, 0), {1}}})->size, 2'000U);
    acknowledged = there;
  }
  const auto report = check_sqlite(path);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_TRUE(report->problems.empty()) << report->problems.front();
}

}  // namespace
}  // namespace vortex::store::testing
