#pragma once
// The params of a run against what its DAG declares.
//
// Unknown names, wrong types and params that are missing are problems whose pointers begin at the
// params object. A DAG that declares none takes any object as it is. Pure functions.

#include <expected>
#include <string>
#include <string_view>

#include "codec/document.h"
#include "model/dag.h"

namespace vortex::codec {

// The params of the run as compact JSON, in the order of the declaration, defaults filled in.
// No text at all stands for no params.
Decoded<std::string> check_params(const DagSpec& spec, std::string_view json);

// A param as it is typed on a command line, as JSON: a string is taken as it is, all others must be
// JSON of their type. The error says what was expected.
std::expected<std::string, std::string> param_from_text(ParamType type, std::string_view text);

bool has_type(const Document& document, NodeIx node, ParamType type);
// "a text", "true or false": completes "it must be".
std::string_view shown_type(ParamType type);

}  // namespace vortex::codec
