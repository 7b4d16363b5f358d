// What the product can do is drawn by the simulator and judged by somebody, and the table of
// docs/simulator.md says how.

#include "sim/coverage.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/check/checkers.h"
#include "sim/runner.h"

namespace vortex::sim {
namespace {

// Beside the checkers of facts: what looks at the leader's memory (sim/reload_check.h).
std::set<std::string, std::less<>> judges() {
  std::set<std::string, std::less<>> names{"reload-knows-all"};
  const Checkers checkers(core::Policy{});
  for (const std::string_view name : checkers.names()) names.emplace(name);
  return names;
}

void expect_judged(std::string_view what, std::string_view checked_by) {
  static const auto kJudges = judges();
  EXPECT_FALSE(checked_by.empty()) << what << " is checked by nobody";
  std::istringstream words{std::string(checked_by)};
  for (std::string word; words >> word;) {
    EXPECT_TRUE(kJudges.contains(word)) << what << ": there is no checker " << word;
  }
}

TEST(Coverage, EverySettingFeatureFaultAndActIsDrawnAndJudged) {
  constexpr std::uint64_t kSeeds = 1500;
  std::vector<std::uint64_t> counts(features().size());
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Case c;
    c.seed = seed;
    const auto setup = draw_setup(c);
    for (std::size_t f = 0; f < counts.size(); ++f) counts[f] += features()[f].count(setup);
  }
  for (std::size_t f = 0; f < counts.size(); ++f) {
    const Feature& feature = features()[f];
    EXPECT_GT(counts[f], 0u) << feature.group << " '" << feature.name << "' is never drawn";
    expect_judged(feature.name, feature.checked_by);
  }
}

TEST(Coverage, EveryFaultAndActIsInTheList) {
  std::set<std::string_view> faults;
  std::size_t acts = 0;
  for (const Feature& feature : features()) {
    if (feature.group == "fault") faults.insert(feature.name);
    if (feature.group == "client") ++acts;
  }
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    EXPECT_TRUE(faults.contains(to_text(static_cast<FaultKind>(i))))
        << to_text(static_cast<FaultKind>(i));
  }
  // Three more stand among the clients: agents that hold partitions, who watches over a map, and
  // submits ahead of time.
  EXPECT_EQ(acts, static_cast<std::size_t>(ActKind::kRerun) + 4);
}

TEST(Coverage, EveryCommandIsSentAndJudged) {
  CommandCounts calls{};
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Case c;
    c.seed = seed;
    const Outcome outcome = run_checked(c, Twice::kNo);
    for (std::size_t i = 0; i < kCommands; ++i) calls[i] += outcome.calls[i];
  }
  for (std::size_t i = 0; i < kCommands; ++i) {
    const CommandFeature& command = command_features()[i];
    expect_judged(command.name, command.checked_by);
    EXPECT_TRUE(calls[i] > 0 || !command.from_inside.empty()) << command.name << " is never sent";
  }
}

TEST(Coverage, TheTableInTheDocsNamesAllOfIt) {
  std::ifstream in(std::string(VX_SOURCE_ROOT) + "/docs/simulator.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const CommandFeature& command : command_features()) {
    EXPECT_TRUE(text.contains("| command | " + std::string(command.name) + " |")) << command.name;
  }
  for (const Feature& feature : features()) {
    const std::string start =
        "| " + std::string(feature.group) + " | " + std::string(feature.name) + " |";
    EXPECT_TRUE(text.contains(start)) << start << " is missing; see vortex-sim --coverage";
  }
}

}  // namespace
}  // namespace vortex::sim
