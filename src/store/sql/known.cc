#include "store/sql/known.h"

#include <utility>

#include <fmt/format.h>

#include "store/packed.h"

namespace vortex::store::sql {
namespace {

Result<std::uint64_t> count(Statement& statement) {
  statement.start();
  Rows rows(statement);
  std::uint64_t value = 0;
  while (rows.next()) value = rows.unsigned_number();
  if (rows.failed()) return std::unexpected(rows.error());
  return value;
}

}  // namespace

Known::Known(Session& db, PlanShelf& shelf)
    : shelf_(shelf),
      live_runs_(db.prepare("live_run_digests")),
      digest_of_run_(db.prepare("digest_of_run")),
      all_digests_(db.prepare("all_digests")),
      highest_run_(db.prepare("highest_run")),
      count_finished_(db.prepare("count_finished_runs")),
      count_doomed_(db.prepare("any_doomed")),
      spec_(db.prepare("spec_of_digest")) {}

Result<void> Known::load() {
  if (loaded_) return {};
  forget();
  live_runs_.start();
  Rows runs(live_runs_);
  while (runs.next()) {
    const std::uint64_t run = runs.unsigned_number();
    live[run].digest = runs.unsigned_number();
  }
  if (runs.failed()) return std::unexpected(runs.error());
  all_digests_.start();
  Rows specs(all_digests_);
  while (specs.next()) digests.insert(specs.unsigned_number());
  if (specs.failed()) return std::unexpected(specs.error());
  const auto highest = count(highest_run_);
  if (!highest) return std::unexpected(highest.error());
  highest_run = *highest;
  const auto finished = count(count_finished_);
  if (!finished) return std::unexpected(finished.error());
  finished_runs = *finished;
  const auto doomed = count(count_doomed_);
  if (!doomed) return std::unexpected(doomed.error());
  doomed_runs = *doomed;
  loaded_ = true;
  return {};
}

void Known::forget() {
  loaded_ = false;
  live.clear();
  digests.clear();
  worker_numbers.clear();
  workers.clear();
  highest_run = 0;
  finished_runs = 0;
  doomed_runs = 0;
}

Result<PlanPtr> Known::plan_of(std::uint64_t run) {
  const auto found = live.find(run);
  std::uint64_t digest = 0;
  if (found != live.end()) {
    if (found->second.plan) return found->second.plan;
    digest = found->second.digest;
  } else {
    digest_of_run_.start().unsigned_number(run);
    Rows rows(digest_of_run_);
    const bool kept = rows.next();
    if (rows.failed()) return std::unexpected(rows.error());
    if (!kept) {
      return std::unexpected(Error{Fault::kBadRequest,
                                   fmt::format("a new task of run {}, which does not exist", run)});
    }
    digest = rows.unsigned_number();
  }
  auto read = plan(digest);
  if (!read) return read;
  if (!*read) {
    return std::unexpected(
        Error{Fault::kDamaged, fmt::format("the definition of run {} is missing", run)});
  }
  if (found != live.end()) found->second.plan = *read;
  return read;
}

Result<PlanPtr> Known::plan(std::uint64_t digest) {
  if (PlanPtr held = shelf_.find(digest)) return held;
  spec_.start().unsigned_number(digest);
  Rows rows(spec_);
  const bool kept = rows.next();
  if (rows.failed()) return std::unexpected(rows.error());
  if (!kept) return PlanPtr{};
  const auto json = unpack(rows.view());
  if (!json) {
    return std::unexpected(
        Error{Fault::kDamaged, fmt::format("cannot unpack the definition {:016x}", digest)});
  }
  auto plan = plan_from_json(*json, digest);
  if (plan) shelf_.put(*plan);
  return plan;
}

}  // namespace vortex::store::sql
