#pragma once
// One task of a DAG out of a document, with the defaults of its file filled in.
// The members of a task are the same in JSON and YAML; YAML has a few more. Internal to the codec.

#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "model/dag.h"

namespace vortex::codec {

struct TaskDraft {
  NodeSpec spec;
  CommandDraft command;
  NodeIx shell = 0;  // 0: not given
  NodeIx retry = 0;
  NodeIx retries = 0;
  NodeIx map = 0;
  NodeIx matrix = 0;
};

struct TaskNodes {
  NodeIx key = 0;
  NodeIx value = 0;
};

NodeSpec read_task(Reading& in, const TaskNodes& at, const TaskDraft& defaults);
// Default values for all tasks.
void read_defaults(Reading& in, NodeIx node, TaskDraft& out);
// Every combination of the lists of a matrix becomes one item of a map.
void read_matrix(Reading& in, TaskDraft& draft);

void read_timeout(Reading& in, NodeIx node, std::optional<Duration>& out);

// The keys that each part of a YAML file may have; the JSON Schema must know the same ones.
std::vector<std::string_view> task_keys();
std::vector<std::string_view> default_keys();
std::vector<std::string_view> retry_keys();
std::vector<std::string_view> map_keys();
std::vector<std::string_view> range_keys();

}  // namespace vortex::codec
