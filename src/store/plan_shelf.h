#pragma once
// Definitions that somebody holds already: one plan in memory per digest, however often it is read.
//
// Any thread. Keeps nothing alive by itself except the few that were asked for last, so that
// reading the tasks of one run page by page does not compile its plan each time.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/plan.h"
#include "store/error.h"

namespace vortex::store {

class PlanShelf {
 public:
  PlanPtr find(std::uint64_t digest);
  void put(const PlanPtr& plan);

 private:
  void keep(const PlanPtr& plan);

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<const DagPlan>> plans_;
  std::vector<PlanPtr> recent_;
  std::size_t next_recent_ = 0;
};

// The definition as it is stored, and back: canonical JSON, compiled again.
std::string plan_json(const DagPlan& plan);
Result<PlanPtr> plan_from_json(std::string_view json, std::uint64_t digest);

}  // namespace vortex::store
