#include <vector>

#include <gtest/gtest.h>

#include "worker/supervisor.h"

namespace vortex::worker {
namespace {

WorkerSettings settings_with(SpawnBackoff strategy) {
  WorkerSettings settings = default_settings().worker;
  settings.spawn_backoff_strategy = strategy;
  settings.spawn_retry_attempts = 10;
  settings.max_respawn_attempts = 20;
  return settings;
}

std::vector<std::int64_t> waits(SpawnBackoff strategy, int count) {
  Respawn respawn(settings_with(strategy));
  std::vector<std::int64_t> seconds;
  for (int i = 0; i < count; ++i) {
    const auto wait = respawn.after_end(WorkerStage::kNothing, millis(5));
    seconds.push_back(wait ? wait->us / 1'000'000 : -1);
  }
  return seconds;
}

TEST(RespawnTest, M01_WaitsGrowAsTheStrategySaysUpToTheCap) {
  using Waits = std::vector<std::int64_t>;
  EXPECT_EQ(waits(SpawnBackoff::kExponential, 6), (Waits{2, 4, 8, 16, 30, 30}));
  EXPECT_EQ(waits(SpawnBackoff::kLinear, 5), (Waits{2, 4, 6, 8, 10}));
  EXPECT_EQ(waits(SpawnBackoff::kFixed, 3), (Waits{2, 2, 2}));
}

TEST(RespawnTest, M01_SpawnIsGivenUpAfterTheLastTry) {
  Respawn respawn(default_settings().worker);
  EXPECT_TRUE(respawn.after_end(WorkerStage::kNothing, {}));
  EXPECT_TRUE(respawn.after_end(WorkerStage::kNothing, {}));
  EXPECT_FALSE(respawn.after_end(WorkerStage::kNothing, {}));
}

TEST(RespawnTest, M07_CrashedWorkerComesBackAtOnceAndAtMostSoOften) {
  Respawn respawn(default_settings().worker);
  EXPECT_EQ(respawn.after_end(WorkerStage::kReady, seconds(1)), Duration{});
  EXPECT_EQ(respawn.after_end(WorkerStage::kReady, seconds(1)), seconds(2));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(respawn.after_end(WorkerStage::kReady, seconds(1)));
  EXPECT_FALSE(respawn.after_end(WorkerStage::kReady, seconds(1)));
}

TEST(RespawnTest, M07_OneThatProvedWellStartsTheCountAnew) {
  Respawn respawn(default_settings().worker);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(respawn.after_end(WorkerStage::kReady, seconds(1)));
  EXPECT_EQ(respawn.after_end(WorkerStage::kProved, seconds(1)), Duration{});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(respawn.after_end(WorkerStage::kReady, seconds(1)));
  EXPECT_EQ(respawn.after_end(WorkerStage::kReady, kHealthyFor), Duration{});
}

TEST(RespawnTest, M07_ZeroMeansNever) {
  WorkerSettings settings = default_settings().worker;
  settings.max_respawn_attempts = 0;
  Respawn none(settings);
  EXPECT_FALSE(none.after_end(WorkerStage::kProved, seconds(100)));
  settings = default_settings().worker;
  settings.auto_respawn = false;
  Respawn off(settings);
  EXPECT_FALSE(off.after_end(WorkerStage::kProved, seconds(100)));
}

}  // namespace
}  // namespace vortex::worker
