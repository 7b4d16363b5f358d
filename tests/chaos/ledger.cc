#include "tests/chaos/ledger.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace vortex::chaos {

void Ledger::promised(PromisedRun run) {
  const std::scoped_lock lock(guard_);
  runs_.push_back(std::move(run));
}

void Ledger::given(const Attempt& attempt) {
  const std::scoped_lock lock(guard_);
  ++given_[attempt];
}

void Ledger::acknowledged(const Attempt& attempt) {
  const std::scoped_lock lock(guard_);
  acknowledged_.insert(attempt);
}

std::vector<PromisedRun> Ledger::runs() const {
  const std::scoped_lock lock(guard_);
  return runs_;
}

std::uint64_t Ledger::results() const {
  const std::scoped_lock lock(guard_);
  return acknowledged_.size();
}

std::vector<std::string> Ledger::broken(store::Reader& reader) const {
  const std::scoped_lock lock(guard_);
  std::vector<std::string> broken;
  std::map<std::string, std::string> run_of_key;
  for (const PromisedRun& run : runs_) {
    check_run(reader, run, broken);
    const auto [known, is_new] = run_of_key.emplace(run.key, run.id);
    if (!run.key.empty() && !is_new && known->second != run.id) {
      broken.push_back(
          fmt::format("key {} made two runs: {} and {}", run.key, known->second, run.id));
    }
  }
  check_results(reader, broken);
  for (const auto& [attempt, times] : given_) {
    if (times < 2) continue;
    broken.push_back(fmt::format("{} epoch {} was given out {} times", to_text(attempt.task),
                                 attempt.epoch.value, times));
  }
  return broken;
}

void Ledger::check_run(store::Reader& reader, const PromisedRun& promised,
                       std::vector<std::string>& broken) const {
  const auto id = parse_run_id(promised.id);
  const auto run = id ? reader.run(*id) : store::Result<std::optional<store::RunView>>{};
  if (!run || !*run) {
    broken.push_back(fmt::format("{} was acknowledged and is not there", promised.id));
    return;
  }
  if ((*run)->state != RunState::kCompleted) {
    broken.push_back(fmt::format("{} has not completed: {}", promised.id, to_text((*run)->state)));
  }
  const std::uint32_t done = (*run)->made[number_of(TaskState::kCompleted)];
  if (done != promised.tasks) {
    broken.push_back(fmt::format("{} completed {} of {} tasks", promised.id, done, promised.tasks));
  }
}

void Ledger::check_results(store::Reader& reader, std::vector<std::string>& broken) const {
  for (const Attempt& attempt : acknowledged_) {
    const auto attempts = reader.attempts(attempt.task);
    if (!attempts) {
      broken.push_back(attempts.error().detail);
      return;
    }
    const auto successes = std::ranges::count(*attempts, Verdict::kCompleted, &AttemptRow::verdict);
    if (successes != 1) {
      broken.push_back(
          fmt::format("{} has {} accepted successes", to_text(attempt.task), successes));
    }
    // Acknowledged means durable, or refused for good because the attempt was over: either way the
    // attempt has its row.
    const bool there = std::ranges::any_of(
        *attempts, [&](const AttemptRow& row) { return row.attempt == attempt; });
    if (!there) {
      broken.push_back(fmt::format("{} epoch {} was acknowledged and has no row",
                                   to_text(attempt.task), attempt.epoch.value));
    }
  }
}

}  // namespace vortex::chaos
