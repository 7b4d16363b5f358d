#pragma once
// A YAML text as a tree, with the place of everything in it. Aliases are not yet followed.
//
// The library only finds the events; what YAML leaves open (tags, several documents, depth) is
// decided here, strictly. Its exceptions do not leave. Internal to the codec; one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"

namespace vortex::codec {

inline constexpr std::size_t kYamlBytesMax = 16 * 1024 * 1024;
inline constexpr std::size_t kYamlDepthMax = 32;

using YamlIx = std::uint32_t;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kPlain, kQuoted, kList, kMap, kAlias };
  Kind kind = Kind::kNull;
  Position at;
  std::string text;
  std::vector<YamlIx> children;  // of a map: key, value, key, value
  YamlIx target = 0;             // of an alias
};

struct YamlTree {
  std::vector<YamlNode> nodes;  // never empty
  YamlIx root = 0;
  Problems problems;  // what is not allowed, though it is YAML
};

// A fault of syntax ends the reading, so there is one.
Decoded<YamlTree> parse_yaml(std::string_view text);

}  // namespace vortex::codec
