// The files through which a task talks, and its temporary folder.

#include "worker/files.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/worker/executing.h"

namespace vortex::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TaskFiles, OutputsAreToldInCompactForm) {
  Executing on;
  EXPECT_EQ(summary(on.run(shell("echo '{ \"a\" : [1, 2.50] }' > $VORTEX_OUTPUTS"))),
            "completed {\"a\":[1,2.50]}");
  EXPECT_EQ(summary(on.run({"true"})), "completed ") << "nothing of the task before";
}

TEST(TaskFiles, ADeclaredOutputThatIsNotWrittenFailsTheTask) {
  Executing on;
  const auto declared = [](Launch& launch) { launch.outputs = {"a", "b"}; };
  EXPECT_EQ(summary(on.run({"true"}, declared)),
            "failed: the task did not write its output 'a' to $VORTEX_OUTPUTS");
  EXPECT_THAT(summary(on.run(shell("echo '{\"a\": 1}' > $VORTEX_OUTPUTS"), declared)),
              HasSubstr("its output 'b'"));
  EXPECT_EQ(summary(on.run(shell("echo '{\"b\": 1, \"a\": 2}' > $VORTEX_OUTPUTS"), declared)),
            "completed {\"b\":1,\"a\":2}");
}

TEST(TaskFiles, OutputsThatCannotBeKeptFailTheTask) {
  Executing on;
  EXPECT_THAT(summary(on.run(shell("echo '[1]' > $VORTEX_OUTPUTS"))),
              HasSubstr("failed: the outputs are not a JSON object"));
  EXPECT_EQ(std::get<Failed>(*on.told[on.last].exit).code, 0);
  EXPECT_THAT(summary(on.run(shell("printf '{\"a\": ' > $VORTEX_OUTPUTS"))),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(summary(on.run(shell("head -c 262145 /dev/zero > $VORTEX_OUTPUTS"))),
              HasSubstr("the outputs have 262145 bytes; the maximum is 256 KiB"));
  EXPECT_THAT(summary(on.run(shell("mkfifo $VORTEX_OUTPUTS"))), HasSubstr("not a regular file"));
  EXPECT_THAT(summary(on.run(shell("mkdir $VORTEX_OUTPUTS; touch $VORTEX_OUTPUTS/x"))),
              HasSubstr("not a regular file"));
  EXPECT_THAT(summary(on.run(shell("ln -s /etc/passwd $VORTEX_OUTPUTS"))),
              HasSubstr("not a regular file"));
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
  EXPECT_EQ(summary(on.run(shell("echo '[1]' > $VORTEX_OUTPUTS; exit 4"))), "failed: exit code 4");
}

TEST(TaskFiles, CheckpointOfAnEarlierAttemptIsThere) {
  Executing on;
  const std::string bytes("state\0\xff of before", 16);
  on.run(shell("cat $VORTEX_CHECKPOINT"), [&](Launch& launch) { launch.checkpoint = bytes; });
  EXPECT_EQ(on.text(on.last), bytes);
  EXPECT_THAT(on.told[on.last].checkpoints, IsEmpty()) << "it is known already";
  on.run(shell("ls $VORTEX_CHECKPOINT"));
  EXPECT_THAT(on.text(on.last), HasSubstr("No such file"));
}

TEST(TaskFiles, InputsAreThereForTheTaskThatAsksForThemAlone) {
  Executing on;
  const std::string inputs = R"({"resize":{"size":[)" + std::string(300'000, '1') + "]}}";
  on.run(shell("wc -c < $VORTEX_INPUTS; head -c 10 $VORTEX_INPUTS"),
         [&](Launch& launch) { launch.inputs = inputs; });
  EXPECT_EQ(on.text(on.last), std::to_string(inputs.size()) + "\n{\"resize\":");
  on.run(shell("ls $VORTEX_INPUTS"));
  EXPECT_THAT(on.text(on.last), HasSubstr("No such file"));
}

TEST(TaskFiles, CheckpointsAreToldWhileTheTaskRunsAndAtItsEnd) {
  Executing on;
  const std::string go = on.folder.path() + "/tasks/slot-0/tmp/go";
  const Attempt second = on.start(
      shell("cd $VORTEX_TMPDIR; mkfifo go1 go2; echo one > $VORTEX_CHECKPOINT; read x < go1; "
            "echo two > $VORTEX_CHECKPOINT.new; mv $VORTEX_CHECKPOINT.new $VORTEX_CHECKPOINT; "
            "read x < go2; printf three > $VORTEX_CHECKPOINT; exit 1"));
  EXPECT_TRUE(on.wait([&] { return on.told[second].checkpoints.size() == 1; }));
  std::ofstream(go + "1") << "x\n";
  EXPECT_TRUE(on.wait([&] { return on.told[second].checkpoints.size() == 2; }));
  std::ofstream(go + "2") << "x\n";
  EXPECT_EQ(summary(on.wait_over(second)), "failed: exit code 1");
  EXPECT_THAT(on.told[second].checkpoints, ElementsAre("one\n", "two\n", "three"));
}

TEST(TaskFiles, CheckpointWrittenAtTermIsTold) {
  Executing on;
  const Attempt attempt = on.start(shell(
      "trap 'echo last > $VORTEX_CHECKPOINT; exit 0' TERM; echo up; while :; do sleep 0.01; done"));
  on.lines(attempt, 1);
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  EXPECT_THAT(on.told[attempt].checkpoints, ElementsAre("last\n"));
}

// What the executor hands over beside the reports.
struct Carried {
  std::vector<CheckpointCarrier::Upload> uploads;

  void listen(ExecutorConfig& config) {
    config.checkpoint_bytes_max = 1000;
    config.save = [this](CheckpointCarrier::Upload upload) {
      uploads.push_back(std::move(upload));
    };
  }
};

TEST(TaskFiles, ALargeCheckpointIsCarriedBesideTheReportsAndTheEndWaitsForIt) {
  Carried carried;
  Executing on(Containment::kAuto, [&](ExecutorConfig& config) { carried.listen(config); });
  const Attempt attempt = on.start(shell("head -c 1001 /dev/zero > $VORTEX_CHECKPOINT; exit 1"));
  ASSERT_TRUE(on.wait([&] { return !carried.uploads.empty(); }));
  EXPECT_EQ(carried.uploads[0].bytes, 1001U);
  EXPECT_TRUE(carried.uploads[0].is_same());
  EXPECT_FALSE(on.told[attempt].over()) << "its end was told while the checkpoint was on its way";
  carried.uploads[0].done({Saved::How::kKept, {}});
  EXPECT_EQ(summary(on.wait_over(attempt)), "failed: exit code 1");
  EXPECT_THAT(on.told[attempt].checkpoints, IsEmpty());
  EXPECT_EQ(on.text(attempt), "");
}

TEST(TaskFiles, ACheckpointThatIsRefusedIsSaidInTheLogOfItsTask) {
  Carried carried;
  Executing on(Containment::kAuto, [&](ExecutorConfig& config) { carried.listen(config); });
  const Attempt attempt = on.start(shell("head -c 1001 /dev/zero > $VORTEX_CHECKPOINT; exit 1"));
  ASSERT_TRUE(on.wait([&] { return !carried.uploads.empty(); }));
  carried.uploads[0].done({Saved::How::kRefused, "too large"});
  on.wait_over(attempt);
  EXPECT_THAT(on.text(attempt), HasSubstr("[vortex] the checkpoint was rejected: too large"));
}

TEST(TaskFiles, ACheckpointThatChangesOnItsWayIsSentAgain) {
  Carried carried;
  Executing on(Containment::kAuto, [&](ExecutorConfig& config) { carried.listen(config); });
  const Attempt attempt = on.start(shell("head -c 1001 /dev/zero > $VORTEX_CHECKPOINT; exit 1"));
  ASSERT_TRUE(on.wait([&] { return !carried.uploads.empty(); }));
  auto first = std::move(carried.uploads[0]);
  first.done({Saved::How::kChanged, "changed"});
  ASSERT_TRUE(on.wait([&] { return carried.uploads.size() == 2; }));
  carried.uploads[1].done({Saved::How::kKept, {}});
  on.wait_over(attempt);
}

TEST(TaskFiles, AFolderAsCheckpointIsRefusedAloudAndOnce) {
  Carried carried;
  Executing on(Containment::kAuto, [&](ExecutorConfig& config) { carried.listen(config); });
  const Attempt attempt =
      on.start(shell("mkdir $VORTEX_CHECKPOINT; touch $VORTEX_CHECKPOINT/x; exit 1"));
  ASSERT_TRUE(on.wait([&] { return !carried.uploads.empty(); }));
  EXPECT_EQ(carried.uploads[0].reason, "it is not a regular file");
  carried.uploads[0].done({Saved::How::kRefused, carried.uploads[0].reason});
  on.wait_over(attempt);
  EXPECT_EQ(carried.uploads.size(), 1U);
  EXPECT_THAT(on.text(on.last),
              HasSubstr("[vortex] the checkpoint was rejected: it is not a regular file"));
}

TEST(TaskFiles, AnEmptyCheckpointSaysNothing) {
  Executing on;
  on.run(shell("cat $VORTEX_CHECKPOINT; : > $VORTEX_CHECKPOINT; exit 1"),
         [](Launch& launch) { launch.checkpoint = "before"; });
  EXPECT_EQ(on.text(on.last), "before");
  EXPECT_THAT(on.told[on.last].checkpoints, IsEmpty());
}

TEST(TaskFiles, AFetchedFileBecomesTheCheckpoint) {
  Executing on;
  const std::string fetched = on.folder.path() + "/fetched";
  std::ofstream(fetched) << "large state";
  on.run(shell("cat $VORTEX_CHECKPOINT; exit 1"),
         [&](Launch& launch) { launch.checkpoint_file = fetched; });
  EXPECT_EQ(on.text(on.last), "large state");
  EXPECT_FALSE(std::filesystem::exists(fetched));
  EXPECT_THAT(on.told[on.last].checkpoints, IsEmpty()) << "it is known already";
}

TEST(TaskFiles, ProgressIsItsLastLine) {
  Executing on;
  const Attempt attempt =
      on.start(shell("cd $VORTEX_TMPDIR; mkfifo go1 go2; echo '10 fetching' > $VORTEX_PROGRESS; "
                     "read x < go1; echo 'nonsense' >> $VORTEX_PROGRESS; "
                     "echo ' 65% running tests ' >> $VORTEX_PROGRESS; read x < go2; "
                     "echo 101 too much >> $VORTEX_PROGRESS"));
  EXPECT_TRUE(on.wait([&] { return !on.told[attempt].progress.empty(); }));
  const std::string go = on.folder.path() + "/tasks/slot-0/tmp/go";
  std::ofstream(go + "1") << "x\n";
  EXPECT_TRUE(on.wait([&] {
    return !on.told[attempt].progress.empty() && on.told[attempt].progress.back().percent == 65;
  }));
  std::ofstream(go + "2") << "x\n";
  on.wait_over(attempt);
  EXPECT_EQ(on.told[attempt].progress.front(), (Progress{10, "fetching"}));
  EXPECT_EQ(on.told[attempt].progress.back(), (Progress{65, "running tests"}));
}

TEST(TaskFiles, TemporaryFolderIsEmptyForEveryTask) {
  Executing on;
  const std::string list = "ls -A $VORTEX_TMPDIR; ls -A $VORTEX_TMPDIR/..";
  on.run(shell(list));
  EXPECT_EQ(on.text(on.last), "tmp\n");
  on.run(shell("cd $VORTEX_TMPDIR; mkdir -p a/b; touch x a/b/y ../stray; mkdir ../folder"));
  on.run(shell(list));
  EXPECT_EQ(on.text(on.last), "tmp\n");
  on.run(shell("rm -rf $VORTEX_TMPDIR"));
  on.run(shell(list));
  EXPECT_EQ(on.text(on.last), "tmp\n");
  const std::string kept = on.folder.path() + "/kept";
  on.run(shell("touch $VORTEX_TMPDIR/mine; mv $VORTEX_TMPDIR " + kept));
  on.run(shell(list));
  EXPECT_EQ(on.text(on.last), "tmp\n");
  EXPECT_TRUE(std::filesystem::exists(kept + "/mine")) << "what was moved away is not touched";
}

// What a task may do to the folder of its files, in $D, and what is still there afterwards.
struct Vandal {
  const char* name;
  const char* script;
};

class VandalisedFiles : public testing::TestWithParam<Vandal> {};

INSTANTIATE_TEST_SUITE_P(
    By, VandalisedFiles,
    testing::Values(
        Vandal{"Removal", "rm -rf $D"}, Vandal{"ItsOwnCopy", "mv $D $KEPT; mkdir $D"},
        Vandal{"File", "rm -rf $D; echo x > $D"}, Vandal{"Pipe", "rm -rf $D; mkfifo $D"},
        Vandal{"Link", "rm -rf $D; ln -s $KEPT $D"},
        Vandal{"LinkAsTmp", "rm -rf $D/tmp; ln -s $KEPT $D/tmp"},
        Vandal{"LinkAsOutputs", "ln -s $KEPT/precious $VORTEX_OUTPUTS; exit 1"},
        Vandal{"Rights", "mkdir -p $D/tmp/a/b; touch $D/tmp/a/b/c; chmod 0 $D/tmp/a/b $D/tmp/a $D"},
        Vandal{"RemovalOfAll", "rm -rf $(dirname $D)"},
        Vandal{"LinkToAll", "mv $D/.. $D/../../away; ln -s away $D/../../tasks"},
        Vandal{"FileForAll", "P=$(dirname $D); rm -rf $P; echo x > $P"},
        Vandal{"OpenDoors", "chmod 777 $D $D/tmp"},
        Vandal{"Mount", "mount -t tmpfs none $D 2>/dev/null || exit 0"},
        Vandal{"MountOfOthers",
               "mkdir $D/tmp/m; mount --bind $KEPT $D/tmp/m 2>/dev/null || exit 0"},
        Vandal{"Frozen", "touch $D/tmp/f; chattr +i $D/tmp/f $D/tmp $D 2>/dev/null || exit 0"}),
    [](const auto& of) { return of.param.name; });

TEST_P(VandalisedFiles, AreNewForTheNextTask) {
  Executing on(Containment::kAuto, [](ExecutorConfig& config) { config.slots = 1; });
  const std::string kept = on.folder.path() + "/kept";
  std::filesystem::create_directory(kept);
  std::ofstream(kept + "/precious") << "{}";
  on.run(shell("D=$(dirname $VORTEX_OUTPUTS); " + std::string(GetParam().script)),
         [&](Launch& launch) { launch.env.emplace_back("KEPT", kept); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        summary(on.run(shell("ls -A $(dirname $VORTEX_OUTPUTS); stat -c %a $VORTEX_TMPDIR; touch "
                             "$VORTEX_TMPDIR/x && echo '{\"a\": 1}' > $VORTEX_OUTPUTS"),
                       [](Launch& launch) { launch.outputs = {"a"}; })),
        "completed {\"a\":1}");
    EXPECT_EQ(on.text(on.last), "tmp\n700\n");
  }
  on.executor.reset();
  EXPECT_TRUE(std::filesystem::exists(kept + "/precious")) << "a link or a mount was followed";
}

TEST(TaskFiles, TheFolderOfATaskThatIsOverIsRemovedHoweverItLooks) {
  Executing on(Containment::kAuto, [](ExecutorConfig& config) { config.slots = 1; });
  on.run(
      shell("cd $VORTEX_TMPDIR; mkdir -p a/b/c d; touch a/b/c/x d/y; chmod 0 a/b d; "
            "i=0; while [ $i -lt 300 ]; do mkdir deep; cd deep; i=$((i + 1)); done"));
  on.run({"true"});
  const std::string tasks = on.folder.path() + "/tasks";
  EXPECT_TRUE(on.wait([&] { return names_in(tasks).size() == 1; })) << names_in(tasks).size();
}

TEST(TaskFiles, ADeclaredOutputInAFolderThatIsGoneSaysSo) {
  Executing on;
  EXPECT_THAT(
      summary(on.run(shell("rm -rf $(dirname $VORTEX_OUTPUTS)"),
                     [](Launch& launch) { launch.outputs = {"a"}; })),
      HasSubstr("its output 'a' to $VORTEX_OUTPUTS: the directory was removed or replaced"));
}

TEST(TaskFiles, OutputsThatTheWorkerCannotReadReleaseTheTask) {
  Executing on;
  on.sink.hold_back = true;
  const Attempt attempt = on.start(shell("echo '{\"a\": 1}' > $VORTEX_OUTPUTS"));
  ASSERT_TRUE(on.wait([&] { return on.sink.waiting.size() == 1; }));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  on.sink.waiting[0]();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  on.sink.hold_back = false;
  EXPECT_EQ(summary(on.wait_over(attempt)), "released");
  EXPECT_THAT(on.notices, testing::Contains(HasSubstr("the outputs cannot be read: Too many")));
  EXPECT_EQ(summary(on.run({"true"})), "completed ") << "the slot is as good as before";
}

TEST(TaskFiles, AWorkFolderThatCannotBeMadeIsNotTheTasksFault) {
  const TempFolder outer;
  const std::string base = outer.path() + "/base";
  Executing on(Containment::kAuto, [&](ExecutorConfig& config) {
    config.slots = 1;
    config.work_dir = base + "/w";
  });
  on.run(shell("rm -rf " + base + "; touch " + base));
  const Told& told = on.run({"true"});
  ASSERT_TRUE(told.could_not_start);
  EXPECT_EQ(told.could_not_start->fault, agent::ProcessCouldNotStart::Fault::kWorker);
  EXPECT_THAT(told.could_not_start->message, HasSubstr(base));
  std::filesystem::remove(base);
  EXPECT_EQ(summary(on.run({"true"})), "completed ");
}

}  // namespace
}  // namespace vortex::worker
