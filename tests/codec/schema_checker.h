#pragma once
// A checker of JSON Schema draft-07, for the keywords that our schema uses.
// A keyword it does not know is a fault of the schema: nothing passes by not being looked at.

#include <string>

#include "codec/document.h"

namespace vortex::testing {

// The first thing that is wrong with the value, with its pointer; empty: it is valid.
std::string schema_fault(const codec::Document& schema, const codec::Document& value);

}  // namespace vortex::testing
