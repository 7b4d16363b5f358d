// Sub-DAGs that are stored: found when a run is submitted, so that a later version changes none
// that lives.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/call.h"
#include "api/submission.h"
#include "api/trouble.h"
#include "base/text.h"
#include "base/zone_files.h"
#include "core/state/policy.h"
#include "model/check.h"
#include "model/passing/children.h"

namespace vortex::api {
namespace {

using Completed = Expected<PlanPtr>;

// The first task that refers to it, and in which of the DAGs.
DagError unknown_dag(const DagSpec& spec, const std::string& name, std::string help) {
  DagError error{DagError::Kind::kBadValue,
                 "",
                 fmt::format("no DAG {} is stored", in_quotes(name)),
                 {"dag"},
                 0,
                 std::move(help)};
  const auto find_in = [&](const DagSpec& dag) {
    for (const NodeSpec& node : dag.nodes) {
      if (!node.child || node.child->dag != name) continue;
      error.node = node.name;
      error.in_finally = node.finally;
      return true;
    }
    return false;
  };
  if (find_in(spec)) return error;
  for (std::size_t i = 0; i < spec.dags.size(); ++i) {
    if (!find_in(*spec.dags[i])) continue;
    error.dag = spec.dags[i]->name;
    error.dag_at = i;
    break;
  }
  return error;
}

std::string near_stored(store::Reader& reader, const std::string& name) {
  const auto stored = reader.dags({500, {}});
  std::vector<std::string_view> names;
  if (stored) {
    for (const store::DagView& dag : stored->items) names.push_back(dag.name);
  }
  const std::string_view near = nearest_name(name, names);
  if (!near.empty()) return fmt::format("did you mean {}?", in_quotes(near));
  return "store it with `vortex dag apply FILE`, or name a file: dag: ./FILE.yaml";
}

// Empty: done.
std::string carry(DagSpec& spec, const DagSpec& stored) {
  auto own = std::make_shared<DagSpec>(stored);
  own->dags.clear();
  spec.dags.push_back(std::move(own));
  for (const auto& below : stored.dags) {
    const DagSpec* there = find_dag(spec, below->name);
    if (there == nullptr) {
      spec.dags.push_back(below);
    } else if (digest_of(*there) != digest_of(*below)) {
      return fmt::format("two different DAGs are called {}; rename one of them",
                         in_quotes(below->name));
    }
  }
  return {};
}

store::Result<Completed> complete(store::Reader& reader, const DagPlan& plan,
                                  const DagLimits& limits) {
  DagSpec spec = plan.spec;
  for (auto missing = missing_dags(spec); !missing.empty(); missing = missing_dags(spec)) {
    if (spec.dags.size() + missing.size() > kChildDagsMax) break;  // `compile` says so
    for (const std::string& name : missing) {
      if (find_dag(spec, name) != nullptr) continue;  // came with the one before
      const auto found = find_named(reader, name);
      if (!found) return std::unexpected(found.error());
      if (!found->plan) {
        return Completed(
            std::unexpected(from_dag_error(unknown_dag(spec, name, near_stored(reader, name)))));
      }
      std::string wrong = carry(spec, found->plan->spec);
      if (!wrong.empty()) {
        return Completed(std::unexpected(
            from_dag_error({DagError::Kind::kBadValue, "", std::move(wrong), {"dags"}})));
      }
    }
  }
  auto whole = compile(std::move(spec), limits);
  if (!whole) return Completed(std::unexpected(from_dag_error(whole.error())));
  if ((*whole)->base->missing.empty()) return Completed(*std::move(whole));
  return Completed(std::unexpected(
      from_dag_error({DagError::Kind::kBadValue,
                      "",
                      fmt::format("more than {} sub-DAGs are too many", kChildDagsMax),
                      {"dags"}})));
}

}  // namespace

boost::asio::awaitable<Expected<PlanPtr>> with_stored_dags(Call& call, PlanPtr plan) {
  if (plan->base->missing.empty()) co_return plan;
  DagLimits limits = core::make_policy(call.backend.settings().settings).dag_limits;
  limits.zones = &system_zones();
  auto whole = co_await fetch(
      call.backend, [&](store::Reader& reader) { return complete(reader, *plan, limits); });
  if (!whole) co_return std::unexpected(std::move(whole.error()));
  co_return *std::move(whole);
}

}  // namespace vortex::api
