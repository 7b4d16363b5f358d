// The files through which a task talks, and its temporary folder.

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const std::string list = "ls -A $VORTEX_TMPDIR; ls -A $VORTEX_TMPDIR/.. | grep -v ^removed-";
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

}  // namespace
}  // namespace vortex::worker
