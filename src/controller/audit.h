#pragma once
// The thorough check of a leading controller, in slices: its memory with itself
// (core/reconcile.h), then with what the database holds.
//
// A slice is taken on the engine's thread at the edge of a commit, when memory and what is being
// written are the same; the comparison runs on the committer's thread right after that commit, so
// it reads exactly what the slice must find there. No slice is long, whatever the size of the
// whole. Findings are sentences for people; what is done about them is the engine's.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/backend.h"
#include "core/reconcile.h"
#include "core/state/state.h"
#include "store/reader.h"

namespace vortex::controller {

class Audit {
 public:
  using Findings = std::vector<std::string>;
  // Reads the database and says what differs.
  using Compare = std::function<Findings(store::Reader&)>;

  bool is_active() const { return active_; }
  // `set_aside`: runs that the database has and memory was not given, because they are damaged.
  void begin(std::set<RunId> set_aside);
  void drop();

  // The next slice. Empty: this one needs no comparison.
  Compare slice(const core::State& state);
  bool is_complete() const { return stage_ == Stage::kDone; }
  void add(Findings findings, Duration took);
  api::ReconcileReport take_report();

 private:
  enum class Stage : std::uint8_t { kMemory, kRuns, kFleet, kDone };

  Compare next_runs(const core::State& state);
  Compare fleet(const core::State& state);

  bool active_ = false;
  Stage stage_ = Stage::kMemory;
  core::CheckProgress progress_;
  std::set<RunId> set_aside_;
  std::size_t slot_ = 0;
  RunId large_;                   // the run whose tasks are compared in several slices
  std::uint32_t next_task_ = 0;   // of it
  std::uint64_t compared_ = 0;    // tasks so far
  std::uint64_t whole_from_ = 0;  // from here on rows are read whole; kept from pass to pass
  api::ReconcileReport report_;
};

}  // namespace vortex::controller
