#pragma once
// The purity of src/core and src/agent: same input, same output, bit for bit, in virtual time.
//
// A scan of the text, not of the meaning: it knows which headers may be included and which words
// must not appear. Comments and literals do not count.

#include "tests/house/source_text.h"

namespace vortex::house {

Findings impurities(const SourceFile& file);

}  // namespace vortex::house
