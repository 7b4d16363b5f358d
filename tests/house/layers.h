#pragma once
// The direction of dependencies: which folder may include which, as drawn in ARCHITECTURE.md.
//
// A folder under src/ that is not in the table is a finding too: a new folder gets its place first.

#include "tests/house/source_text.h"

namespace vortex::house {

Findings wrong_directions(const SourceFile& file);

}  // namespace vortex::house
