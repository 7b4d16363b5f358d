#include "api/dag_input.h"

#include <utility>

#include "codec/dag_json.h"
#include "core/state/policy.h"

namespace vortex::api {

Expected<PlanPtr> read_plan(std::string_view dag_json, const Settings& settings) {
  auto spec = codec::read_dag(dag_json);
  if (!spec)
    return std::unexpected(from_problems(std::move(spec.error()), dag_json, Code::kDagMalformed));
  auto plan = compile(*std::move(spec), core::make_policy(settings).dag_limits);
  if (!plan) return std::unexpected(from_dag_error(plan.error()));
  return *std::move(plan);
}

store::Result<NamedDag> find_named(store::Reader& reader, const std::string& name) {
  const auto dag = reader.dag(name);
  if (!dag) return std::unexpected(dag.error());
  if (!*dag) return NamedDag{};
  auto plan = reader.plan((*dag)->digest);
  if (!plan) return std::unexpected(plan.error());
  return NamedDag{*std::move(plan), (*dag)->updated_at};
}

}  // namespace vortex::api
