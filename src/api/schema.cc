#include "api/schema.h"

#include <algorithm>
#include <vector>

namespace vortex::api {

std::span<const Schema> all_schemas() {
  static const std::vector<Schema> all_rows = [] {
    std::vector<Schema> all;
    for (const auto rows : {work_schemas(), fleet_schemas(), system_schemas()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return all_rows;
}

const Schema* find_schema(std::string_view name) {
  const auto all = all_schemas();
  const auto found = std::ranges::find(all, name, &Schema::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace vortex::api
