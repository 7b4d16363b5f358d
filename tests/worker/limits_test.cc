// Limits of tasks, where the machine lets us set them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/worker/executing.h"
#include "worker/cgroup.h"
#include "worker/files.h"

namespace vortex::worker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Whether a memory or processor limit can be set here at all.
std::string objection(const Resources& resources) {
  const std::string name = fmt::format("test-probe-{}", ::getpid());
  const CgroupRoots roots = find_cgroup_roots(name);
  SlotGroup group(roots, {.name = {.supervisor = name, .worker = "w"}, .slot = 0});
  std::string text = group.limit(resources);
  group.remove();
  for (const std::string* root : {&roots.unified, &roots.memory, &roots.cpu, &roots.pids}) {
    if (!root->empty()) remove_group(group_folder(*root, {.supervisor = name, .worker = {}}));
  }
  return text;
}

// Where nothing can be limited a task runs all the same, and it is said.
void expect_run_without_limits(const Resources& resources) {
  Executing on;
  const auto limited = [&](Launch& launch) { launch.resources = resources; };
  EXPECT_EQ(summary(on.run({"true"}, limited)), "completed ");
  EXPECT_EQ(on.notices.size(), 1U);
}

TEST(TaskLimits, OutOfMemoryIsRecognised) {
  const Resources resources{.cpu_milli = 0, .memory_bytes = 64 * 1024 * 1024, .named = {}};
  if (!objection(resources).empty()) return expect_run_without_limits(resources);
  Executing on;
  const auto limited = [&](Launch& launch) { launch.resources = resources; };
  // It reads a line without end.
  EXPECT_EQ(summary(on.run({"tail", "/dev/zero"}, limited)),
            "failed: out of memory: the limit was 64 MiB");
  EXPECT_EQ(std::get<Failed>(*on.told[on.last].exit).cause, Failed::Cause::kOutOfMemory);
  // A kill by somebody else is not taken for it, with or without a limit.
  EXPECT_EQ(summary(on.run(shell("kill -9 $$"), limited)), "failed: killed by signal 9 (KILL)");
  // The next task has no limit: twice as much fits.
  EXPECT_EQ(summary(on.run(shell("head -c 128M /dev/zero | tail -c 128M | wc -c"))), "completed ");
  EXPECT_EQ(on.text(on.last), "134217728\n");
  EXPECT_THAT(on.notices, IsEmpty());
}

TEST(TaskLimits, ProcessorLimitIsSetAndLifted) {
  const Resources resources{.cpu_milli = 500, .memory_bytes = 0, .named = {}};
  if (!objection(resources).empty()) return expect_run_without_limits(resources);
  Executing on;
  const std::string name = fmt::format("test-{}", ::getpid());
  const CgroupRoots roots = find_cgroup_roots(name);
  const auto quota = [&] {
    const GroupName group{.supervisor = name, .worker = "w"};
    const std::string v1 =
        read_text_file(group_folder(roots.cpu, group) + "/slot-0/cpu.cfs_quota_us");
    return v1.empty() ? read_text_file(group_folder(roots.unified, group) + "/slot-0/cpu.max") : v1;
  };
  on.run({"true"}, [&](Launch& launch) { launch.resources = resources; });
  EXPECT_THAT(quota(), HasSubstr("50000"));
  on.run({"true"});
  EXPECT_THAT(quota(), testing::AnyOf("-1\n", HasSubstr("max")));
}

TEST(TaskLimits, WhatCannotBeLimitedRunsAndIsSaidOnce) {
  Executing on(Containment::kTreeOnly);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(summary(on.run({"true"},
                             [](Launch& launch) {
                               launch.resources = {
                                   .cpu_milli = 100, .memory_bytes = 1 << 20, .named = {}};
                             })),
              "completed ");
  }
  ASSERT_THAT(on.notices, SizeIs(1));
  EXPECT_THAT(on.notices[0], HasSubstr("without their limits of memory and cpu"));
}

TEST(CgroupRoots, AreFoundInEveryKindOfHierarchy) {
  const CgroupRoots pure =
      cgroup_roots({.mounts = "24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                    .own = "0::/system.slice/vortex.service\n"},
                   "s");
  EXPECT_EQ(pure.unified, "/sys/fs/cgroup/system.slice/vortex.service");
  EXPECT_THAT(pure.memory, IsEmpty());
  const std::string hybrid =
      "1 0 0:1 / /proc rw - proc proc rw\n"
      "32 31 0:29 / /cg/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";
  const CgroupRoots both =
      cgroup_roots({.mounts = hybrid, .own = "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n"}, "s");
  EXPECT_EQ(both.unified, "/cg/unified");
  EXPECT_EQ(both.memory, "/cg/memory/a/b");
  EXPECT_EQ(both.cpu, "/cg/cpu");
  EXPECT_THAT(both.pids, IsEmpty());
}

TEST(CgroupRoots, AreTheSameFromInsideTheGroupsOfTheSupervisor) {
  const std::string mounts = "24 23 0:22 /pod /cg rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(cgroup_roots({.mounts = mounts, .own = "0::/pod/x\n"}, "a b").unified, "/cg/x");
  EXPECT_EQ(
      cgroup_roots({.mounts = mounts, .own = "0::/pod/x/vortex/a%20b/w/agent\n"}, "a b").unified,
      "/cg/x");
  // A supervisor inside a task of another one begins below that task.
  EXPECT_EQ(
      cgroup_roots({.mounts = mounts, .own = "0::/pod/x/vortex/other/w/slot-1\n"}, "a b").unified,
      "/cg/x/vortex/other/w/slot-1");
  EXPECT_THAT(cgroup_roots({.mounts = mounts, .own = "0::/../y\n"}, "s").unified, IsEmpty());
}

TEST(CgroupRoots, NamesAreOneComponentEach) {
  EXPECT_EQ(group_component("host-1.local"), "host-1.local");
  EXPECT_EQ(group_component("../x"), "%2e.%2fx");
  EXPECT_EQ(group_component(""), "%");
}

}  // namespace
}  // namespace vortex::worker
