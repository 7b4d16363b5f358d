#pragma once
// From what a request says about a DAG to a plan that can run: a specification, or a name.
//
// Compiled here, on the thread of the request, so that a large DAG costs the engine nothing.

#include <string>
#include <string_view>

#include "api/call.h"
#include "base/settings.h"
#include "model/plan.h"
#include "store/reader.h"

namespace vortex::api {

Expected<PlanPtr> read_plan(std::string_view dag_json, const Settings& settings);

struct NamedDag {
  PlanPtr plan;  // null: there is none
  Instant updated_at;
};
store::Result<NamedDag> find_named(store::Reader& reader, const std::string& name);

}  // namespace vortex::api
