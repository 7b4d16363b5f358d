// How tasks are ended, whatever they do against it: with control groups and by process tree alone.

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/worker/executing.h"
#include "tests/worker/other_worker.h"
#include "worker/slot/process_tree.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;

class Killing : public testing::TestWithParam<Containment> {
 protected:
  // Orphans come to us, and not to an init that reaps them when it likes.
  void SetUp() override { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
};

INSTANTIATE_TEST_SUITE_P(By, Killing, testing::Values(Containment::kAuto, Containment::kTreeOnly),
                         [](const auto& of) {
                           return of.param == Containment::kAuto ? "Group" : "Tree";
                         });

void short_grace(ExecutorConfig& config) { config.kill_grace = millis(50); }

TEST_P(Killing, TermIsSentFirstAndItsEndIsAKill) {
  Executing on(GetParam());
  const Attempt attempt =
      on.start(shell("trap 'echo bye; exit 0' TERM; echo up; "
                     "while :; do sleep 0.01; done"));
  on.lines(attempt, 1);
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  EXPECT_THAT(on.text(attempt), HasSubstr("bye\n"));
}

TEST_P(Killing, IgnoredTermIsFollowedByKill) {
  Executing on(GetParam(), short_grace);
  const Attempt attempt = on.start(shell("trap '' TERM; echo $$; while :; do sleep 0.05; done"));
  const auto pids = pids_of(on.lines(attempt, 1));
  const Instant before = boot_clock_now();
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  EXPECT_GE(boot_clock_now() - before, millis(50));
  EXPECT_TRUE(is_gone(pids.at(0)));
}

TEST_P(Killing, KillEverythingNowWaitsForNobody) {
  Executing on(GetParam());
  std::vector<Attempt> attempts;
  for (int i = 0; i < 3; ++i) {
    attempts.push_back(on.start(shell("trap '' TERM; echo $$; while :; do sleep 0.05; done")));
  }
  for (const Attempt attempt : attempts) on.lines(attempt, 1);
  on.executor->kill(attempts[0]);  // with the long grace
  on.executor->kill_everything_now();
  for (const Attempt attempt : attempts) EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
}

TEST_P(Killing, KilledTaskLeavesNoGrandchild) {
  Executing on(GetParam());
  const Attempt attempt =
      on.start(shell(std::string(kHiddenGrandchild) + "sleep 1000 & echo $!; echo $$; wait"));
  const auto pids = pids_of(on.lines(attempt, 3));
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST_P(Killing, WhatOutlivesItsTaskIsKilledBeforeTheEndIsTold) {
  Executing on(GetParam());
  // The shell of the grandchild writes its id into a file: its output may come after the end.
  const std::string file = on.folder.path() + "/pid";
  const Attempt attempt = on.start(
      shell(fmt::format("env -i setsid /bin/sh -c '(echo $$ > {0}; exec sleep 1000) &'; "
                        "sleep 1000 & echo $!; until [ -s {0} ]; do sleep 0.01; done; exit 5",
                        file)));
  EXPECT_EQ(summary(on.wait_over(attempt)), "failed: exit code 5");
  for (const pid_t pid : pids_of(on.lines(attempt, 1))) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_TRUE(processes_below(on.executor->runner_pids().at(0)).empty());
}

TEST_P(Killing, StoppedProcessesAreKilledToo) {
  Executing on(GetParam(), short_grace);
  const Attempt attempt = on.start(shell("echo $$; kill -STOP $$; echo never"));
  on.lines(attempt, 1);
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
}

TEST_P(Killing, ForkingTreeIsOvertaken) {
  Executing on(GetParam(), [](ExecutorConfig& config) {
    config.kill_grace = millis(20);
    config.processes_max = 600;
  });
  const Attempt attempt = on.start({VX_TEST_STORM, "300", "20"});
  on.lines(attempt, 1);
  const Instant before = boot_clock_now();
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  EXPECT_LT(boot_clock_now() - before, seconds(10));
  EXPECT_TRUE(processes_below(on.executor->runner_pids().at(0)).empty());
}

TEST_P(Killing, TaskKilledByOthersIsAFailure) {
  Executing on(GetParam());
  const Attempt attempt = on.start(shell("echo $$; exec sleep 1000"));
  ::kill(pids_of(on.lines(attempt, 1)).at(0), SIGKILL);
  EXPECT_EQ(summary(on.wait_over(attempt)), "failed: killed by signal 9 (KILL)");
}

TEST_P(Killing, KilledRunnerCostsItsTaskAndNothingElse) {
  Executing on(GetParam());
  const Attempt other = on.start(shell("echo up; exec sleep 1000"));
  on.lines(other, 1);
  const pid_t other_runner = on.executor->runner_pids().at(0);
  const Attempt attempt = on.start(shell(std::string(kHiddenGrandchild) + "echo $$; sleep 1000"));
  const auto pids = pids_of(on.lines(attempt, 2));
  for (const pid_t pid : on.executor->runner_pids()) {
    if (pid != other_runner) ::kill(pid, SIGKILL);
  }
  EXPECT_EQ(summary(on.wait_over(attempt)), "lost with its runner");
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
  EXPECT_FALSE(on.told[other].over());
  on.executor->kill(other);
  EXPECT_EQ(summary(on.wait_over(other)), "killed");
}

TEST_P(Killing, TaskThatKillsItsRunnersIsAFailureInTheEnd) {
  Executing on(GetParam());
  std::vector<std::string> ends;
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    ends.push_back(summary(on.run(shell("kill -9 $PPID; sleep 1000"), [&](Launch& launch) {
      launch.attempt = {.task = {.run = {8}, .index = 1}, .epoch = {epoch}};
    })));
  }
  EXPECT_EQ(ends[0], "lost with its runner");
  EXPECT_EQ(ends[1], "lost with its runner");
  EXPECT_THAT(ends[2], HasSubstr("failed: its runner was killed"));
}

TEST_P(Killing, StoppedRunnerIsContinued) {
  Executing on(GetParam());
  EXPECT_EQ(summary(on.run(shell("kill -STOP $PPID; exit 3"))), "failed: exit code 3");
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
}

TEST_P(Killing, RunnerThatIsStoppedAgainAndAgainIsKilledOrKills) {
  Executing on(GetParam(), short_grace);
  const Attempt attempt =
      on.start(shell(std::string(kHiddenGrandchild) +
                     "trap '' TERM; echo $$; while :; do kill -STOP $PPID; done"));
  const auto pids = pids_of(on.lines(attempt, 2));
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
}

TEST_P(Killing, RunnerThatIsStoppedWhenTheGraceEndsIsReplaced) {
  Executing on(GetParam(), [](ExecutorConfig& config) {
    config.kill_grace = millis(300);
    config.look_every = seconds(1000);  // nobody continues the runner meanwhile
  });
  const Attempt attempt = on.start(shell(std::string(kHiddenGrandchild) +
                                         "trap '' TERM; echo $$; while :; do sleep 0.05; done"));
  const auto pids = pids_of(on.lines(attempt, 2));
  const pid_t runner = on.executor->runner_pids().at(0);
  on.executor->kill(attempt);
  ::kill(runner, SIGSTOP);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
  EXPECT_NE(on.executor->runner_pids().at(0), runner);
}

// The loop of these does not run while they wait for processes: a worker that is frozen.
class Fencing : public Killing {
 protected:
  void SetUp() override {
    Killing::SetUp();
    auto made = Fence::create();
    ASSERT_TRUE(made);
    fence = *std::move(made);
    on.emplace(GetParam(), [this](ExecutorConfig& config) {
      config.fence = fence.file();
      config.kill_grace = millis(50);
    });
  }
  Fence fence;
  std::optional<Executing> on;
};

INSTANTIATE_TEST_SUITE_P(By, Fencing, testing::Values(Containment::kAuto, Containment::kTreeOnly),
                         [](const auto& of) {
                           return of.param == Containment::kAuto ? "Group" : "Tree";
                         });

TEST_P(Fencing, TaskOfAFrozenWorkerIsKilledByItsRunner) {
  const Instant until = boot_clock_now() + seconds(1);
  fence.move_to(until);
  const Attempt attempt = on->start(
      shell(std::string(kHiddenGrandchild) + "trap '' TERM; echo $$; while :; do sleep 1; done"));
  const auto frozen = pids_of(on->lines(attempt, 2));
  EXPECT_TRUE(wait_gone(frozen, seconds(20)));
  EXPECT_GE(boot_clock_now(), until + millis(50)) << "the grace comes after the fence";
  EXPECT_EQ(summary(on->wait_over(attempt)), "fenced");
}

TEST_P(Fencing, FenceThatIsMovedOnHoldsNothingBack) {
  fence.move_to(boot_clock_now() + millis(50));
  const Attempt attempt = on->start(shell("echo up; sleep 0.3; echo done"));
  fence.move_to(boot_clock_now() + seconds(60));
  EXPECT_EQ(summary(on->wait_over(attempt)), "completed ");
}

TEST_P(Fencing, NothingIsStartedBehindTheFence) {
  EXPECT_EQ(summary(on->run(shell("echo up"))), "fenced");
  EXPECT_EQ(on->text(on->last), "");
  EXPECT_FALSE(on->told[on->last].started);
  fence.move_to(boot_clock_now() + seconds(60));
  EXPECT_EQ(summary(on->run({"true"})), "completed ");
}

TEST_P(Killing, RunnerKilledWhileIdleIsReplaced) {
  Executing on(GetParam());
  on.run({"true"});
  const pid_t runner = on.executor->runner_pids().at(0);
  ::kill(runner, SIGKILL);
  EXPECT_TRUE(on.wait([&] { return on.executor->runner_pids().empty(); }));
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
}

TEST_P(Killing, RunnerIsDeafToSignalsOfOthers) {
  Executing on(GetParam());
  const Attempt attempt = on.start(shell("echo up; exec sleep 1000"));
  on.lines(attempt, 1);
  const pid_t runner = on.executor->runner_pids().at(0);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) ::kill(runner, signal);
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  EXPECT_EQ(on.executor->runner_pids().at(0), runner);
}

TEST_P(Killing, NothingOutlivesTheExecutor) {
  std::vector<pid_t> pids;
  {
    Executing on(GetParam());
    const Attempt attempt = on.start(shell(std::string(kHiddenGrandchild) + "echo $$; sleep 1000"));
    pids = pids_of(on.lines(attempt, 2));
    pids.push_back(on.executor->runner_pids().at(0));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST_P(Killing, TasksDieWithTheirWorker) {
  OtherWorker worker(GetParam(), "-", std::string(kHiddenGrandchild) + "echo $$; sleep 1000");
  // 2 runners, 2 tasks, 2 grandchildren
  const auto pids = worker.processes(6).all();
  ASSERT_EQ(pids.size(), 6U);
  for (const pid_t pid : pids) EXPECT_FALSE(is_gone(pid));
  worker.kill();
  EXPECT_TRUE(wait_gone(pids, seconds(1)));
}

}  // namespace
}  // namespace vortex::worker
