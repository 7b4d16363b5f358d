#pragma once
// A DAG out of a parsed document, in whichever syntax it was written. Internal to the codec.
// Problems go to the Reading; what was read around them is given all the same.

#include <string_view>
#include <vector>

#include "codec/reading.h"
#include "model/dag.h"

namespace vortex::codec {

void read_dag_document(Reading& in, NodeIx root, DagSpec& out);

// The keys that a YAML file and its params may have.
std::vector<std::string_view> dag_keys();
std::vector<std::string_view> param_keys();

}  // namespace vortex::codec
