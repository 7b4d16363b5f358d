// What a task finds when it is started, and how its end is told.

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/worker/executing.h"
#include "worker/slot/slot_record.h"

namespace vortex::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Executor, SuccessAndExitCodeAreTold) {
  Executing on;
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
  EXPECT_EQ(summary(on.run(shell("exit 3"))), "failed: exit code 3");
  const Failed failed = std::get<Failed>(*on.told[on.last].exit);
  EXPECT_EQ(failed.cause, Failed::Cause::kExitCode);
  EXPECT_EQ(failed.code, 3);
  EXPECT_EQ(on.executor->running(), 0U);
}

TEST(Executor, SignalIsTold) {
  Executing on;
  EXPECT_EQ(summary(on.run(shell("kill -9 $$"))), "failed: killed by signal 9 (KILL)");
  const Failed failed = std::get<Failed>(*on.told[on.last].exit);
  EXPECT_EQ(failed.cause, Failed::Cause::kSignal);
  EXPECT_EQ(failed.code, SIGKILL);
  EXPECT_EQ(summary(on.run(shell("kill -SEGV $$"))), "failed: killed by signal 11 (SEGV)");
}

TEST(Executor, AStartIsToldOnceWhetherTheTaskGoesOnOrHasEnded) {
  Executing on;
  const Attempt silent = on.start({"sleep", "1000"});
  EXPECT_TRUE(on.wait([&] { return on.told[silent].started; })) << "nobody waits for its end";
  EXPECT_FALSE(on.told[silent].over());
  EXPECT_TRUE(on.run({"true"}).started);
  on.executor->kill(silent);
  EXPECT_EQ(summary(on.wait_over(silent)), "killed");
}

TEST(Executor, M02_OutputIsToldAsASignOfLifeWhereItWasAskedFor) {
  Executing on;
  const auto talk = shell("echo one; sleep 1000");
  const Attempt quiet = on.start(talk);
  const Attempt told = on.start(talk, [](Launch& launch) { launch.report_output = true; });
  EXPECT_TRUE(on.wait([&] { return !on.told[told].output.empty(); }));
  EXPECT_EQ(on.told[told].output.back(), 4U);
  EXPECT_EQ(on.told[told].output.size(), 1U) << "only when there is more than before";
  EXPECT_TRUE(on.told[quiet].output.empty());
  on.executor->kill(quiet);
  on.executor->kill(told);
  on.wait_over(quiet);
  on.wait_over(told);
}

TEST(Executor, WhatCannotBeStartedIsExplained) {
  Executing on;
  const std::string plain = on.folder.path() + "/plain";
  std::ofstream(plain) << "no program\n";
  EXPECT_EQ(summary(on.run({"convrt"})), "could not start: program 'convrt' not found in PATH");
  EXPECT_EQ(on.told[on.last].could_not_start->code, ENOENT);
  EXPECT_EQ(on.told[on.last].could_not_start->fault, agent::ProcessCouldNotStart::Fault::kTask);
  EXPECT_FALSE(on.told[on.last].started);
  EXPECT_EQ(summary(on.run({plain})),
            fmt::format("could not start: program '{}' is not executable", plain));
  std::filesystem::permissions(plain, std::filesystem::perms::owner_all);
  EXPECT_THAT(summary(on.run({plain})), HasSubstr("is not a program"));
  EXPECT_THAT(summary(on.run({"true"}, [](Launch& launch) { launch.workdir = "/no/such"; })),
              HasSubstr("no such working directory: '/no/such'"));
  EXPECT_THAT(summary(on.run({""})), HasSubstr("the command has no program"));
  EXPECT_THAT(summary(on.run({std::string("a\0b", 3)})), HasSubstr("zero byte"));
  EXPECT_EQ(summary(on.run({"true"})), "completed ") << "the slot is of use again";
}

TEST(Executor, MissingRunnerIsATaskThatCouldNotStartByAFaultOfTheWorker) {
  Executing on(Containment::kAuto, [](ExecutorConfig& c) { c.runner = {"/no/such/runner"}; });
  EXPECT_THAT(summary(on.run({"true"})), HasSubstr("cannot start a runner"));
  EXPECT_EQ(on.told[on.last].could_not_start->fault, agent::ProcessCouldNotStart::Fault::kWorker);
  EXPECT_EQ(on.executor->running(), 0U);
}

TEST(Executor, ArgumentsAreExactBytes) {
  Executing on;
  const std::string large(100 * 1024, 'x');
  const std::vector<std::string> given = {"", "a b", "\xff\x01\n", "$HOME;`id`", large, ""};
  std::vector<std::string> argv = shell("printf '%s\\001\\n' \"$@\"");
  argv.emplace_back("sh");
  argv.insert(argv.end(), given.begin(), given.end());
  std::string expected;
  for (const std::string& argument : given) expected += argument + "\x01\n";
  EXPECT_EQ(summary(on.run(argv)), "completed ");
  EXPECT_EQ(on.text(on.last), expected);
}

TEST(Executor, ArgumentsBeyondASocketsLimitArrive) {
  Executing on;
  std::vector<std::string> argv = shell("printf %s \"$#\"");
  argv.resize(3 + 15'000, std::string(60, 'y'));
  EXPECT_EQ(summary(on.run(argv)), "completed ");
  EXPECT_EQ(on.text(on.last), "14999");
  argv.resize(100'000, std::string(60, 'y'));
  EXPECT_THAT(summary(on.run(argv)), HasSubstr("too long"));
}

TEST(Executor, EnvironmentIsExactlyWhatWasGiven) {
  Executing on(Containment::kAuto, [](ExecutorConfig& config) {
    config.environment = {"PATH=/usr/bin:/bin", "A=worker", "KEPT=1"};
  });
  on.run({"cat", "/proc/self/environ"}, [](Launch& launch) {
    launch.env = {{"A", "early"}, {"B", "\xfe x=y"}, {"A", "late"}, {"VORTEX_TMPDIR", "forged"}};
  });
  const std::string slot = on.folder.path() + "/tasks/slot-0/";
  std::string expected = "PATH=/usr/bin:/bin";
  for (const std::string& entry :
       {std::string("KEPT=1"), std::string("B=\xfe x=y"), std::string("A=late"),
        "VORTEX_OUTPUTS=" + slot + "outputs", "VORTEX_INPUTS=" + slot + "inputs",
        "VORTEX_CHECKPOINT=" + slot + "checkpoint", "VORTEX_PROGRESS=" + slot + "progress",
        "VORTEX_TMPDIR=" + slot + "tmp"}) {
    expected += '\0' + entry;
  }
  EXPECT_EQ(on.text(on.last), expected + '\0');
}

TEST(Executor, ThereIsNoShellUnlessAskedFor) {
  Executing on;
  on.run({"echo", "$HOME; exit 3 | true"});
  EXPECT_EQ(on.text(on.last), "$HOME; exit 3 | true\n");
}

TEST(Executor, ProgramIsFoundInItsOwnPathAndWorkdir) {
  Executing on;
  const std::string program = on.folder.path() + "/mine";
  std::ofstream(program) << "#!/bin/sh\npwd\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  on.run({"mine"}, [&](Launch& launch) { launch.env = {{"PATH", on.folder.path()}}; });
  EXPECT_EQ(summary(on.told[on.last]), "completed ");
  on.run({"./mine"}, [&](Launch& launch) { launch.workdir = on.folder.path(); });
  EXPECT_EQ(on.text(on.last), on.folder.path() + "\n");
}

TEST(Executor, StandardInputIsAtItsEnd) {
  Executing on;
  EXPECT_EQ(summary(on.run({"cat"})), "completed ");
  EXPECT_THAT(on.text(on.last), IsEmpty());
}

TEST(Executor, NoDescriptorLeaksIntoATask) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // on purpose without O_CLOEXEC
  Executing on;
  // 3 is the folder that ls itself reads.
  on.run({"ls", "/proc/self/fd"});
  EXPECT_EQ(on.text(on.last), "0\n1\n2\n3\n");
  ::close(leaked);
}

TEST(Executor, SignalsOfATaskAreAtTheirDefaults) {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  {
    Executing on;
    on.run({"grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"});
    EXPECT_THAT(split_lines(on.text(on.last)),
                ElementsAre("SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000",
                            HasSubstr("SigCgt:")));
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST(Executor, TaskHasASessionOfItsOwn) {
  Executing on;
  on.run(shell("cut -d' ' -f1,5,6 /proc/$$/stat; echo $$"));
  const auto lines = split_lines(on.text(on.last));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], fmt::format("{0} {0} {0}", lines[1]));
}

// Should the worker be killed now, by the task itself even, its supervisor knows what ran.
TEST(Executor, ATaskIsInTheRecordBeforeItDoesAnything) {
  const TempFolder folder;
  const std::string path = folder.path() + "/w.slots";
  const std::string copy = folder.path() + "/copy.slots";
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Executing e(Containment::kAuto, [&](ExecutorConfig& config) { config.record_path = path; });
  const Attempt attempt = e.start(shell("cat " + path + " > " + pipe));
  // The worker's own thread does nothing meanwhile.
  std::ofstream(copy) << std::ifstream(pipe).rdbuf();
  EXPECT_EQ(recorded_attempts(read_record(copy)), std::vector<Attempt>{attempt});
  EXPECT_EQ(summary(e.wait_over(attempt)), "completed ");
  EXPECT_TRUE(recorded_attempts(read_record(path)).empty());
  e.run({"/no/such/program"});
  EXPECT_TRUE(recorded_attempts(read_record(path)).empty());
}

TEST(Executor, SlotsRunSideBySide) {
  Executing on;
  const std::string meet = on.folder.path() + "/meet";
  const std::string script = fmt::format(
      "echo x >> {0}; until [ $(wc -l < {0}) -ge 4 ]; do "
      "sleep 0.01; done",
      meet);
  for (int i = 0; i < 4; ++i) on.start(shell(script));
  EXPECT_EQ(on.executor->running(), 4U);
  EXPECT_TRUE(on.wait([&] { return on.executor->running() == 0; }));
  for (const auto& [attempt, told] : on.told) EXPECT_EQ(summary(told), "completed ");
}

TEST(Executor, ExitIsToldOnlyWhenTheLogIsFlushed) {
  Executing on;
  on.sink.hold_back = true;
  const Attempt attempt = on.start({"echo", "x"});
  EXPECT_TRUE(on.wait([&] { return !on.sink.waiting.empty(); }));
  EXPECT_FALSE(on.told[attempt].over());
  EXPECT_EQ(on.executor->running(), 1U);
  on.sink.waiting.front()();
  EXPECT_EQ(summary(on.told[attempt]), "completed ");
}

}  // namespace
}  // namespace vortex::worker
