#include "store/plan_shelf.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "codec/dag_json.h"

namespace vortex::store {
namespace {

constexpr std::size_t kRecent = 16;
constexpr std::size_t kSweepAbove = 1024;

// It was accepted once under the limits of its day: today's must not make it unreadable.
constexpr DagLimits kNoLimits{.nodes_max = std::numeric_limits<std::uint32_t>::max(),
                              .tasks_max = std::numeric_limits<std::uint32_t>::max(),
                              .depth_max = std::numeric_limits<std::uint32_t>::max(),
                              .needs_max = std::numeric_limits<std::uint32_t>::max()};

Error damaged(std::uint64_t digest, std::string_view why) {
  return {Fault::kDamaged, fmt::format("cannot read the definition {:016x}: {}", digest, why)};
}

}  // namespace

PlanPtr PlanShelf::find(std::uint64_t digest) {
  const std::scoped_lock lock(mutex_);
  const auto found = plans_.find(digest);
  if (found == plans_.end()) return nullptr;
  PlanPtr plan = found->second.lock();
  if (plan) keep(plan);
  return plan;
}

void PlanShelf::put(const PlanPtr& plan) {
  const std::scoped_lock lock(mutex_);
  if (plans_.size() > kSweepAbove) {
    std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  }
  plans_[plan->digest] = plan;
  keep(plan);
}

void PlanShelf::keep(const PlanPtr& plan) {
  for (const PlanPtr& held : recent_) {
    if (held == plan) return;
  }
  if (recent_.size() < kRecent) {
    recent_.push_back(plan);
    return;
  }
  recent_[next_recent_] = plan;
  next_recent_ = (next_recent_ + 1) % kRecent;
}

std::string plan_json(const DagPlan& plan) { return codec::write_dag(plan.spec); }

Result<PlanPtr> plan_from_json(std::string_view json, std::uint64_t digest) {
  auto spec = codec::read_stored_dag(json);
  if (!spec) return std::unexpected(damaged(digest, spec.error().front().message));
  auto plan = compile(*std::move(spec), kNoLimits);
  if (!plan) return std::unexpected(damaged(digest, plan.error().detail));
  if ((*plan)->digest != digest) return std::unexpected(damaged(digest, "its digest differs"));
  return *std::move(plan);
}

}  // namespace vortex::store
