// How tasks are ended, whatever they do against it: with control groups and by process tree alone.

#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/worker/executing.h"
#include "tests/worker/other_worker.h"
#include "worker/process_tree.h"

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
  EXPECT_THAT(summary(on.wait_over(attempt)), HasSubstr("failed: its runner was killed"));
  EXPECT_EQ(std::get<Failed>(*on.told[attempt].exit).code, SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
  EXPECT_FALSE(on.told[other].over());
  on.executor->kill(other);
  EXPECT_EQ(summary(on.wait_over(other)), "killed");
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
