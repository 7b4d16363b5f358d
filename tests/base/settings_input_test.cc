// Bad and odd input to the settings: refused with help, or left alone on purpose.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/settings.h"
#include "tests/base/settings_test_tools.h"

namespace vortex {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(SettingsInput, SyntaxErrorNamesLineAndColumn) {
  EXPECT_THAT(errors_of(from_file("[controller]\nmax_task_retries = = 3\n")),
              HasSubstr("  --> vortex.toml:2:"));
}

TEST(SettingsInput, UnknownKeyGetsAHint) {
  EXPECT_EQ(errors_of(from_file("[controller]\nheartbeat_timeot_secs = 30\n")),
            "error[VX-CFG-003]: unknown key 'controller.heartbeat_timeot_secs'\n"
            "  --> vortex.toml:2:1\n"
            "   = help: did you mean 'heartbeat_timeout_secs'?\n");
}

TEST(SettingsInput, KeyInTheWrongSectionIsSentToTheRightOne) {
  EXPECT_THAT(errors_of(from_file("[controller]\nheartbeat_interval_secs = 5\n")),
              HasSubstr("'heartbeat_interval_secs' belongs in [worker]"));
  EXPECT_THAT(errors_of(from_file("pool_size = 5\n")), HasSubstr("belongs in [database]"));
  EXPECT_THAT(errors_of(from_file("[controller]\ntuning = \"lan\"\n")),
              HasSubstr("'tuning' belongs at the top, before any section"));
}

TEST(SettingsInput, UnknownSectionGetsAHint) {
  EXPECT_THAT(errors_of(from_file("[controler]\n")),
              HasSubstr("unknown section [controler]\n  --> vortex.toml:1:2\n"
                        "   = help: did you mean 'controller'?"));
  EXPECT_THAT(errors_of(from_file("controller = 3\n")),
              HasSubstr("'controller' is a section, not a value"));
}

TEST(SettingsInput, UnknownEnvironmentVariableGetsAHint) {
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SEC", "3"}})),
              HasSubstr("did you mean 'VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS'?"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_WORKER_COLOUR", "red"}})),
              HasSubstr("unknown setting VORTEX_WORKER_COLOUR"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_CONTROLER_CRASH_LIMIT", "3"}})),
              HasSubstr("did you mean 'VORTEX_CONTROLLER_CRASH_LIMIT'?"));
}

TEST(SettingsInput, OtherEnvironmentVariablesAreLeftAlone) {
  EXPECT_THAT(errors_of(from_environment({{"PATH", "/bin"},
                                          {"VORTEX_RUN_ID", "r1"},
                                          {"VORTEX_TASK_ID", "t1"},
                                          {"VORTEX_URL", "http://localhost"},
                                          {"VORTEX_CONTROLLER_SERVICE_HOST", "10.0.0.1"},
                                          {"VORTEX_CONTROLLER_SERVICE_PORT_HTTP", "80"},
                                          {"VORTEX_CONTROLLER_PORT", "tcp://10.0.0.1:80"},
                                          {"VORTEX_CONTROLLER_PORT_80_TCP_ADDR", "10.0.0.1"}})),
              IsEmpty());
}

TEST(Environment, NamesThatLookLikeOursAndAreNotAreRefused) {
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_REQUIRE_TOKENS", "true"}})),
              HasSubstr("did you mean 'VORTEX_CONTROLLER_REQUIRE_TOKENS'?"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_TOKENFILE", "x"}})),
              HasSubstr("did you mean 'VORTEX_TOKEN_FILE'?"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_SOMETHING_ELSE", "x"}})),
              HasSubstr("unknown setting VORTEX_SOMETHING_ELSE"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_", "x"}})),
              HasSubstr("unknown setting VORTEX_"));
}

TEST(SettingsInput, UnknownFlagGetsAHint) {
  EXPECT_THAT(errors_of(from_flags({"--controller.crash-limits=3"})),
              HasSubstr("did you mean '--controller.crash-limit'?"));
  EXPECT_THAT(errors_of(from_flags({"stray"})), HasSubstr("unknown flag 'stray'"));
  EXPECT_THAT(errors_of(from_flags({"--database.path"})), HasSubstr("(nothing) is not a string"));
}

TEST(SettingsInput, WrongTypesAreRefusedWithHelp) {
  EXPECT_THAT(errors_of(from_file("[controller]\nheartbeat_timeout_secs = \"60s\"\n")),
              HasSubstr("write a bare number of seconds, without quotes or unit"));
  EXPECT_THAT(errors_of(from_file("[controller]\nmax_task_retries = 2.5\n")),
              HasSubstr("is not a whole number from 0 to 1000"));
  EXPECT_THAT(errors_of(from_file("[monitoring]\nmetrics_enabled = 1\n")),
              HasSubstr("is not true or false"));
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_MONITORING_METRICS_ENABLED", "yes"}})),
              HasSubstr("write true or false"));
  EXPECT_THAT(errors_of(from_file("[database]\npath = [\"a\"]\n")), HasSubstr("is not a string"));
}

TEST(SettingsInput, NumbersThatAreNoNumbersAreRefused) {
  for (const char* text : {"", " 60", "60 ", "0x10", "1e999", "nan", "inf", "-inf", "60s", "1,5"}) {
    EXPECT_NE(errors_of(from_flags({std::string("--controller.task-timeout-secs=") + text})), "")
        << text;
  }
  EXPECT_NE(errors_of(from_file("[controller]\ntask_timeout_secs = nan\n")), "");
  EXPECT_NE(errors_of(from_file("[controller]\nmax_dag_nodes = 9223372036854775807\n")), "");
}

TEST(SettingsInput, FractionsOfASecondAreKept) {
  const Settings s = settings_of(from_flags({"--tuning=testing", "--worker.kill-grace-secs=0.25"}));
  EXPECT_EQ(s.worker.kill_grace, millis(250));
  EXPECT_EQ(s.worker.heartbeat_interval, millis(500));
}

RC_GTEST_PROP(SettingsInput, AnyTextIsRefusedOrLoadedButNeverCrashes, (const std::string& text)) {
  (void)load_settings(from_file(text));
  (void)load_settings(from_file("[controller]\nheartbeat_timeout_secs = " + text));
  (void)load_settings(from_environment({{"VORTEX_" + text, text}, {"VORTEX_TUNING", text}}));
  (void)load_settings(from_flags({text, "--" + text, "--tuning=" + text}));
}

TEST(SettingsInput, FileIsReadOrTheReasonGiven) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "vortex_settings_input_test.toml";
  std::ofstream(path) << "tuning = \"wan\"\n";
  const auto file = read_settings_file(path.string());
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->text, "tuning = \"wan\"\n");
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(read_settings_file(path.string()).value_or(SettingsFile{.name = {}, .text = "x"}).text,
            "");
  std::filesystem::remove(path);
  EXPECT_FALSE(read_settings_file(path.string()).has_value());
  EXPECT_FALSE(read_settings_file(std::filesystem::temp_directory_path().string()).has_value());
}

}  // namespace
}  // namespace vortex
