// The contract: every row that is claimed has a proof, and the page says which.

#include "tests/house/contract.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/upkeep.h"

namespace vortex::house {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<SourceFile> provers() {
  std::vector<SourceFile> files;
  for (SourceFile& file : repository_files()) {
    if (file.path.starts_with("tests/") || file.path.starts_with("bench/")) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

TEST(Contract, EveryClaimedRowIsProved) {
  const std::string findings = report(unproved(contract_rows(), proofs_in(provers())));
  EXPECT_TRUE(findings.empty()) << '\n' << findings;
}

TEST(Contract, ThePageSaysWhatTheTestsSay) {
  const std::string path = VX_SOURCE_ROOT "/docs/contract.md";
  const std::string page = contract_page(contract_rows(), proofs_in(provers()));
  if (std::getenv("VX_UPDATE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ifstream file(path);
  const std::string written{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(written, page) << "docs/contract.md is out of date: run test_house with "
                              "VX_UPDATE_DOCS=1 and commit the page";
}

// Written in pieces, so that the scanner does not find its own samples.
const std::string kTest = "TEST_F(Some, ";

TEST(Contract, NamesAndFirstLinesAreProofs) {
  const SourceFile tests{"tests/x/a_test.cc", kTest + "V03_OneStep) {\n" + kTest + "Other) {\n" +
                                                  kTest + "V04_A06_Both) {\n"};
  const SourceFile script{"tests/e2e/b.sh", "#!/bin/bash\n# Proves: A02 V10\n"};
  const auto proofs = proofs_in({tests, script});
  std::vector<std::string> rows;
  for (const Proof& proof : proofs) rows.push_back(proof.row);
  EXPECT_THAT(rows, ElementsAre("V03", "V04", "A06", "A02", "V10"));
}

TEST(Contract, ARowWithoutProofIsFoundUnlessItIsOpen) {
  const std::vector<ContractRow> rows{{"V01", "a"}, {"V02", "b", "the rest"}, {"V03", "c"}};
  const std::vector<Proof> proofs{{"V03", "tests/x.cc", "V03_Holds"}, {"V99", "tests/x.cc", ""}};
  const Findings findings = unproved(rows, proofs);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[0].message, HasSubstr("no row V99"));
  EXPECT_THAT(findings[1].message, HasSubstr("row V01 is claimed"));
}

}  // namespace
}  // namespace vortex::house
