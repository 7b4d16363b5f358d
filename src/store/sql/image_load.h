#pragma once
// Reads what a controller starts its term with, and single runs that come back into memory.
// Runs on the writer's connection, so that it sees exactly what was committed. Writer's thread.

#include <optional>
#include <vector>

#include "model/rows.h"
#include "store/error.h"
#include "store/sql/known.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

class ImageLoad {
 public:
  ImageLoad(Session& db, Known& known);

  Result<StoreImage> image();
  Result<std::optional<RunImage>> run_image(RunId run);

 private:
  using Damaged = std::vector<DamagedRow>;

  Result<void> load_runs(StoreImage& image);
  // Runs whose row says that they ended, or is not there, although tasks of them are open.
  Result<void> load_open_runs(StoreImage& image);
  // Runs in a state that there is not.
  Result<void> name_odd_runs(StoreImage& image);
  Result<void> load_rest(StoreImage& image);
  Result<void> load_leases(StoreImage& image);
  // With their definitions; one without is named and left out.
  Result<void> load_schedules(StoreImage& image);
  Result<void> load_one(StoreImage& image, RunId run);
  // Adds the run, or names what is wrong with it and leaves it out.
  Result<void> add_run(StoreImage& image, Rows& rows);
  // Plan, tasks and checkpoints of a run whose row is there. Damage is told in `damaged`.
  Result<void> fill(RunImage& image, std::uint64_t digest, Damaged& damaged);
  Result<void> fill_plan(RunImage& image, std::uint64_t digest, Damaged& damaged);
  Result<void> fill_tasks(RunImage& image, Damaged& damaged);
  // Outputs of completed tasks that conditions read.
  Result<void> fill_signals(RunImage& image, Damaged& damaged);
  Result<void> fill_outputs(RunImage& image, Damaged& damaged);

  Known& known_;
  Statement& live_runs_;
  Statement& one_run_;
  Statement& open_elsewhere_;
  Statement& odd_runs_;
  Statement& tasks_;
  Statement& checkpoints_;
  Statement& outputs_;
  Statement& signals_;
  Statement& counters_;
  Statement& workers_;
  Statement& machines_;
  Statement& leases_;
  Statement& queues_;
  Statement& limits_;
  Statement& journals_;
  Statement& schedules_;
  Statement& keys_;
  Statement& dead_letters_;
};

}  // namespace vortex::store::sql
