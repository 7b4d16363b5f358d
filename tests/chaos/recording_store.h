#pragma once
// A store that tells every transaction it made durable to the simulator's
// history checkers, so that a real controller with real workers is judged by
// the same rules as the simulated one.
//
// Commits, with the log as it is stored, and terms are told: what processes did
// is read from what they wrote themselves. The checkers are fed on the
// committer's thread; violations() is for after the end.

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/state/policy.h"
#include "sim/check/checkers.h"
#include "store/store.h"

namespace vortex::chaos {

class History {
 public:
  explicit History(const core::Policy& policy) : checkers_(policy) {}

  void began(const store::Won& won);
  void committed(const Commit& commit);
  // From here on the checkers are not shown events of this kind: they must notice.
  void leave_out(EventKind kind);
  std::vector<std::string> violations();
  std::uint64_t commits() const { return commits_; }

 private:
  std::mutex guard_;
  sim::Checkers checkers_;
  std::set<EventKind> left_out_;
  std::vector<std::string> unreadable_;
  std::uint64_t commits_ = 0;
};

// Passes everything on to `inner`. `history` outlives it.
std::unique_ptr<store::Store> record(std::unique_ptr<store::Store> inner, History& history);

}  // namespace vortex::chaos
