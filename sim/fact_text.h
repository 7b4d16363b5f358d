#pragma once
// Facts of a history in two short forms: as lines for people, and as numbers for the hash.
// For traces only: nothing here decides anything, and the history hash does not depend on it.

#include <string>
#include <vector>

#include "base/hash.h"
#include "sim/history.h"

namespace vortex::sim {

struct FactLine {
  std::string who;
  std::string what;
};

std::vector<FactLine> lines_of(const Fact& fact);
void add_to_hash(Hasher& hash, const Fact& fact);

std::string describe(const core::Command& command);
std::string describe(const core::ReplyBody& answer);

}  // namespace vortex::sim
