#pragma once
// The small lists inside rows as JSON text: labels of a run, abilities of a worker, stopped maps.
//
// Reading never throws: nothing comes back for text that was not written here. On disk:
// append-only.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dag.h"
#include "model/sync.h"

namespace vortex::store {

std::string labels_json(const Labels& labels);  // an object
std::optional<Labels> read_labels(std::string_view json);

// Whether all of these are among the members of an object. A value that is no string is compared as
// compact JSON.
bool has_members(std::string_view json, const Labels& wanted);

std::string numbers_json(const std::vector<std::uint32_t>& numbers);  // an array
std::optional<std::vector<std::uint32_t>> read_numbers(std::string_view json);

// Queues, labels, runtimes, users and resources; the rest of WorkerInfo has its own columns.
std::string abilities_json(const WorkerInfo& info);
bool read_abilities(std::string_view json, WorkerInfo& info);

}  // namespace vortex::store
