// The rules of the house, applied to this repository. Each failure names file and line and the fix.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/house/layers.h"
#include "tests/house/map.h"
#include "tests/house/purity.h"
#include "tests/house/sizes.h"
#include "tests/house/upkeep.h"

namespace vortex::house {
namespace {

template <class Check>
std::string all_findings(const std::vector<SourceFile>& files, Check check) {
  Findings findings;
  for (const SourceFile& file : files) {
    for (Finding& finding : check(file)) findings.push_back(std::move(finding));
  }
  return report(findings);
}

void expect_none(const std::string& findings) { EXPECT_TRUE(findings.empty()) << '\n' << findings; }

TEST(House, CoreAgentAndEngineArePure) {
  expect_none(all_findings(sources_in({"src/core", "src/agent", "src/engine"}), impurities));
}

TEST(House, DependenciesPointDown) {
  expect_none(all_findings(sources_in({"src", "sim", "bench", "tests"}), wrong_directions));
}

TEST(House, FilesAreShort) {
  expect_none(all_findings(sources_in({"src", "sim", "bench", "tests"}), oversized_files));
}

TEST(House, FunctionsAndConstructorsAreShort) {
  expect_none(all_findings(sources_in({"src", "sim"}), oversized_functions));
}

TEST(House, HeadersSayWhatTheyAre) {
  std::vector<SourceFile> headers = sources_in({"src", "sim", "bench", "tests"});
  std::erase_if(headers, [](const SourceFile& file) { return !file.path.ends_with(".h"); });
  expect_none(all_findings(headers, missing_header_comment));
}

TEST(House, LinesAreTidy) { expect_none(all_findings(repository_files(), untidy_lines)); }

TEST(House, NoPathOfAMachineIsWrittenDown) {
  expect_none(all_findings(repository_files(), machine_paths));
}

TEST(House, ArchitectureNamesFilesThatAreThere) {
  std::vector<std::string> paths;
  for (const SourceFile& file : repository_files()) paths.push_back(file.path);
  for (const SourceFile& file : repository_files()) {
    if (file.path == "ARCHITECTURE.md") expect_none(report(missing_files(file, paths)));
  }
}

// From a submit to its end, as a newcomer reads it.
TEST(House, PathOfATaskIsShort) {
  for (const SourceFile& file : repository_files()) {
    if (file.path != "ARCHITECTURE.md") continue;
    const std::string_view path = section(file.text, "The life of one task, file by file");
    EXPECT_GT(named_files(path).size(), 10U);
    EXPECT_LE(named_files(path).size(), 25U);
  }
}

TEST(House, FoldersAreNotCrowded) { expect_none(report(crowded_folders(sources_in({"src"}), 40))); }

TEST(House, EverySettingIsReadBySomebody) {
  const std::vector<SourceFile> sources = sources_in({"src"});
  for (const SourceFile& file : sources) {
    if (file.path == "src/base/settings.h") expect_none(report(unread_settings(file, sources)));
  }
}

// What makes the program die or fail on purpose is armed from tests/faults alone, and a release is
// linked without that.
TEST(House, TheProductReadsNoVariableOfTests) {
  for (const SourceFile& file : sources_in({"src"})) {
    EXPECT_FALSE(file.text.contains("VORTEX_FAULT")) << file.path;
  }
}

TEST(House, ScriptsCanBeRun) {
  expect_none(report(scripts_not_executable()));
  for (const char* script : {"run", "test", ".ci/run", "scripts/build", "scripts/lint",
                             "scripts/sim", "scripts/bench", "scripts/mutate"}) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(VX_SOURCE_ROOT) / script)) << script;
  }
}

TEST(House, TheScannersSeeTheSources) {
  EXPECT_GT(sources_in({"src"}).size(), 10U);
  EXPECT_GT(repository_files().size(), sources_in({"src"}).size());
}

}  // namespace
}  // namespace vortex::house
