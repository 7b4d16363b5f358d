// The settings as the contract wants them: keys, defaults, precedence, ranges, messages.

#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings_table.h"
#include "base/settings_value.h"
#include "base/text.h"
#include "tests/base/settings_test_tools.h"

namespace vortex {
namespace {

using testing::HasSubstr;

TEST(Settings, V01_V14_DefaultsAreThoseOfTheContract) {
  const Settings s = default_settings();
  EXPECT_EQ(s.tuning, Tuning::kStandard);
  EXPECT_EQ(s.controller.heartbeat_timeout, seconds(60));
  EXPECT_EQ(s.controller.health_check_interval, seconds(15));
  EXPECT_EQ(s.controller.max_task_retries, 3U);
  EXPECT_EQ(s.controller.task_timeout, hours(1));
  EXPECT_EQ(s.worker.heartbeat_interval, seconds(10));
  EXPECT_EQ(s.database.path, "./vortex.db");
  EXPECT_EQ(s.database.pool_size, 10U);
  EXPECT_EQ(s.monitoring.log_level, LogLevel::kInfo);
  EXPECT_TRUE(s.monitoring.metrics_enabled);
}

TEST(Settings, A01_A02_A03_DefaultsAreThoseOfTheContract) {
  const Settings s = default_settings();
  EXPECT_EQ(s.controller.scheduled_timeout, seconds(300));
  EXPECT_EQ(s.controller.timeout_check_interval, seconds(60));
  EXPECT_EQ(s.worker.shutdown_timeout, seconds(30));
  EXPECT_EQ(s.controller.worker_queue_ttl, seconds(300));
}

TEST(Settings, M01_M02_M07_DefaultsAreThoseOfTheContract) {
  const Settings s = default_settings();
  EXPECT_EQ(s.worker.spawn_retry_attempts, 3U);
  EXPECT_EQ(s.worker.spawn_backoff_strategy, SpawnBackoff::kExponential);
  EXPECT_EQ(s.worker.spawn_backoff_base, seconds(2));
  EXPECT_EQ(s.worker.spawn_backoff_max, seconds(30));
  EXPECT_EQ(s.controller.task_stale_timeout, seconds(600));
  EXPECT_TRUE(s.worker.auto_respawn);
  EXPECT_EQ(s.worker.max_respawn_attempts, 5U);
}

TEST(Settings, V08_ReadsTheFileOfTheSeed) {
  const Settings s = settings_of(from_file(R"([controller]
heartbeat_timeout_secs = 90
health_check_interval_secs = 20
max_task_retries = 4
task_timeout_secs = 1800

[database]
path = "/var/lib/vortex.db"
pool_size = 12

[monitoring]
log_level = "debug"
metrics_enabled = false
)"));
  EXPECT_EQ(s.controller.heartbeat_timeout, seconds(90));
  EXPECT_EQ(s.controller.health_check_interval, seconds(20));
  EXPECT_EQ(s.controller.max_task_retries, 4U);
  EXPECT_EQ(s.controller.task_timeout, minutes(30));
  EXPECT_EQ(s.database.path, "/var/lib/vortex.db");
  EXPECT_EQ(s.database.pool_size, 12U);
  EXPECT_EQ(s.monitoring.log_level, LogLevel::kDebug);
  EXPECT_FALSE(s.monitoring.metrics_enabled);
}

TEST(Settings, V08_EnvironmentOverridesFile) {
  LoadRequest request = from_file("[controller]\nheartbeat_timeout_secs = 90\n");
  request.environment = {{"VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS", "45"}};
  EXPECT_EQ(settings_of(request).controller.heartbeat_timeout, seconds(45));
}

TEST(Settings, WhatATaskFindsInItsEnvironmentIsNoSetting) {
  for (const char* name : {"VORTEX_RUN_ID", "VORTEX_TASK", "VORTEX_WORKER", "VORTEX_WORKER_PID",
                           "VORTEX_CONTAINER", "VORTEX_URL", "VORTEX_TMPDIR"}) {
    EXPECT_TRUE(load_settings({{}, {{name, "7"}}, {}})) << name;
  }
  EXPECT_FALSE(load_settings({{}, {{"VORTEX_WORKER_PIT", "7"}}, {}}));
}

TEST(Settings, V08_FlagOverridesEnvironment) {
  LoadRequest request = from_environment({{"VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS", "45"}});
  request.flags = {"--controller.heartbeat-timeout-secs=30"};
  EXPECT_EQ(settings_of(request).controller.heartbeat_timeout, seconds(30));
}

TEST(Settings, V08_EveryRowIsReadFromFileEnvironmentAndFlag) {
  for (const SettingSpec& spec : settings_table()) {
    // The interval alone implies a shorter timeout, and with it a derived interval.
    if (spec.key == "heartbeat_interval_secs") continue;
    const bool quoted = spec.kind == SettingKind::kText || spec.kind == SettingKind::kChoice;
    const std::string text(spec.fallback);
    const std::string shown = quoted ? "\"" + text + "\"" : text;
    EXPECT_EQ(origin_of(loaded(from_file(spec.full_key() + " = " + shown)), spec.full_key())
                  .substr(0, 14),
              "vortex.toml:1:")
        << spec.full_key();
    EXPECT_EQ(
        origin_of(loaded(from_environment({{spec.environment_name(), text}})), spec.full_key()),
        "environment variable " + spec.environment_name());
    EXPECT_EQ(origin_of(loaded(from_flags({spec.flag() + "=" + text})), spec.full_key()),
              "flag " + spec.flag());
  }
}

TEST(Settings, FlagsTakeTheirValueAsTheNextWordToo) {
  const Settings s = settings_of(from_flags(
      {"--database.path", "a.db", "--monitoring.metrics-enabled", "--worker.auto_respawn=false"}));
  EXPECT_EQ(s.database.path, "a.db");
  EXPECT_TRUE(s.monitoring.metrics_enabled);
  EXPECT_FALSE(s.worker.auto_respawn);
}

TEST(Settings, M09_RefusesOutOfRangeNamingKeyValueRangeAndPlace) {
  EXPECT_EQ(errors_of(from_file("[worker]\nspawn_retry_attempts = 11\n")),
            "error[VX-CFG-005]: worker.spawn_retry_attempts = 11 is outside its range 1 to 10\n"
            "  --> vortex.toml:2:24\n");
}

TEST(Settings, M09_NamesTheEnvironmentVariableAndTheFlag) {
  EXPECT_THAT(
      errors_of(from_environment({{"VORTEX_CONTROLLER_TASK_STALE_TIMEOUT_SECONDS", "59"}})),
      HasSubstr("controller.task_stale_timeout_seconds = 59 is outside its range 60 to 3600 "
                "seconds\n  --> environment variable "
                "VORTEX_CONTROLLER_TASK_STALE_TIMEOUT_SECONDS\n"));
  EXPECT_THAT(errors_of(from_flags({"--worker.max-respawn-attempts=21"})),
              HasSubstr("worker.max_respawn_attempts = 21 is outside its range 0 to 20\n"
                        "  --> flag --worker.max-respawn-attempts\n"));
}

TEST(Settings, M01_M02_M07_M09_RangesAreThoseOfTheContract) {
  const auto range = [](std::string_view key) {
    return settings_table()[*find_setting(key)].range;
  };
  const auto expect = [&](std::string_view key, double min, double max) {
    EXPECT_EQ(range(key).min, min) << key;
    EXPECT_EQ(range(key).max, max) << key;
  };
  expect("worker.spawn_retry_attempts", 1, 10);
  expect("worker.spawn_backoff_base_seconds", 1, 60);
  expect("worker.spawn_backoff_max_seconds", 1, 300);
  expect("controller.task_stale_timeout_seconds", 60, 3600);
  expect("worker.max_respawn_attempts", 0, 20);
}

TEST(Settings, M09_BothEndsOfARangeAreAllowedAndBeyondIsNot) {
  for (const SettingSpec& spec : settings_table()) {
    if (spec.range.max == 0) continue;
    EXPECT_TRUE(value_from_real(spec, spec.range.min).has_value() ||
                value_from_integer(spec, static_cast<std::int64_t>(spec.range.min)).has_value())
        << spec.full_key();
    EXPECT_TRUE(value_from_integer(spec, static_cast<std::int64_t>(spec.range.max)).has_value())
        << spec.full_key();
    EXPECT_FALSE(value_from_integer(spec, static_cast<std::int64_t>(spec.range.max) + 1))
        << spec.full_key();
    EXPECT_FALSE(value_from_integer(spec, -1)) << spec.full_key();
  }
}

TEST(Settings, M01_RefusesAnUnknownStrategyAndHelps) {
  EXPECT_EQ(errors_of(from_file("[worker]\nspawn_backoff_strategy = \"linaer\"\n")),
            "error[VX-CFG-005]: worker.spawn_backoff_strategy = \"linaer\" is not one of "
            "exponential, linear, fixed\n"
            "  --> vortex.toml:2:26\n"
            "   = help: did you mean 'linear'?\n");
}

TEST(Settings, M08_LauncherIsASubprocessUnlessAContainerIsAskedFor) {
  EXPECT_EQ(default_settings().worker.launcher, Launcher::kSubprocess);
  EXPECT_EQ(default_settings().worker.container_root, "");
  const Settings s = settings_of(
      from_flags({"--worker.launcher=container", "--worker.container-root", "/srv/images/small"}));
  EXPECT_EQ(s.worker.launcher, Launcher::kContainer);
  EXPECT_EQ(s.worker.container_root, "/srv/images/small");
  EXPECT_EQ(settings_of(from_environment({{"VORTEX_WORKER_CONTAINER_ROOT", ""}})).worker.launcher,
            Launcher::kSubprocess);
}

TEST(Settings, M08_RefusesAnUnknownLauncherAndARootWithoutContainer) {
  EXPECT_EQ(errors_of(from_flags({"--worker.launcher=contianer"})),
            "error[VX-CFG-005]: worker.launcher = contianer is not one of subprocess, container\n"
            "  --> flag --worker.launcher\n"
            "   = help: did you mean 'container'?\n");
  EXPECT_EQ(
      errors_of(from_flags({"--worker.container-root=/srv/small"})),
      "error[VX-CFG-006]: worker.container_root is set, but the launcher does not use containers\n"
      "  --> worker.container_root = /srv/small (flag --worker.container-root)\n"
      "  --> worker.launcher = subprocess (default)\n"
      "   = help: set worker.launcher = \"container\", or remove the root\n");
}

TEST(Settings, AllErrorsAreCollected) {
  LoadRequest request =
      from_file("[controller]\nmax_task_retries = -1\nfoo = 1\n[database]\npool_size = \"ten\"\n");
  request.environment = {{"VORTEX_DATABASE_POOL_SIZE", "many"}};
  request.flags = {"--monitoring.log-level=loud", "--controller.scheduled-timeout-secs=10"};
  const auto result = load_settings(request);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().size(), 6U) << errors_of(request);
}

TEST(Settings, M02_AStaleTimeoutThatIsSetHoldsForEveryTask) {
  EXPECT_FALSE(default_settings().controller.task_stale_for_all);
  EXPECT_FALSE(loaded(from_flags({"--tuning=wan"})).settings.controller.task_stale_for_all);
  for (const LoadRequest& request :
       {from_file("[controller]\ntask_stale_timeout_seconds = 600\n"),
        from_environment({{"VORTEX_CONTROLLER_TASK_STALE_TIMEOUT_SECONDS", "600"}}),
        from_flags({"--controller.task-stale-timeout-seconds=600"})}) {
    EXPECT_TRUE(loaded(request).settings.controller.task_stale_for_all);
  }
}

TEST(Settings, EffectiveValuesTellWhereTheyCameFrom) {
  LoadRequest request = from_file("tuning = \"lan\"\n\n[database]\npool_size = 3\n");
  request.flags = {"--monitoring.log-level=warn"};
  const LoadedSettings all = loaded(request);
  EXPECT_EQ(all.effective.size(), settings_table().size());
  EXPECT_EQ(origin_of(all, "database.pool_size"), "vortex.toml:4:13");
  EXPECT_EQ(origin_of(all, "monitoring.log_level"), "flag --monitoring.log-level");
  EXPECT_EQ(origin_of(all, "controller.heartbeat_timeout_secs"), "tuning lan");
  EXPECT_EQ(origin_of(all, "database.path"), "default");
}

TEST(Settings, PasswordOfTheDatabaseIsNeverShown) {
  for (const std::string url :
       {"postgresql://vortex:hunter2@db1,db2/vortex", "postgres://u:hunter2@[::1]:5432/x?a=b",
        "postgresql://db/x?user=u&password=hunter2&sslmode=require",
        "host=db password=hunter2 user=u", "host=db password = 'hunter2 two' user=u"}) {
    LoadRequest request = from_file("");
    request.environment = {{"VORTEX_DATABASE_URL", url}};
    const auto loaded = load_settings(request);
    ASSERT_TRUE(loaded) << url;
    EXPECT_EQ(loaded->settings.database.url, url);
    for (const EffectiveSetting& setting : loaded->effective) {
      EXPECT_EQ(setting.value.find("hunter2"), std::string::npos) << setting.value;
      const bool hidden = setting.value.find("***") != std::string::npos;
      EXPECT_EQ(hidden, setting.key == "database.url") << setting.key;
    }
  }
  EXPECT_EQ(without_password("postgresql://vortex@db/vortex"), "postgresql://vortex@db/vortex");
  EXPECT_EQ(without_password("host=db sslpassword=x"), "host=db sslpassword=***");
}

TEST(Settings, UrlThatIsNoneIsRefusedWithoutShowingIt) {
  LoadRequest request = from_file("");
  request.environment = {{"VORTEX_DATABASE_URL", "mysql://u:hunter2@db/x"}};
  const auto loaded = load_settings(request);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(to_text(loaded.error().front()).find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace vortex
