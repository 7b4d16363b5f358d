#pragma once
// A YAML file as the JSON text that says the same, so that both are read by the same readers.
//
// Strict where YAML readers disagree: `yes`, `on`, 0644 and the like must be quoted or written
// plainly. Aliases and merge keys (<<) are written out, within bounds. Pure; the result owns all.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"

namespace vortex::codec {

struct YamlDocument {
  std::string json;
  std::vector<Position> marks;  // of each node of the JSON text; see Document::set_origin
  Problems problems;            // not empty: the JSON stands in for what was meant
};

// Problems only when there is nothing to read; see also `problems` of the result.
Decoded<YamlDocument> load_yaml(std::string_view text);

// What some readers of YAML take for a boolean or a number and others for a text.
enum class ScalarKind : std::uint8_t { kNull, kBoolean, kNumber, kText, kAmbiguous };
ScalarKind scalar_kind(std::string_view plain);

}  // namespace vortex::codec
