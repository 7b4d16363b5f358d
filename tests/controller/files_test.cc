// The files beside the database: monitor log and space reserve.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/resource.h>

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

std::string line(std::uint64_t seq) {
  return R"({"ts":"t","level":"INFO","event":"health_pass","task_id":null,"data":{},"seq":)" +
         std::to_string(seq) + ",\"run_id\":null}\n";
}

std::string lines(std::uint64_t first, std::uint64_t last) {
  std::string out;
  for (std::uint64_t seq = first; seq <= last; ++seq) out += line(seq);
  return out;
}

using Wrote = MonitorLog::Wrote;

Wrote append(MonitorLog& log, std::uint64_t first, std::uint64_t last) {
  return log.append({first, last, lines(first, last)});
}

TEST(MonitorLog, M06_GoesOnWhereItEnded) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  for (const std::uint64_t seq : {1U, 2U}) {
    MonitorLog log(path, 1000);
    log.begin_at(seq - 1);
    EXPECT_FALSE(log.is_behind());
    EXPECT_EQ(append(log, seq, seq), Wrote::kAll);
  }
  EXPECT_EQ(read(path), lines(1, 2));
}

TEST(MonitorLog, ALargeOneIsPutAsideWholeAndRemembered) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  {
    MonitorLog log(path, 150);
    log.begin_at(0);
    EXPECT_EQ(append(log, 1, 2), Wrote::kAll);
    EXPECT_EQ(read(path + ".1"), lines(1, 2));
  }
  MonitorLog log(path, 150);
  log.begin_at(3);
  EXPECT_TRUE(log.is_behind());
  EXPECT_EQ(log.missing().after, 2U);
}

TEST(MonitorLog, AFolderThatIsGoneIsToldAndWhatIsMissingComesFromTheStore) {
  const TempFolder folder;
  const std::string path = folder.path() + "/sub/monitor.log";
  MonitorLog log(path, 1000);
  log.begin_at(0);
  EXPECT_EQ(append(log, 1, 1), Wrote::kFailed);
  std::filesystem::create_directory(folder.path() + "/sub");
  EXPECT_EQ(append(log, 2, 2), Wrote::kBehind) << "not before the first";
  EXPECT_EQ(log.fill(log.missing(), lines(1, 1)), Wrote::kBehind);
  EXPECT_EQ(log.fill(log.missing(), lines(1, 2)), Wrote::kAll);
  EXPECT_EQ(append(log, 3, 3), Wrote::kAll);
  EXPECT_EQ(read(path), lines(1, 3));
}

TEST(MonitorLog, M06_ATornLastLineIsCutAndWrittenAgain) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  std::ofstream(path) << lines(1, 3) << line(4).substr(0, 20);
  MonitorLog log(path, 10'000);
  log.begin_at(5);
  EXPECT_EQ(read(path), lines(1, 3));
  EXPECT_TRUE(log.is_behind());
  EXPECT_EQ(log.fill(log.missing(), lines(2, 5)), Wrote::kAll);
  EXPECT_EQ(read(path), lines(1, 5));
}

// The kernel writes as much as fits; a limit on the size of files does what a full disk does.
TEST(MonitorLog, M06_AFullDiskTearsNoLine) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  MonitorLog log(path, 10'000);
  log.begin_at(0);
  EXPECT_EQ(append(log, 1, 2), Wrote::kAll);
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit full = before;
  full.rlim_cur = lines(1, 2).size() + 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_EQ(append(log, 3, 3), Wrote::kFailed);
  EXPECT_EQ(read(path), lines(1, 2));
  EXPECT_EQ(append(log, 4, 4), Wrote::kBehind);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(log.fill(log.missing(), lines(1, 4)), Wrote::kAll);
  EXPECT_EQ(append(log, 5, 5), Wrote::kAll);
  EXPECT_EQ(read(path), lines(1, 5));
}

TEST(MonitorLog, WhatTheStoreForgotCannotComeBackAndHoldsNothingUp) {
  const TempFolder folder;
  const std::string path = folder.path() + "/monitor.log";
  std::ofstream(path) << lines(1, 1);
  MonitorLog log(path, 10'000);
  log.begin_at(9);
  EXPECT_EQ(log.fill(log.missing(), lines(7, 9)), Wrote::kAll);
  EXPECT_EQ(read(path), lines(1, 1) + lines(7, 9));
  EXPECT_EQ(log.fill(log.missing(), ""), Wrote::kAll);
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
