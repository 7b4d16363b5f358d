// What can be said of a worker's container without making one; tests/e2e/container_launcher.sh
// makes them.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/spawn_worker.h"

namespace vortex::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Container, M08_HostHasTheNameOfTheWorkerAsFarAsItFits) {
  EXPECT_EQ(container_host_name("hall-7"), "hall-7");
  EXPECT_EQ(container_host_name(std::string(80, 'x')), std::string(63, 'x'));
}

TEST(Container, MountPointsAreReadWithTheirBlanks) {
  EXPECT_THAT(mount_points("22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                           "31 27 8:1 /a /mnt/two\\040words rw shared:3 - ext4 /dev/vda rw\n"
                           "damaged\n"),
              ElementsAre("/proc", "/mnt/two words"));
}

TEST(Container, IsNotMadeOfTheMachineItself) {
  const auto root = enter_container({.worker = "w", .root = {}, .work_dir = "/nowhere"});
  ASSERT_FALSE(root);
  EXPECT_THAT(root.error(), HasSubstr("first process"));
}

}  // namespace
}  // namespace vortex::worker
