// The output of tasks is always drained, exactly, and never at the cost of others.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/worker/executing.h"
#include "worker/slot/process_tree.h"

namespace vortex::worker {
namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

std::int64_t largest_kib() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

TEST(TaskOutput, BinaryOutputIsExact) {
  Executing on;
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 251));
  const std::string file = on.folder.path() + "/bytes";
  std::ofstream(file, std::ios::binary) << bytes;
  on.run({"cat", file});
  EXPECT_EQ(on.text(on.last), bytes);
}

TEST(TaskOutput, ErrorsAndOutputAreOneStreamInOrder) {
  Executing on;
  on.run(shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done"));
  EXPECT_EQ(on.text(on.last), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

TEST(TaskOutput, FloodIsDrainedInBoundedMemoryAndOthersAreNotLate) {
  constexpr std::uint64_t kBytes = 200'000'000;  // one line, longer than any buffer
  Executing on;
  on.sink.keep = KeepingSink::Keep::kCount;
  on.run({"true"});
  const std::int64_t before = largest_kib();
  const Attempt flood = on.start({"head", "-c", std::to_string(kBytes), "/dev/zero"});
  Duration slowest;
  for (int i = 0; i < 20; ++i) {
    const Instant start = boot_clock_now();
    on.run({"true"});
    slowest = std::max(slowest, boot_clock_now() - start);
  }
  EXPECT_EQ(summary(on.wait_over(flood)), "completed ");
  EXPECT_EQ(on.sink.bytes, kBytes);
  EXPECT_LT(largest_kib() - before, 16 * 1024);
  EXPECT_LT(slowest, seconds(2));
}

TEST(TaskOutput, HolderOutsideOfTheTaskDoesNotHoldItUp) {
  Executing on;
  const Attempt attempt = on.start(shell("echo $$; exec sleep 1000"));
  const std::string pid = on.lines(attempt, 1).at(0);
  // Somebody else has opened the task's output and goes on writing to it.
  const int holder = ::open(fmt::format("/proc/{}/fd/1", pid).c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(holder, 0);
  on.executor->kill(attempt);
  EXPECT_EQ(summary(on.wait_over(attempt)), "killed");
  ::close(holder);
}

TEST(TaskOutput, ManyTasksLeaveNothingBehind) {
  Executing on;
  on.sink.keep = KeepingSink::Keep::kCount;
  std::uint32_t started = 0;
  const auto more = [&] {
    while (started < 1000 && on.executor->running() < 4) {
      on.start({"true"});
      ++started;
    }
  };
  const auto until = [&](std::uint32_t count) {
    return on.wait(
        [&] {
          more();
          return started >= count && (started < 1000 || on.executor->running() == 0);
        },
        seconds(60));
  };
  ASSERT_TRUE(until(8));
  const std::size_t descriptors = open_descriptors();
  ASSERT_TRUE(until(1000));
  for (const auto& [attempt, told] : on.told) ASSERT_EQ(summary(told), "completed ");
  EXPECT_EQ(on.told.size(), 1000U);
  EXPECT_LE(open_descriptors(), descriptors);
  // Four runners and nothing else, dead or alive.
  EXPECT_EQ(processes_below(::getpid()).size(), 4U);
}

}  // namespace
}  // namespace vortex::worker
