#pragma once
// Building what is asked for: paths and queries, escaped so that any name fits into them.
// Pure functions.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vortex::cli {

using QueryItems = std::vector<std::pair<std::string, std::string>>;

// One segment of a path or one value of a query.
std::string escaped(std::string_view text);
// Items whose value is empty are left out.
std::string with_query(std::string_view path, const QueryItems& items);

}  // namespace vortex::cli
