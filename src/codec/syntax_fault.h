#pragma once
// A fault of syntax in words: what stands at the place where the parser gave up, and what it means.
// Only makes text; what is a fault is the parser's decision.

#include <cstddef>
#include <string_view>

#include <boost/system/error_code.hpp>

#include "codec/problem.h"

namespace vortex::codec {

// `offset`: where the parser stopped; without an error it was pleased and something followed.
Problem syntax_fault(std::string_view json, std::size_t offset,
                     const boost::system::error_code& error);

}  // namespace vortex::codec
