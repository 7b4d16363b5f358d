// Tasks as another user, with limits, with a read-only root, without a network: what they can do,
// and what still works. Only root may arrange it.
#include "worker/slot/confinement.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/worker/executing.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kNobody = 65'534;

class ConfinementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can run tasks as another user";
  }

  static WorkerSettings settings(const std::function<void(WorkerSettings&)>& change) {
    WorkerSettings out = default_settings().worker;
    change(out);
    return out;
  }
  // Tasks are held as these settings say.
  static std::function<void(ExecutorConfig&)> held(
      const std::function<void(WorkerSettings&)>& change) {
    return [change](ExecutorConfig& config) {
      const std::string base = config.work_dir.substr(0, config.work_dir.rfind('/'));
      auto made = confinement_of(settings(change), base);
      ASSERT_TRUE(made) << made.error();
      config.confinement = *std::move(made);
    };
  }
  static void as_nobody(WorkerSettings& s) { s.task_user = "65534:65534"; }

  static std::string shell(Executing& on, const std::string& script) {
    const Attempt attempt = on.start({"sh", "-c", script});
    on.wait_over(attempt);
    return on.text(attempt);
  }
};

TEST_F(ConfinementTest, TaskIsTheOtherUserWithoutGroupsOrNewPrivileges) {
  Executing on(Containment::kAuto, held(as_nobody));
  const std::string text = shell(on, "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status");
  EXPECT_EQ(text, "65534\n65534\n65534\nNoNewPrivs:\t1\n");
}

TEST_F(ConfinementTest, TaskFindsItsOwnHomeAndName) {
  Executing on(Containment::kAuto, held([](WorkerSettings& s) { s.task_user = "nobody"; }));
  EXPECT_EQ(shell(on, "echo $HOME $USER $LOGNAME"), "/nonexistent nobody nobody\n");
}

TEST_F(ConfinementTest, TaskWritesItsFilesAndTheWorkerReadsThem) {
  Executing on(Containment::kAuto, held(as_nobody));
  const Told& told =
      on.run({"sh", "-c",
              "echo '{\"a\":1}' > $VORTEX_OUTPUTS && echo saved > $VORTEX_CHECKPOINT && "
              "touch $VORTEX_TMPDIR/x && echo hello > /dev/stderr"});
  ASSERT_TRUE(told.exit);
  ASSERT_TRUE(std::holds_alternative<Completed>(*told.exit));
  EXPECT_EQ(std::get<Completed>(*told.exit).outputs, R"({"a":1})");
  EXPECT_THAT(told.checkpoints, testing::ElementsAre("saved\n"));
}

TEST_F(ConfinementTest, TaskGetsTheCheckpointOfAnEarlierAttempt) {
  Executing on(Containment::kAuto, held(as_nobody));
  const Attempt attempt =
      on.start({"sh", "-c", "cat $VORTEX_CHECKPOINT; echo more >> $VORTEX_CHECKPOINT"},
               [](Launch& launch) { launch.checkpoint = "step 3\n"; });
  EXPECT_TRUE(std::holds_alternative<Completed>(*on.wait_over(attempt).exit));
  EXPECT_EQ(on.text(attempt), "step 3\n");
}

TEST_F(ConfinementTest, FilesOfATaskAreClosedToOthers) {
  Executing on(Containment::kAuto, held(as_nobody));
  EXPECT_EQ(shell(on, "stat -c '%a %u' $(dirname $VORTEX_OUTPUTS) $VORTEX_TMPDIR"),
            "700 65534\n700 65534\n");
  EXPECT_EQ(shell(on, "ls $(dirname $(dirname $VORTEX_OUTPUTS)) 2>/dev/null || echo closed"),
            "closed\n");
}

// The worker may read what the task may not.
TEST_F(ConfinementTest, FileOfSomebodyElseIsNotTakenForOutputs) {
  Executing on(Containment::kAuto, held(as_nobody));
  const std::string secret = on.folder.path() + "/secret";
  std::ofstream(secret) << R"({"password":"x"})";
  ::chmod(secret.c_str(), 0600);
  // As a task with the right to make such a link would.
  const Attempt attempt = on.start(
      {"sh", "-c", "echo $VORTEX_OUTPUTS; until [ -e $VORTEX_TMPDIR/go ]; do sleep 0.01; done"});
  const std::string outputs = on.lines(attempt, 1).front();
  ASSERT_EQ(::link(secret.c_str(), outputs.c_str()), 0);
  std::ofstream(outputs.substr(0, outputs.rfind('/')) + "/tmp/go") << "go";
  EXPECT_THAT(summary(on.wait_over(attempt)), HasSubstr("the outputs cannot be read"));
}

TEST_F(ConfinementTest, EveryProcessOfAnotherUserIsKilled) {
  Executing on(Containment::kAuto, held(as_nobody));
  const Attempt attempt =
      on.start({"sh", "-c", "setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000' & wait"});
  const pid_t escaped = std::stoi(on.lines(attempt, 1).front());
  on.executor->kill_everything_now();
  on.wait_over(attempt);
  EXPECT_NE(::kill(escaped, 0), 0);
}

TEST_F(ConfinementTest, LimitsHoldForTasks) {
  Executing on(Containment::kAuto, held([](WorkerSettings& s) {
                 as_nobody(s);
                 s.task_limit_open_files = 77;
                 s.task_limit_processes = 400;
               }));
  EXPECT_EQ(shell(on, "ulimit -n; ulimit -u 2>/dev/null || bash -c 'ulimit -u'; ulimit -c"),
            "77\n400\n0\n");
}

TEST_F(ConfinementTest, ReadOnlyRootLeavesOnlyItsOwnFilesAndTheSharedOnes) {
  Executing on(Containment::kAuto, held([](WorkerSettings& s) { s.task_read_only_root = true; }));
  const std::string text =
      shell(on,
            "touch /etc/vortex-test 2>&1 | grep -o 'Read-only file system'; "
            "echo x > $VORTEX_TMPDIR/y && echo own; "
            "f=$(mktemp -p /tmp) && rm $f && echo tmp; echo > /dev/null && echo null");
  EXPECT_EQ(text, "Read-only file system\nown\ntmp\nnull\n");
  EXPECT_NE(::access("/etc/vortex-test", F_OK), 0);
  std::ofstream here(on.folder.path() + "/still-writable");
  EXPECT_TRUE(here.good()) << "the worker itself is not held";
}

TEST_F(ConfinementTest, WithoutANetworkThereIsOnlyLoopback) {
  Executing on(Containment::kAuto,
               held([](WorkerSettings& s) { s.task_network = TaskNetwork::kNone; }));
  EXPECT_EQ(
      shell(on, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route | wc -l"),
      "lo\n1\n");
}

// What a task that chose this user says.
std::string shell_as(Executing& on, const std::string& user, const std::string& script) {
  const Attempt attempt =
      on.start({"sh", "-c", script}, [&](Launch& launch) { launch.user = user; });
  const Told& told = on.wait_over(attempt);
  return told.exit ? on.text(attempt) : summary(told);
}

TEST_F(ConfinementTest, TasksOfOneSlotRunAsTheUserThatEachChose) {
  Executing on(Containment::kAuto, held([](WorkerSettings& s) {
                 s.task_user = "nobody";
                 s.task_users_allowed = "daemon, bin:games, root";
               }));
  const std::string who =
      "id -un; id -gn; echo $HOME; stat -c %U $VORTEX_TMPDIR; echo x > $VORTEX_TMPDIR/x;"
      "grep NoNewPrivs /proc/self/status | cut -f2";
  EXPECT_EQ(shell_as(on, "", who), "nobody\nnogroup\n/nonexistent\nnobody\n1\n");
  EXPECT_EQ(shell_as(on, "daemon", who), "daemon\ndaemon\n/usr/sbin\ndaemon\n1\n");
  EXPECT_EQ(shell_as(on, "bin", who), "bin\ngames\n/bin\nbin\n1\n");
  EXPECT_EQ(shell_as(on, "root", who), "root\nroot\n/root\nroot\n1\n");
  EXPECT_EQ(shell_as(on, "", who), "nobody\nnogroup\n/nonexistent\nnobody\n1\n");
}

TEST_F(ConfinementTest, TaskWithAUserThatIsNotAllowedFailsAndTheNextOneRuns) {
  Executing on(Containment::kAuto,
               held([](WorkerSettings& s) { s.task_users_allowed = "daemon"; }));
  for (const char* user : {"root", "nobody", "daemon:root", "0"}) {
    const Attempt attempt = on.start({"true"}, [&](Launch& launch) { launch.user = user; });
    EXPECT_THAT(summary(on.wait_over(attempt)),
                HasSubstr(fmt::format("does not allow tasks to run as '{}'", user)));
  }
  EXPECT_EQ(shell_as(on, "daemon", "id -un"), "daemon\n");
}

TEST_F(ConfinementTest, AllowedUsersThatCannotBeMeantAreRefused) {
  const TempFolder folder;
  ::chmod(folder.path().c_str(), 0711);
  const auto refused = [&](const char* users) {
    const auto made =
        confinement_of(settings([&](WorkerSettings& s) { s.task_users_allowed = users; }),
                       folder.path() + "/work");
    return made ? std::string() : made.error();
  };
  EXPECT_EQ(refused("daemon,root"), "");
  EXPECT_THAT(refused("daemon,no-such-user"), HasSubstr("there is no user 'no-such-user'"));
  EXPECT_THAT(refused("daemon,,bin"), HasSubstr("between the commas is empty"));
  EXPECT_THAT(refused("daemon,daemon:games"), HasSubstr("daemon is listed twice"));
  EXPECT_THAT(refused("00:0"), HasSubstr("another name of root"));
}

TEST_F(ConfinementTest, UnknownUserOrGroupIsRefusedWithWhatToDo) {
  const TempFolder folder;
  const auto refused = [&](const char* user) {
    const auto made = confinement_of(settings([&](WorkerSettings& s) { s.task_user = user; }),
                                     folder.path() + "/work");
    return made ? std::string() : made.error();
  };
  EXPECT_THAT(refused("no-such-user"), HasSubstr("there is no user 'no-such-user'"));
  EXPECT_THAT(refused("nobody:no-such-group"), HasSubstr("there is no group 'no-such-group'"));
  EXPECT_THAT(refused("123456"), HasSubstr("write UID:GID"));
}

TEST_F(ConfinementTest, FolderThatTheUserCannotReachIsNamed) {
  const TempFolder folder;
  ::chmod(folder.path().c_str(), 0700);
  const auto made = confinement_of(settings(as_nobody), folder.path() + "/work");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error(), HasSubstr(fmt::format("chmod o+x {}'", folder.path())));
}

TEST_F(ConfinementTest, ReadOnlyRootAndARootOfItsOwnExcludeEachOther) {
  const auto made = confinement_of(settings([](WorkerSettings& s) {
                                     s.task_read_only_root = true;
                                     s.container_root = "/srv";
                                   }),
                                   "/nowhere");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error(), HasSubstr("cannot be combined"));
}

}  // namespace
}  // namespace vortex::worker
