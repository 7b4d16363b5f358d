// The files beside the database: monitor log and space reserve.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/local/folder.h"
#include "controller/monitor_log.h"
#include "controller/space_reserve.h"

namespace vortex::controller {
namespace {

using cli::local::TempFolder;

std::string read(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MonitorLog, M06_GoesOnWhereItEnded) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  {
    EXPECT_TRUE(MonitorLog(path, 1000).append("one\n"));
  }
  {
    EXPECT_TRUE(MonitorLog(path, 1000).append("two\n"));
  }
  EXPECT_EQ(read(path), "one\ntwo\n");
}

TEST(MonitorLog, ALargeOneIsPutAsideWhole) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  MonitorLog log(path, 5);
  EXPECT_TRUE(log.append("123456\n"));
  EXPECT_TRUE(log.append("new\n"));
  EXPECT_EQ(read(path + ".1"), "123456\n");
  EXPECT_EQ(read(path), "new\n");
}

TEST(MonitorLog, AFolderThatIsGoneIsToldAndTriedAgain) {
  const TempFolder folder;
  const std::string path = folder.path() + "/sub/monitor.log";
  MonitorLog log(path, 1000);
  EXPECT_FALSE(log.append("lost\n"));
  std::filesystem::create_directory(folder.path() + "/sub");
  EXPECT_TRUE(log.append("kept\n"));
  EXPECT_EQ(read(path), "kept\n");
}

TEST(SpaceReserve, TakesItsSpaceAndGivesItBack) {
  const TempFolder folder;
  const std::string path = folder.path() + "/x.reserve";
  SpaceReserve reserve(path, 1 << 20);
  EXPECT_TRUE(reserve.hold());
  EXPECT_EQ(std::filesystem::file_size(path), 1U << 20);
  EXPECT_TRUE(reserve.give_up());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(reserve.give_up()) << "only once";
  EXPECT_TRUE(reserve.hold());
}

TEST(SpaceReserve, IsNotTakenWhenItWouldTakeTheLastSpace) {
  const TempFolder folder;
  SpaceReserve reserve(folder.path() + "/x.reserve", std::uint64_t{1} << 60U);
  EXPECT_FALSE(reserve.hold());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace vortex::controller
