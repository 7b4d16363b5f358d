// What a supervisor does about processes that lost their worker, and about those of its
// predecessor.

#include "worker/leftovers.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/worker/executing.h"
#include "tests/worker/other_worker.h"
#include "worker/own_folder.h"
#include "worker/proof.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/slot_record.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;

class Leftovers : public testing::TestWithParam<Containment> {
 protected:
  void SetUp() override { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
};

INSTANTIATE_TEST_SUITE_P(By, Leftovers, testing::Values(Containment::kAuto, Containment::kTreeOnly),
                         [](const auto& of) {
                           return of.param == Containment::kAuto ? "Group" : "Tree";
                         });

// Kills worker and runners so that none of them has time to do anything about it.
void kill_all_at_once(OtherWorker& worker, const std::vector<pid_t>& runners) {
  for (const pid_t pid : runners) ::kill(pid, SIGSTOP);
  worker.kill();
  for (const pid_t pid : runners) ::kill(pid, SIGKILL);
}

TEST_P(Leftovers, AreKilledByTheNextSupervisor) {
  const TempFolder state;
  OtherWorker worker(GetParam(), state.path(), "sh -c 'echo $$; exec sleep 1000' & echo $$; wait");
  const auto ids = worker.processes(6);
  ASSERT_EQ(ids.all().size(), 6U);
  EXPECT_EQ(kill_leftovers(state.path()).folders, 0U) << "it lives";
  for (const pid_t pid : ids.all()) EXPECT_FALSE(is_gone(pid));
  kill_all_at_once(worker, ids.runners);
  const LeftoverReport report = kill_leftovers(state.path());
  EXPECT_EQ(report.folders, 1U);
  EXPECT_EQ(report.left, 0U);
  EXPECT_TRUE(wait_gone(ids.all(), seconds(2)));
  EXPECT_TRUE(std::filesystem::is_empty(state.path()));
}

TEST_P(Leftovers, SupervisorsThatStartTogetherDoNotTakeEachOtherForDead) {
  const TempFolder state;
  std::atomic<int> faults = 0;
  std::vector<std::thread> starting;
  for (int i = 0; i < 8; ++i) {
    starting.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        auto folder = SupervisorFolder::open({state.path(), fmt::format("s{}", i), GetParam()});
        faults += folder.has_value() ? 0 : 1;
        faults += static_cast<int>(kill_leftovers(state.path()).folders);
        if (folder && !std::filesystem::exists(folder->path())) ++faults;
        if (folder) folder->remove();
      }
    });
  }
  for (std::thread& thread : starting) thread.join();
  EXPECT_EQ(faults, 0);
}

TEST_P(Leftovers, AreKilledWhenASupervisorOfTheSameNameStarts) {
  const TempFolder state;
  OtherWorker worker(GetParam(), state.path(), "sh -c 'echo $$; exec sleep 1000' & echo $$; wait");
  const auto ids = worker.processes(6);
  ASSERT_EQ(ids.all().size(), 6U);
  const SupervisorFolder::Config config{
      .state_dir = state.path(), .name = "test-helper", .containment = GetParam()};
  const auto refused = SupervisorFolder::open(config);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("already running"));
  kill_all_at_once(worker, ids.runners);
  auto folder = SupervisorFolder::open(config);
  ASSERT_TRUE(folder) << folder.error().text;
  EXPECT_TRUE(wait_gone(ids.all(), seconds(2)));
  folder->remove();
  EXPECT_TRUE(std::filesystem::is_empty(state.path()));
}

TEST_P(Leftovers, OfASupervisorOfTheSameNameElsewhereAreNotReached) {
  const TempFolder state;
  const TempFolder elsewhere;
  const char* script = "sh -c 'echo $$; exec sleep 1000' & echo $$; wait";
  OtherWorker dead(GetParam(), state.path(), script);
  OtherWorker alive(GetParam(), elsewhere.path(), script);
  const auto ids = dead.processes(6);
  const auto others = alive.processes(6);
  ASSERT_EQ(others.all().size(), 6U);
  kill_all_at_once(dead, ids.runners);
  EXPECT_EQ(kill_leftovers(state.path()).folders, 1U);
  EXPECT_TRUE(wait_gone(ids.all(), seconds(2)));
  for (const pid_t pid : others.all()) EXPECT_FALSE(is_gone(pid)) << pid;
  kill_all_at_once(alive, others.runners);
  EXPECT_EQ(kill_leftovers(elsewhere.path()).folders, 1U);
  EXPECT_TRUE(wait_gone(others.all(), seconds(2)));
}

TEST(ForgedState, KillsNobody) {
  const TempFolder state;
  const std::string folder = state.path() + "/gone";
  const pid_t victim = ::fork();
  if (victim == 0) {
    for (;;) ::pause();
  }
  {
    ASSERT_TRUE(open_own_folder(folder));
    std::ofstream(folder + "/lock") << "";
    auto record = SlotRecord::create({.path = folder + "/w.slots", .slots = 1, .work_dir = "/w"});
    ASSERT_TRUE(record) << record.error();
    record->set({.slot = 0, .role = SlotRecord::Role::kRunner},
                {.pid = victim, .from = {}, .until = boot_clock_now()});
  }
  ::chmod(state.path().c_str(), 0777);
  EXPECT_THAT(kill_leftovers(state.path()).refused, HasSubstr("other users can write"));
  EXPECT_THAT(SupervisorFolder::open({.state_dir = state.path(), .name = "new"}).error().text,
              HasSubstr("cannot use the state directory"));
  ::chmod(state.path().c_str(), 0700);
  ::chmod(folder.c_str(), 0777);
  EXPECT_THAT(kill_leftovers(state.path()).refused, HasSubstr(folder));
  ::chmod(folder.c_str(), 0700);
  ::chmod((folder + "/w.slots").c_str(), 0666);
  EXPECT_EQ(kill_leftovers(state.path()).processes, 0U);
  EXPECT_FALSE(is_gone(victim));
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
}

TEST(SlotRecordFile, NamesProcessesOfThisBootOnly) {
  const TempFolder folder;
  const std::string path = folder.path() + "/w.slots";
  auto record = SlotRecord::create({.path = path, .slots = 2, .work_dir = "/w"});
  ASSERT_TRUE(record) << record.error();
  const Instant now = boot_clock_now();
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const Attempt attempt{{.run = {7}, .index = 3, .level = 1}, {5}};
  const RecordedProcess it{
      .pid = child, .from = now, .until = boot_clock_now(), .attempt = attempt};
  record->set({.slot = 1, .role = SlotRecord::Role::kLeader}, it);
  record->set({.slot = 0, .role = SlotRecord::Role::kRunner}, it);
  record->clear({.slot = 0, .role = SlotRecord::Role::kRunner});
  const RecordContents contents = read_record(path);
  EXPECT_EQ(contents.boot_id, boot_id());
  EXPECT_EQ(contents.work_dir, "/w");
  ASSERT_EQ(contents.processes.size(), 1U);
  EXPECT_TRUE(is_alive(contents.processes[0]));
  EXPECT_EQ(recorded_attempts(contents), std::vector<Attempt>{attempt});
  EXPECT_EQ(proof_body({WorkerId("w"), {9}, recorded_attempts(contents), {}, 0}),
            R"({"incarnation":9,"started":[{"task":"r7-L1-3","epoch":5}],)"
            R"("incarnations":[],"exit_code":0})");
  EXPECT_FALSE(is_alive({.pid = child, .from = now - seconds(9), .until = now - seconds(8)}))
      << "another process had this id before";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(contents.processes[0]));
  std::ofstream(path) << "damaged";
  EXPECT_TRUE(read_record(path).processes.empty());
}

// A record, left behind by a dead supervisor, that names a living process.
class RecordOfAnother : public testing::Test {
 protected:
  void SetUp() override {
    from_ = boot_clock_now();
    child_ = ::fork();
    if (child_ == 0) {
      for (;;) ::pause();
    }
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  std::size_t killed(std::uint32_t pid_space) {
    {
      auto folder = SupervisorFolder::open({.state_dir = state_.path(), .name = "gone"});
      auto record = SlotRecord::create({.path = folder->record_path("gone-1"),
                                        .slots = 1,
                                        .work_dir = "/nowhere",
                                        .pid_space = pid_space});
      record->set({}, {.pid = child_, .from = from_, .until = boot_clock_now()});
    }
    return kill_leftovers(state_.path()).processes;
  }

 private:
  TempFolder state_;
  Instant from_;
  pid_t child_ = -1;
};

TEST_F(RecordOfAnother, ProcessSpaceKillsNobody) {
  EXPECT_EQ(killed(own_pid_space() + 1), 0U) << "the id is that of somebody else here";
}

TEST_F(RecordOfAnother, SupervisorOfThisProcessSpaceIsFollowed) {
  EXPECT_EQ(killed(own_pid_space()), 1U);
}

TEST_F(RecordOfAnother, VersionThatKnewOfOneSpaceIsFollowed) { EXPECT_EQ(killed(0), 1U); }

// A worker that sees its runner end would report the end of a task that nobody is to hear of.
TEST(LeftoverOrder, WorkerIsGoneBeforeItsRunnersAre) {
  const TempFolder state;
  const Instant from = boot_clock_now();
  int life[2];
  int said[2];
  ASSERT_EQ(::pipe(life), 0);
  ASSERT_EQ(::pipe(said), 0);
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::close(said[1]);
    for (;;) ::pause();
  }
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(life[1]);
    char end = 0;
    ::_exit(::read(life[0], &end, 1) == 0 && ::write(said[1], "x", 1) == 1 ? 0 : 1);
  }
  ::close(life[1]);
  ::close(said[1]);
  {
    auto folder = SupervisorFolder::open({.state_dir = state.path(), .name = "gone"});
    auto record = SlotRecord::create(
        {.path = folder->record_path("gone-1"), .slots = 2, .work_dir = "/nowhere"});
    const Instant until = boot_clock_now();
    record->set({.slot = 0, .role = SlotRecord::Role::kRunner}, {runner, from, until});
    record->set({.slot = 0, .role = SlotRecord::Role::kWorker}, {worker, from, until});
  }
  EXPECT_EQ(kill_leftovers(state.path()).processes, 2U);
  char word = 0;
  EXPECT_EQ(::read(said[0], &word, 1), 0) << "the worker saw its runner end";
  for (const pid_t pid : {runner, worker}) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  ::close(life[0]);
  ::close(said[0]);
}

TEST_P(Leftovers, OfADeadWorkerAreKilledAndThoseOfALivingOneAreNot) {
  const auto fork_tree = [](const WorkerGroup& group) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      group.enter();
      if (::fork() == 0) {
        ::setsid();
        const char done = ::fork() == 0 ? 'c' : 'p';
        if (::write(ready[1], &done, 1) != 1) ::_exit(1);
      }
      for (;;) ::pause();
    }
    char two[2] = {};
    for (char& one : two) EXPECT_EQ(::read(ready[0], &one, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return pid;
  };
  const std::string name = fmt::format("test-{}", ::getpid());
  WorkerGroup first(GetParam(), {.supervisor = name, .worker = "one"});
  WorkerGroup second(GetParam(), {.supervisor = name, .worker = "two"});
  first.prepare();
  second.prepare();
  const pid_t dead = fork_tree(first);
  const pid_t living = fork_tree(second);
  ::kill(dead, SIGKILL);
  ::waitpid(dead, nullptr, 0);
  const std::vector<pid_t> known{living};
  EXPECT_FALSE(first.is_empty(known));
  EXPECT_TRUE(first.kill_all(known, seconds(5)));
  EXPECT_TRUE(first.is_empty(known));
  EXPECT_EQ(processes_below(living).size(), 2U);
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  EXPECT_TRUE(second.kill_all({}, seconds(5)));
  EXPECT_TRUE(processes_below(::getpid()).empty());
  first.remove();
  second.remove();
  const CgroupRoots roots = find_cgroup_roots(name);
  if (!roots.unified.empty()) {
    remove_group(group_folder(roots.unified, {.supervisor = name, .worker = {}}));
  }
}

}  // namespace
}  // namespace vortex::worker
