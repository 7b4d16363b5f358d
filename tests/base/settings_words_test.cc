// Words from other documents: understood, with a note that names ours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings.h"
#include "base/settings_table.h"
#include "base/settings_value.h"
#include "tests/base/settings_test_tools.h"

namespace vortex {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(SettingsWords, EachMeansASettingThatExistsOrSaysWhyNot) {
  for (const SettingWord& word : setting_words()) {
    EXPECT_FALSE(find_setting(word.full_key()).has_value()) << word.full_key() << " is our own";
    EXPECT_EQ(find_setting_word(word.full_key(), &SettingWord::full_key), &word) << "twice";
    if (word.ours.empty()) {
      EXPECT_FALSE(word.why.empty()) << word.full_key();
    } else {
      EXPECT_TRUE(find_setting(word.ours).has_value()) << word.full_key();
    }
  }
}

TEST(SettingsWords, AnAgentsFileIsUnderstood) {
  const LoadedSettings all = loaded(from_file(R"([agent]
agent_id = "agent-us-east-1a-001"
address = "10.0.1.5:9090"
availability_zone = "us-east-1a"
agent_group = "prod"
[heartbeat]
interval_seconds = 20
timeout_seconds = 90
[health_check]
port = 9091
path = "/health"
[graceful_shutdown]
timeout_seconds = 45
)"));
  EXPECT_EQ(all.settings.worker.name, "agent-us-east-1a-001");
  EXPECT_EQ(all.settings.worker.zone, "us-east-1a");
  EXPECT_EQ(all.settings.worker.group, "prod");
  EXPECT_EQ(all.settings.worker.heartbeat_interval, seconds(20));
  EXPECT_EQ(all.settings.controller.heartbeat_timeout, seconds(90));
  EXPECT_EQ(all.settings.worker.shutdown_timeout, seconds(45));
  EXPECT_EQ(all.settings.worker.health_port, 9091U);
  EXPECT_THAT(all.notices, SizeIs(9));
  EXPECT_THAT(all.notices,
              testing::Contains("vortex.toml:7:20: 'heartbeat.interval_seconds' is called "
                                "'worker.heartbeat_interval_secs' here"));
}

TEST(SettingsWords, AWorkersSectionIsUnderstood) {
  const Settings s = settings_of(from_file(R"([resilience]
enabled = true
[workers]
spawn_retry_attempts = 5
spawn_backoff_strategy = "linear"
spawn_backoff_base_seconds = 3
spawn_backoff_max_seconds = 60
task_stale_timeout_seconds = 1800
heartbeat_interval_seconds = 30
heartbeat_stale_threshold = 150
auto_respawn = false
max_respawn_attempts = 7
)"));
  EXPECT_EQ(s.worker.spawn_retry_attempts, 5U);
  EXPECT_EQ(s.worker.spawn_backoff_strategy, SpawnBackoff::kLinear);
  EXPECT_EQ(s.worker.spawn_backoff_base, seconds(3));
  EXPECT_EQ(s.worker.spawn_backoff_max, seconds(60));
  EXPECT_EQ(s.controller.task_stale_timeout, seconds(1800));
  EXPECT_EQ(s.worker.heartbeat_interval, seconds(30));
  EXPECT_EQ(s.controller.heartbeat_timeout, seconds(150));
  EXPECT_FALSE(s.worker.auto_respawn);
  EXPECT_EQ(s.worker.max_respawn_attempts, 7U);
}

TEST(SettingsWords, AnExecutorsSectionIsUnderstoodEverywhere) {
  const Settings file =
      settings_of(from_file("[executor]\nscheduled_timeout = 120\ntimeout_check_interval = 30\n"));
  EXPECT_EQ(file.controller.scheduled_timeout, seconds(120));
  EXPECT_EQ(file.controller.timeout_check_interval, seconds(30));
  const Settings flags = settings_of(from_flags({"--executor.scheduled-timeout", "130"}));
  EXPECT_EQ(flags.controller.scheduled_timeout, seconds(130));
  const Settings environment =
      settings_of(from_environment({{"VORTEX_EXECUTOR_SCHEDULED_TIMEOUT", "140"}}));
  EXPECT_EQ(environment.controller.scheduled_timeout, seconds(140));
}

TEST(SettingsWords, ConstantsOfTheEnvironmentNeedOnlyThePrefix) {
  const LoadedSettings all = loaded(from_environment({{"VORTEX_HEARTBEAT_TIMEOUT_SECS", "90"},
                                                      {"VORTEX_TASK_TIMEOUT_SECS", "600"},
                                                      {"HEARTBEAT_TIMEOUT_SECS", "31"}}));
  EXPECT_EQ(all.settings.controller.heartbeat_timeout, seconds(90));
  EXPECT_EQ(all.settings.controller.task_timeout, seconds(600));
  EXPECT_THAT(all.notices,
              ElementsAre("environment variable VORTEX_HEARTBEAT_TIMEOUT_SECS: "
                          "'heartbeat_timeout_secs' is called 'controller.heartbeat_timeout_secs' "
                          "here",
                          "environment variable VORTEX_TASK_TIMEOUT_SECS: 'task_timeout_secs' is "
                          "called 'controller.task_timeout_secs' here"));
}

TEST(SettingsWords, BothWordsWithTwoValuesAreRefused) {
  EXPECT_EQ(
      errors_of(from_file("[controller]\nheartbeat_timeout_secs = 60\n"
                          "[workers]\nheartbeat_stale_threshold = 120\n")),
      "error[VX-CFG-006]: controller.heartbeat_timeout_secs is given twice, as 60 and as 120\n"
      "  --> vortex.toml:2:26\n"
      "  --> vortex.toml:4:29\n"
      "   = help: keep only one of them, as controller.heartbeat_timeout_secs\n");
  EXPECT_THAT(errors_of(from_file("[controller]\nheartbeat_timeout_secs = 60\n"
                                  "[workers]\nheartbeat_stale_threshold = 60\n")),
              IsEmpty());
  EXPECT_THAT(errors_of(from_file("[heartbeat]\ntimeout_seconds = 60\n"
                                  "[workers]\nheartbeat_stale_threshold = 120\n")),
              HasSubstr("is given twice, as 60 and as 120"));
}

TEST(SettingsWords, AnotherSourceOverridesAsAlways) {
  LoadRequest request = from_file("[workers]\nheartbeat_stale_threshold = 120\n");
  request.environment = {{"VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS", "60"}};
  EXPECT_EQ(settings_of(request).controller.heartbeat_timeout, seconds(60));
}

TEST(SettingsWords, WhatCannotBeIsRefused) {
  EXPECT_THAT(errors_of(from_file("[resilience]\nenabled = false\n")),
              HasSubstr("resilience.enabled = false is not possible: recovery is always on"));
  EXPECT_THAT(errors_of(from_file("[health_check]\npath = \"/status\"\n")),
              HasSubstr("the path is always /health"));
  EXPECT_THAT(errors_of(from_file("[workers]\nmax_respawn_attempts = 21\n")),
              HasSubstr("worker.max_respawn_attempts = 21 is outside its range 0 to 20"));
  EXPECT_THAT(errors_of(from_file("[workers]\nspawn_retries = 5\n")),
              HasSubstr("unknown key 'workers.spawn_retries'"));
}

}  // namespace
}  // namespace vortex
