#pragma once
// A fault of YAML syntax in words that say what to do about it.
// Only makes text; what is a fault is the parser's decision.

#include <string_view>

#include "codec/document.h"
#include "codec/problem.h"

namespace vortex::codec {

// `message`: the parser's own.
Problem yaml_fault(std::string_view text, Position at, std::string_view message);

}  // namespace vortex::codec
