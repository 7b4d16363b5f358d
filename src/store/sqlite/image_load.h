#pragma once
// Reads what a controller starts its term with, and single runs that come back into memory.
// Runs on the writer's connection, so that it sees exactly what was committed. Writer's thread.

#include <optional>
#include <vector>

#include "model/rows.h"
#include "store/error.h"
#include "store/sqlite/known.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

class ImageLoad {
 public:
  ImageLoad(Connection& db, Known& known);

  Result<StoreImage> image();
  Result<std::optional<RunImage>> run_image(RunId run);

 private:
  Result<void> load_runs(StoreImage& image);
  Result<void> load_rest(StoreImage& image);
  // Plan, tasks and checkpoints of a run whose row is there.
  Result<void> fill(RunImage& image, std::uint64_t digest);

  Known& known_;
  Statement live_runs_;
  Statement one_run_;
  Statement tasks_;
  Statement checkpoints_;
  Statement counters_;
  Statement workers_;
  Statement machines_;
  Statement leases_;
  Statement queues_;
  Statement keys_;
  Statement dead_letters_;
};

}  // namespace vortex::store::sqlite
