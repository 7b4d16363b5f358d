#pragma once
// Everything that can be read from a store, as one text per question: two stores that were fed the
// same must give the same texts.

#include <cstdint>
#include <map>
#include <string>

#include "store/store.h"
#include "tests/store/world.h"

namespace vortex::store::testing {

using Answers = std::map<std::string, std::string>;

// Lists are read in pages of `limit`.
Answers ask_everything(Writer& writer, Reader& reader, const World& world, std::uint32_t limit);

}  // namespace vortex::store::testing
