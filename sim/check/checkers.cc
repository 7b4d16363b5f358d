#include "sim/check/checkers.h"

#include <algorithm>

#include "sim/check/subjects.h"

namespace vortex::sim {

Checkers::Checkers(const core::Policy& policy) : policy_(policy) {
  const CheckerTools tools{policy_, findings_};
  for (const auto add : {add_submit_checkers,      add_result_checkers,    add_epoch_checkers,
                         add_ownership_checkers,   add_process_checkers,   add_need_checkers,
                         add_edge_checkers,        add_counter_checkers,   add_blame_checkers,
                         add_ledger_checkers,      add_silence_checkers,   add_status_checkers,
                         add_dead_letter_checkers, add_lease_checkers,     add_cancel_checkers,
                         add_limit_checkers,       add_answer_checkers,    add_liveness_checkers,
                         add_stop_checkers,        add_run_end_checkers,   add_life_checkers,
                         add_event_checkers,       add_placement_checkers, add_turn_checkers,
                         add_due_checkers,         add_handover_checkers,  add_probation_checkers,
                         add_quota_checkers,       add_session_checkers,   add_condition_checkers,
                         add_late_map_checkers,    add_schedule_checkers,  add_wait_checkers,
                         add_finally_checkers,     add_group_checkers,     add_named_limit_checkers,
                         add_child_checkers,       add_reuse_checkers}) {
    add(checkers_, tools);
  }
  std::sort(checkers_.begin(), checkers_.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
}

void Checkers::fact(Instant true_time, const Fact& fact) {
  findings_.set_time(true_time);
  picture_.apply(true_time, fact);
  for (const auto& checker : checkers_) checker->fact(picture_, true_time, fact);
}

void Checkers::finish(Instant true_time) {
  findings_.set_time(true_time);
  for (const auto& checker : checkers_) checker->finish(picture_, true_time);
}

std::vector<std::string_view> Checkers::names() const {
  std::vector<std::string_view> names;
  names.reserve(checkers_.size());
  for (const auto& checker : checkers_) names.push_back(checker->name());
  return names;
}

}  // namespace vortex::sim
