#include "sim/model/leader_time.h"

#include <variant>

namespace vortex::sim {

void LeaderTime::fact(const Fact& fact) {
  if (const auto* heard = std::get_if<WorkerHeard>(&fact)) {
    acted(heard->term, heard->term_now);
  } else if (const auto* commit = std::get_if<Committed>(&fact)) {
    acted(commit->term, commit->term_now);
  } else if (latest_.begins(fact)) {
    const TermBegan& began = std::get<TermBegan>(fact);
    term_ = began.term;
    began_ = last_ = began.term_now;
    gaps_.clear();
  }
}

void LeaderTime::acted(Term term, Instant at) {
  if (term != term_ || at <= last_) return;
  const Duration gap = at - last_;
  last_ = at;
  if (gap <= sweep_ * 2) return;
  const Duration before = gaps_.empty() ? Duration{} : gaps_.back().away;
  gaps_.push_back({at - gap, at, before + gap - sweep_});
}

Instant LeaderTime::own(Instant at) const {
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap) {
    if (gap->end <= at) return at - gap->away;
    // What it did first when it came back is heard of with the commit, after what it did next.
    const bool came_back = gap->begin < at && at - gap->begin > sweep_ * 2;
    if (came_back) return gap->end - gap->away;
  }
  return at;
}

}  // namespace vortex::sim
