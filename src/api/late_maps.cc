#include "api/late_maps.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "model/value.h"

namespace vortex::api {
namespace {

MapItems items_from(const std::string& json, const Steps& steps, std::uint32_t tasks) {
  const std::array<const Steps*, 1> only{&steps};
  const auto picked = pick_values(json, only, json.size());
  if (!picked) return nullptr;
  auto texts = item_texts(picked->front(), tasks);
  if (!texts || texts->size() != tasks) return nullptr;
  return std::make_shared<const std::vector<std::string>>(*std::move(texts));
}

}  // namespace

store::Result<PlanPtr> plan_of_run(store::Reader& reader, const store::RunView& run) {
  auto plan = reader.plan(run.dag_digest);
  if (!plan || !*plan) return plan;
  auto laid_out = laid_out_again(*plan, run.late);
  if (laid_out) return *std::move(laid_out);
  return std::unexpected(store::Error{store::Fault::kDamaged, std::move(laid_out.error())});
}

store::Result<PlanPtr> give_items(store::Reader& reader, const store::RunView& run, PlanPtr plan,
                                  std::uint32_t node) {
  const LaidOut* map = node < plan->nodes.size() ? plan->laid_out(node) : nullptr;
  if (map == nullptr || map->failed) return plan;
  const ValueRead& source = plan->lists[*plan->nodes[node].map_source];
  std::string json = run.request ? run.request->params : std::string{};
  if (source.node) {
    const auto data = reader.task_data({.run = run.id, .index = plan->first_task(*source.node)});
    if (!data) return std::unexpected(data.error());
    json = *data && (*data)->outputs ? *(*data)->outputs : std::string{};
  }
  MapItems items = items_from(json, source.steps, map->tasks);
  return items ? with_items(*plan, node, std::move(items)) : std::move(plan);
}

}  // namespace vortex::api
