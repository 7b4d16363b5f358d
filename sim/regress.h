#pragma once
// Saved cases: what once broke stays in the house and runs again with every test.
// A case is a seed and what is left out of it, so a saved one is small and replays exactly.

#include <expected>
#include <string>
#include <vector>

#include "sim/case.h"

namespace vortex::sim {

struct SavedCase {
  std::string file;
  Case parsed;
};

// All *.case files of a folder, by name. The error names the file.
std::expected<std::vector<SavedCase>, std::string> read_cases(const std::string& folder);
// Returns the file's name; empty when it could not be written.
std::string save_case(const std::string& folder, const Case& c, const std::string& invariant);

// Runs them all; prints each and `traces=N violations=V`. The program's exit code.
int run_saved(const std::string& folder);

}  // namespace vortex::sim
