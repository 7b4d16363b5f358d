#pragma once
// What vortex must do, row by row, and the tests that prove each row.
//
// A test proves a row when its name begins with the row's id (`V03_RecoveryIsOneTransaction`); a
// script or a benchmark when a comment in its first lines says `Proves: V15 A02`. The page
// docs/contract.md is made from both, so it cannot claim what nothing proves.

#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_text.h"

namespace vortex::house {

struct ContractRow {
  std::string_view id;
  std::string_view text;
  std::string_view open = {};  // what is not there yet; empty: the row is claimed
};
std::vector<ContractRow> contract_rows();

struct Proof {
  std::string row;
  std::string path;
  std::string test;  // empty: the file as a whole
};
std::vector<Proof> proofs_in(const std::vector<SourceFile>& files);

// Rows that are claimed and that nothing proves; proofs of rows that do not exist.
Findings unproved(const std::vector<ContractRow>& rows, const std::vector<Proof>& proofs);

std::string contract_page(const std::vector<ContractRow>& rows, const std::vector<Proof>& proofs);

}  // namespace vortex::house
