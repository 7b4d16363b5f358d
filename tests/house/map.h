#pragma once
// The map of the house is true: what ARCHITECTURE.md names is there, the path of a task that it
// walks stays short enough to be read, and no folder holds more files than a reader takes in.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_text.h"

namespace vortex::house {

// The files that a text names in backquotes, once each, in its order: "core/step.h", "sql/x.sql",
// "views_*.cc".
std::vector<std::string> named_files(std::string_view text);

// Names that are none of `paths`, seen from the root, from src, or from the folder of the name
// before it on the same line. A star stands for any letters.
Findings missing_files(const SourceFile& page, const std::vector<std::string>& paths);

// The part of the page under this heading, up to the next of its kind; empty if there is none.
std::string_view section(std::string_view page, std::string_view heading);

// Folders among these with more than `most` files of C++ directly inside.
Findings crowded_folders(const std::vector<SourceFile>& sources, std::size_t most);

}  // namespace vortex::house
