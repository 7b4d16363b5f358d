#pragma once
// The paths of expressions: what they may begin with, and what may follow.
// Internal to the parser of expressions. Pure functions.

#include <cstddef>
#include <expected>
#include <string_view>

#include "model/expression.h"
#include "model/expression_scan.h"

namespace vortex {

// Reads on after the first word, which began at `begin`.
std::expected<Path, TemplateFault> take_path(ExpressionScanner& scan, std::string_view word,
                                             std::size_t begin);

}  // namespace vortex
