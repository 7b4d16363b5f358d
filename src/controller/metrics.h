#pragma once
// What is counted and measured, in the text format of Prometheus (names in UX 5, CONTRACT A08).
//
// Fed on the engine's thread with every committed batch, so a number never tells of what did not
// happen. Gauges that follow from the state or the store are asked for when somebody looks. No run
// or task ids as labels.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "base/time.h"
#include "engine/batch.h"
#include "store/reader.h"

namespace vortex::controller {

// What is looked up at the moment somebody asks.
struct Gauges {
  api::Health health;
  store::Totals totals;
  std::vector<store::WorkerView> workers;
  std::vector<api::QueueDepth> queues;
  std::vector<PartitionLeaseRow> leases;
  Instant now;
};

class Metrics {
 public:
  explicit Metrics(bool enabled);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void count(const engine::Batch& batch, Duration commit_took);
  void count_health_pass(Duration took);
  void count(const api::ReconcileReport& report);
  std::string text(const Gauges& gauges);

 private:
  struct Families;
  std::unique_ptr<Families> families_;  // null: metrics are switched off
};

}  // namespace vortex::controller
