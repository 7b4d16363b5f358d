#pragma once
// The JSON Schema (draft-07) of DAG files, for editors: completion, descriptions, red lines.
//
// It says what can be said about one value at a time; names of other tasks, cycles and expressions
// are left to `check_dag_file`. It never refuses what that one accepts. schema/dag.schema.json is
// this text, kept equal by a test.

#include <string>

namespace vortex::codec {

// Indented, one key a line, with a newline at the end.
std::string dag_schema();

}  // namespace vortex::codec
