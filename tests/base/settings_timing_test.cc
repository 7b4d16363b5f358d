// Tunings, derived values and the timing rules that keep recovery safe.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/settings.h"
#include "base/settings_table.h"
#include "tests/base/settings_test_tools.h"

namespace vortex {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct TuningRow {
  const char* name;
  Duration heartbeat, lease, fence, kill, health_check;
};

class SettingsTunings : public testing::TestWithParam<TuningRow> {};

TEST_P(SettingsTunings, V08_HasTheValuesOfTheContractAndKeepsAllRules) {
  const Settings s = settings_of(from_flags({std::string("--tuning=") + GetParam().name}));
  EXPECT_EQ(s.worker.heartbeat_interval, GetParam().heartbeat);
  EXPECT_EQ(s.controller.heartbeat_timeout, GetParam().lease);
  EXPECT_EQ(s.worker.self_fence, GetParam().fence);
  EXPECT_EQ(s.worker.kill_grace, GetParam().kill);
  EXPECT_EQ(s.controller.health_check_interval, GetParam().health_check);
  EXPECT_GE(s.controller.scheduled_timeout, s.controller.heartbeat_timeout);
}

INSTANTIATE_TEST_SUITE_P(
    All, SettingsTunings,
    testing::Values(
        TuningRow{"lan", seconds(3), seconds(30), seconds(18), seconds(8), seconds(10)},
        TuningRow{"standard", seconds(10), seconds(60), seconds(40), seconds(15), seconds(15)},
        TuningRow{"wan", seconds(20), seconds(120), seconds(80), seconds(30), seconds(30)},
        TuningRow{"testing", millis(500), seconds(5), millis(2500), seconds(1), seconds(2)}),
    [](const auto& test) { return std::string(test.param.name); });

// A worker may have beaten one interval before the leader froze, and needs one to find the next.
TEST(SettingsTiming, S05_EveryTuningReplacesAFrozenLeaderBeforeWorkersGiveUp) {
  for (const char* tuning : {"lan", "standard", "wan", "testing"}) {
    const Settings s = settings_of(from_flags({std::string("--tuning=") + tuning}));
    EXPECT_LE(s.controller.leader_lease + s.worker.heartbeat_interval * 2, s.worker.self_fence)
        << tuning;
  }
}

TEST(SettingsTiming, S05_LeaderLeaseFollowsAShorterSelfFence) {
  const LoadedSettings all = loaded(from_flags({"--tuning=lan", "--worker.self_fence_secs=12"}));
  EXPECT_EQ(all.settings.controller.leader_lease, seconds(6));
  EXPECT_EQ(origin_of(all, "controller.leader_lease_secs"), "derived from worker.self_fence_secs");
}

TEST(SettingsTiming, S05_LeaderLeaseThatCostsTasksTheirAttemptIsRefusedWithTheNumbers) {
  const auto result =
      load_settings(from_flags({"--tuning=testing", "--controller.leader_lease_secs=3"}));
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(to_text(result.error()[0]),
              HasSubstr("controller.leader_lease_secs + 2 x worker.heartbeat_interval_secs <= "
                        "worker.self_fence_secs, but 3 s + 2 x 0.5 s = 4 s is more than 2.5 s"));
}

TEST(SettingsTiming, V08_TuningIsOverriddenByExplicitValues) {
  LoadRequest request = from_file("[worker]\nkill_grace_secs = 5\n");
  request.environment = {{"VORTEX_TUNING", "lan"}};
  const LoadedSettings all = loaded(request);
  EXPECT_EQ(all.settings.worker.kill_grace, seconds(5));
  EXPECT_EQ(all.settings.worker.self_fence, seconds(18));
  EXPECT_EQ(origin_of(all, "worker.kill_grace_secs"), "vortex.toml:2:19");
}

TEST(SettingsTiming, UnknownTuningIsRefusedAloneWithoutFollowUpErrors) {
  const auto result = load_settings(from_flags(
      {"--tuning=laan", "--controller.heartbeat-timeout-secs=5", "--worker.self-fence-secs=30"}));
  ASSERT_FALSE(result.has_value());
  ASSERT_EQ(result.error().size(), 1U);
  EXPECT_THAT(to_text(result.error()[0]), HasSubstr("did you mean 'lan'?"));
}

TEST(SettingsTiming, A04_TimeoutIsThreeIntervalsWhenNotSet) {
  const LoadedSettings all = loaded(from_file("[worker]\nheartbeat_interval_secs = 30\n"));
  EXPECT_EQ(all.settings.controller.heartbeat_timeout, seconds(90));
  EXPECT_EQ(origin_of(all, "controller.heartbeat_timeout_secs"),
            "derived from worker.heartbeat_interval_secs");
}

TEST(SettingsTiming, A04_WorkerThenBeatsSoonerAndANoticeSaysSo) {
  const LoadedSettings all = loaded(from_file("[worker]\nheartbeat_interval_secs = 30\n"));
  EXPECT_EQ(all.settings.worker.self_fence, seconds(60));
  EXPECT_EQ(all.settings.worker.heartbeat_interval, seconds(20));
  ASSERT_EQ(all.notices.size(), 1U);
  EXPECT_THAT(
      all.notices[0],
      StartsWith("worker.heartbeat_interval_secs = 30 s: workers send a heartbeat every 20 s"));
}

// 20 s and 60 s, 30 s and 90 s: what other systems are set up with.
TEST(SettingsTiming, A04_GivenTimeoutOfThreeIntervalsIsAcceptedInTheSameWay) {
  const LoadedSettings all = loaded(from_file(
      "[worker]\nheartbeat_interval_secs = 20\n[controller]\nheartbeat_timeout_secs = 60\n"));
  EXPECT_EQ(all.settings.controller.heartbeat_timeout, seconds(60));
  EXPECT_EQ(all.settings.worker.self_fence, seconds(40));
  EXPECT_EQ(all.settings.worker.kill_grace, seconds(15));
  EXPECT_LE(all.settings.worker.heartbeat_interval * 3, seconds(40));
  ASSERT_EQ(all.notices.size(), 1U);
  EXPECT_THAT(all.notices[0],
              HasSubstr("worker.heartbeat_interval_secs = 20 s: workers send a heartbeat"));
  EXPECT_EQ(settings_of(from_flags({"--worker.heartbeat-interval-secs=30",
                                    "--controller.heartbeat-timeout-secs=90"}))
                .worker.self_fence,
            seconds(60));
  EXPECT_FALSE(load_settings(from_flags(
      {"--worker.heartbeat-interval-secs=21", "--controller.heartbeat-timeout-secs=60"})))
      << "three of these are longer than the timeout";
}

TEST(SettingsTiming, A04_DoesNotApplyWhenTheTimeoutOrATuningIsChosen) {
  EXPECT_EQ(settings_of(from_flags({"--worker.heartbeat-interval-secs=5",
                                    "--controller.heartbeat-timeout-secs=60"}))
                .controller.heartbeat_timeout,
            seconds(60));
  EXPECT_EQ(settings_of(from_flags({"--worker.heartbeat-interval-secs=5", "--tuning=lan"}))
                .controller.heartbeat_timeout,
            seconds(30));
}

TEST(SettingsTiming, UnsetValuesFollowTheTimeout) {
  const LoadedSettings all = loaded(from_flags({"--controller.heartbeat-timeout-secs=30"}));
  const Settings& s = all.settings;
  EXPECT_EQ(s.worker.self_fence, seconds(20));
  EXPECT_EQ(s.worker.kill_grace, millis(7500));
  EXPECT_EQ(s.worker.heartbeat_interval, seconds(5));
  EXPECT_EQ(s.worker.tcp_user_timeout, seconds(10));
  EXPECT_EQ(s.database.io_timeout, seconds(5));
  EXPECT_EQ(origin_of(all, "worker.self_fence_secs"),
            "derived from controller.heartbeat_timeout_secs");
}

TEST(SettingsTiming, ScheduledTimeoutNeverEndsBeforeTheLease) {
  EXPECT_EQ(settings_of(from_flags({"--controller.heartbeat-timeout-secs=600"}))
                .controller.scheduled_timeout,
            seconds(600));
}

TEST(SettingsTiming, BrokenFenceRuleIsShownWithNumbersAndPlaces) {
  LoadRequest request = from_file("[worker]\nself_fence_secs = 50\nkill_grace_secs = 15\n");
  EXPECT_EQ(
      errors_of(request),
      "error[VX-CFG-006]: timing rule violated: worker.self_fence_secs + "
      "controller.sweep_interval_ms + worker.kill_grace_secs <= 0.95 x "
      "controller.heartbeat_timeout_secs, but 50 s + 0.5 s + 15 s = 65.5 s is more than 0.95 x "
      "60 s = 57 s\n"
      "  --> worker.self_fence_secs = 50 (vortex.toml:2:19)\n"
      "  --> controller.sweep_interval_ms = 500 (default)\n"
      "  --> worker.kill_grace_secs = 15 (vortex.toml:3:19)\n"
      "  --> controller.heartbeat_timeout_secs = 60 (default)\n"
      "   = help: change one of these; otherwise a worker that is cut off may still be running a "
      "task that was assigned to another\n");
}

struct BrokenRule {
  std::vector<std::string> flags;
  std::string numbers;
};

class SettingsRules : public testing::TestWithParam<BrokenRule> {};

TEST_P(SettingsRules, IsRefusedWithTheNumbersPutIn) {
  EXPECT_THAT(errors_of(from_flags(GetParam().flags)), HasSubstr(GetParam().numbers));
}

INSTANTIATE_TEST_SUITE_P(
    All, SettingsRules,
    testing::Values(
        BrokenRule{{"--worker.heartbeat-interval-secs=14", "--worker.self-fence-secs=40",
                    "--controller.heartbeat-timeout-secs=60"},
                   "but 14 s is more than 1/3 of 40 s"},
        BrokenRule{{"--controller.scheduled-timeout-secs=59"}, "but 60 s is more than 59 s"},
        BrokenRule{{"--worker.tcp-user-timeout-secs=40", "--worker.self-fence-secs=40"},
                   "but 40 s is not below 40 s"},
        BrokenRule{{"--database.io-timeout-secs=20", "--worker.self-fence-secs=40"},
                   "but 20 s is not below 1/2 of 40 s = 20 s"},
        BrokenRule{{"--controller.sweep-interval-ms=12001"},
                   "but 12.001 s is more than 1/5 of 60 s = 12 s"},
        BrokenRule{{"--controller.health-check-interval-secs=61"}, "but 61 s is more than 60 s"},
        BrokenRule{{"--controller.reconnect-grace-secs=61"}, "but 61 s is more than 60 s"},
        BrokenRule{{"--controller.partition-lease-secs=10", "--controller.partition-renew-secs=9"},
                   "but 9 s is more than 0.8 x 10 s = 8 s"},
        BrokenRule{
            {"--worker.spawn-backoff-base-seconds=10", "--worker.spawn-backoff-max-seconds=9"},
            "but 10 s is more than 9 s"}));

struct Extreme {
  std::string flag;
  std::string refusal;  // empty: it is within the usual range
};

class SettingsExtremes : public testing::TestWithParam<Extreme> {};

TEST_P(SettingsExtremes, M09_AreRefusedWithKeyValueAndRangeUnlessAllowed) {
  const auto& [flag, refusal] = GetParam();
  if (refusal.empty()) {
    EXPECT_THAT(errors_of(from_flags({flag})), IsEmpty());
    return;
  }
  EXPECT_THAT(errors_of(from_flags({flag})), HasSubstr(refusal));
  EXPECT_THAT(errors_of(from_flags({flag})),
              HasSubstr("set controller.allow_extreme_timings = true if this is intentional"));
  EXPECT_THAT(errors_of(from_flags({flag, "--tuning=lan"})), HasSubstr(refusal));
  EXPECT_THAT(errors_of(from_flags({flag, "--controller.allow-extreme-timings"})), IsEmpty());
  EXPECT_THAT(errors_of(from_flags({flag, "--tuning=testing"})),
              testing::Not(HasSubstr("usual range")));
}

INSTANTIATE_TEST_SUITE_P(
    All, SettingsExtremes,
    testing::Values(
        Extreme{
            "--worker.heartbeat-interval-secs=4.9",
            "error[VX-CFG-005]: worker.heartbeat_interval_secs = 4.9 is outside its usual range "
            "5 to 120 seconds"},
        Extreme{"--worker.heartbeat-interval-secs=121",
                "worker.heartbeat_interval_secs = 121 is outside its usual range 5 to 120 seconds"},
        Extreme{"--worker.heartbeat-interval-secs=5", ""},
        Extreme{"--worker.heartbeat-interval-secs=120", ""},
        Extreme{"--controller.heartbeat-timeout-secs=29",
                "controller.heartbeat_timeout_secs = 29 is outside its usual range 30 to 600"},
        Extreme{"--controller.heartbeat-timeout-secs=601",
                "controller.heartbeat_timeout_secs = 601 is outside its usual range 30 to 600"},
        Extreme{"--controller.heartbeat-timeout-secs=30", ""},
        Extreme{"--controller.heartbeat-timeout-secs=600", ""}));

TEST(SettingsTiming, RefusedValuesBreakNoRuleOnTop) {
  const auto result = load_settings(
      from_flags({"--controller.heartbeat-timeout-secs=oops", "--worker.self-fence-secs=300"}));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().size(), 1U);
}

std::string flag_of(const std::string& name, std::int64_t ms) {
  return "--" + name + "=" + std::to_string(ms / 1000) + "." +
         std::to_string(1000 + ms % 1000).substr(1);
}

RC_GTEST_PROP(SettingsTiming, AnyTimeoutOrIntervalAloneGivesSettingsThatKeepAllRules, ()) {
  const auto lease = *rc::gen::inRange<std::int64_t>(1'000, 86'400'000);
  const auto interval = *rc::gen::inRange<std::int64_t>(50, 3'600'000);
  const auto name =
      *rc::gen::elementOf(std::vector<std::string>{"lan", "standard", "wan", "testing"});
  const std::string any = "--controller.allow-extreme-timings=true";
  RC_ASSERT(
      errors_of(from_flags({any, flag_of("controller.heartbeat-timeout-secs", lease)})).empty());
  RC_ASSERT(errors_of(from_flags({any, "--tuning=" + name,
                                  flag_of("controller.heartbeat-timeout-secs", lease)}))
                .empty());
  RC_ASSERT(
      errors_of(from_flags({any, flag_of("worker.heartbeat-interval-secs", interval)})).empty());
}

RC_GTEST_PROP(SettingsTiming, WhenRoomExistsForWhatIsGivenTheRestIsFound, ()) {
  const auto lease = *rc::gen::inRange<std::int64_t>(10'000, 600'000);
  // Three intervals, one kill time and the tick fit: H <= 0.2 L, K <= 0.3 L leave 0.05 L.
  const auto interval = *rc::gen::inRange<std::int64_t>(50, lease / 5);
  const auto kill = *rc::gen::inRange<std::int64_t>(50, lease * 3 / 10);
  RC_ASSERT(errors_of(from_flags({"--controller.allow-extreme-timings=true",
                                  flag_of("controller.heartbeat-timeout-secs", lease),
                                  flag_of("worker.heartbeat-interval-secs", interval),
                                  flag_of("worker.kill-grace-secs", kill)}))
                .empty());
}

}  // namespace
}  // namespace vortex
