// Every command teaches itself, and shells can complete every one.

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <set>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/vortex/bench_command.h"
#include "cli/app.h"
#include "cli/completion.h"

namespace vortex::cli {
namespace {

class Help : public testing::Test {
 protected:
  Help() { build_app(app_, context_, chosen_, {add_bench}); }

  void each(const CLI::App& command, const std::string& path,
            const std::function<void(const CLI::App&, const std::string&)>& look) {
    for (const CLI::App* sub : command.get_subcommands({})) {
      const std::string name = path + " " + sub->get_name();
      look(*sub, name);
      each(*sub, name, look);
    }
  }

  std::string usage(std::vector<std::string> arguments) {
    std::vector<std::string> from_the_back(arguments.rbegin(), arguments.rend());
    try {
      app_.parse(from_the_back);
    } catch (const CLI::ParseError& error) {
      return usage_text(app_, error, arguments);
    }
    return {};
  }

  Context context_;
  Command chosen_;
  CLI::App app_{"vortex", "vortex"};
};

TEST_F(Help, EveryCommandHasOneLineAndAnExample) {
  std::size_t seen = 0;
  each(app_, "vortex", [&](const CLI::App& command, const std::string& path) {
    ++seen;
    EXPECT_FALSE(command.get_description().empty()) << path;
    EXPECT_EQ(command.get_description().find('\n'), std::string::npos) << path;
    EXPECT_TRUE(command.get_footer().starts_with("Example: ")) << path;
    EXPECT_NE(command.get_footer().find("vortex"), std::string::npos) << path;
    EXPECT_NE(command.help().find("Example: "), std::string::npos) << path;
  });
  EXPECT_GT(seen, 60U);
}

TEST_F(Help, EveryDescriptionStartsWithAVerb) {
  const std::set<std::string, std::less<>> verbs{
      "Acquire", "Approve", "Cancel",  "Change",   "Check", "Copy",   "Cordon",  "Create",
      "Declare", "Delete",  "Discard", "Drain",    "Draw",  "Exit",   "Explain", "Kill",
      "List",    "Manage",  "Measure", "Pause",    "Print", "Reject", "Release", "Renew",
      "Replace", "Resume",  "Retry",   "Revoke",   "Run",   "Send",   "Show",    "Start",
      "Store",   "Submit",  "Test",    "Uncordon", "Wait",  "Watch"};
  each(app_, "vortex", [&](const CLI::App& command, const std::string& path) {
    const std::string text = command.get_description();
    EXPECT_TRUE(verbs.contains(text.substr(0, text.find_first_of(" ,")))) << path << ": " << text;
  });
}

TEST_F(Help, EveryOptionIsDescribed) {
  each(app_, "vortex", [&](const CLI::App& command, const std::string& path) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group().empty()) continue;  // hidden: not for people
      EXPECT_FALSE(option->get_description().empty()) << path << " " << option->get_name();
    }
  });
}

TEST_F(Help, TheMainHelpIsGrouped) {
  const std::string help = app_.help();
  for (const char* group : {"Run:", "Inspect:", "Manage:", "Operate:"}) {
    EXPECT_NE(help.find(group), std::string::npos) << group;
  }
  EXPECT_EQ(help.find("Subcommands:"), std::string::npos) << "a command is in no group";
}

TEST_F(Help, GlobalOptionsMayStandAnywhere) {
  EXPECT_EQ(usage({"runs", "list", "-o", "json", "--server", "http://a:1,b:2", "--server", "c:3",
                   "--timeout", "5s", "--yes"}),
            "");
  EXPECT_EQ(context_.output, Output::kJson);
  EXPECT_EQ(context_.servers, (std::vector<std::string>{"http://a:1,b:2", "c:3"}));
  EXPECT_EQ(context_.timeout, seconds(5));
  EXPECT_TRUE(context_.yes);
}

TEST_F(Help, AServerOptionDoesNotEatTheCommand) {
  EXPECT_EQ(usage({"--server", "http://a:1", "runs", "list"}), "");
  EXPECT_EQ(context_.servers.size(), 1U);
}

TEST_F(Help, MistypedCommandsAndOptionsGetAHint) {
  EXPECT_NE(usage({"rns"}).find("did you mean 'runs'?"), std::string::npos);
  EXPECT_NE(usage({"runs", "wacth"}).find("did you mean 'watch'?"), std::string::npos);
  EXPECT_NE(usage({"runs", "list", "--stat", "x"}).find("did you mean '--state'?"),
            std::string::npos);
  EXPECT_NE(usage({"runs"}).find("needs a subcommand"), std::string::npos);
  EXPECT_NE(usage({"status", "--timeout", "soon"}).find("write it like 90s"), std::string::npos);
  EXPECT_NE(usage({"status", "-o", "xml"}).find("xml"), std::string::npos);
}

TEST_F(Help, AWrongValueOfAnOptionIsNotTakenForACommand) {
  const std::string apart = usage({"--timeout", "0", "status"});
  EXPECT_NE(apart.find("'0' is not a duration"), std::string::npos) << apart;
  EXPECT_EQ(apart, usage({"--timeout=0", "status"}));
}

TEST(Settings, AreTakenOutOfTheArguments) {
  std::vector<std::string> arguments{"run", "--tuning=lan", "--a.b", "1", "x", "--", "--c.d=2"};
  EXPECT_EQ(take_settings(arguments), (std::vector<std::string>{"--tuning=lan", "--a.b", "1"}));
  EXPECT_EQ(arguments, (std::vector<std::string>{"run", "x", "--", "--c.d=2"}));
}

TEST_F(Help, CompletionKnowsEveryCommand) {
  const auto points = completion_points(app_);
  const std::string bash = bash_completion(points);
  const std::string zsh = zsh_completion(points);
  const std::string fish = fish_completion(points);
  each(app_, "", [&](const CLI::App& command, const std::string& path) {
    EXPECT_NE(bash.find("'" + path.substr(1) + "') commands="), std::string::npos) << path;
    EXPECT_NE(zsh.find("'" + path.substr(1) + "') commands="), std::string::npos) << path;
    EXPECT_NE(fish.find("-a " + command.get_name() + " -d"), std::string::npos) << path;
  });
}

// What bash itself makes of the script for these words; the last one is being written.
std::string completed(const std::string& script, const std::string& words, int at) {
  const std::string path =
      fmt::format("{}/vortex-completion-{}.bash", testing::TempDir(), ::getpid());
  std::ofstream(path) << script << "\nCOMP_WORDS=(" << words << ")\nCOMP_CWORD=" << at
                      << "\n_vortex\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
  std::FILE* pipe = ::popen(("bash '" + path + "'").c_str(), "r");
  std::string out;
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) out += piece.data();
  ::pclose(pipe);
  std::remove(path.c_str());
  return out;
}

TEST_F(Help, BashCompletesCommandsAndOptions) {
  const std::string script = bash_completion(completion_points(app_));
  EXPECT_EQ(completed(script, "vortex runs wa", 2), "watch wait ");
  EXPECT_EQ(completed(script, "vortex -o json runs wat", 4), "watch ");
  EXPECT_NE(completed(script, "vortex runs list --st", 3).find("--state "), std::string::npos);
  EXPECT_NE(completed(script, "vortex runs list --ser", 3).find("--server "), std::string::npos);
  EXPECT_EQ(completed(script, "vortex runs list --state Fa", 4), " ") << "a value is not guessed";
  EXPECT_NE(completed(script, "vortex dag apply /et", 3).find("/etc"), std::string::npos);
  EXPECT_NE(completed(script, "vortex run /et", 2).find("/etc"), std::string::npos);
  EXPECT_NE(completed(script, "vortex dev --run /et", 3).find("/etc"), std::string::npos);
}

}  // namespace
}  // namespace vortex::cli
