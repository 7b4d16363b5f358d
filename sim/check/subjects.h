#pragma once
// Which checkers there are, by subject: the index of sim/check and of the invariants they guard.
//
// Names start with the invariant's number. Not here: 28 (bounds of queues and buffers), which no
// history shows. 29 (schedules) is guarded by 55 to 57.

#include "sim/check/checker.h"

namespace vortex::sim {

void add_submit_checkers(CheckerList& list, const CheckerTools& tools);       //  1, 2, 34
void add_result_checkers(CheckerList& list, const CheckerTools& tools);       //  3, 4
void add_epoch_checkers(CheckerList& list, const CheckerTools& tools);        //  5
void add_ownership_checkers(CheckerList& list, const CheckerTools& tools);    //  6, 20
void add_process_checkers(CheckerList& list, const CheckerTools& tools);      //  7, 8
void add_need_checkers(CheckerList& list, const CheckerTools& tools);         //  9, 10
void add_edge_checkers(CheckerList& list, const CheckerTools& tools);         // 11, 12
void add_counter_checkers(CheckerList& list, const CheckerTools& tools);      // 13, 14
void add_blame_checkers(CheckerList& list, const CheckerTools& tools);        // 15, 16, 17, 32
void add_ledger_checkers(CheckerList& list, const CheckerTools& tools);       // 18
void add_silence_checkers(CheckerList& list, const CheckerTools& tools);      // 19
void add_status_checkers(CheckerList& list, const CheckerTools& tools);       // 21
void add_dead_letter_checkers(CheckerList& list, const CheckerTools& tools);  // 22
void add_lease_checkers(CheckerList& list, const CheckerTools& tools);        // 23, 42
void add_cancel_checkers(CheckerList& list, const CheckerTools& tools);       // 24
void add_limit_checkers(CheckerList& list, const CheckerTools& tools);        // 25
void add_answer_checkers(CheckerList& list, const CheckerTools& tools);       // 26
void add_liveness_checkers(CheckerList& list, const CheckerTools& tools);     // 27
void add_stop_checkers(CheckerList& list, const CheckerTools& tools);         // 30
void add_run_end_checkers(CheckerList& list, const CheckerTools& tools);      // 31, 35
void add_life_checkers(CheckerList& list, const CheckerTools& tools);         // 33
void add_event_checkers(CheckerList& list, const CheckerTools& tools);        // 36
void add_placement_checkers(CheckerList& list, const CheckerTools& tools);    // 37, 38
void add_turn_checkers(CheckerList& list, const CheckerTools& tools);         // 39
void add_due_checkers(CheckerList& list, const CheckerTools& tools);          // 40, 41
void add_handover_checkers(CheckerList& list, const CheckerTools& tools);     // 43, 44
void add_probation_checkers(CheckerList& list, const CheckerTools& tools);    // 45, 46, 47
void add_quota_checkers(CheckerList& list, const CheckerTools& tools);        // 48
void add_session_checkers(CheckerList& list, const CheckerTools& tools);      // 49
void add_condition_checkers(CheckerList& list, const CheckerTools& tools);    // 50, 51
void add_late_map_checkers(CheckerList& list, const CheckerTools& tools);     // 52, 53, 54
void add_schedule_checkers(CheckerList& list, const CheckerTools& tools);     // 55, 56, 57
void add_wait_checkers(CheckerList& list, const CheckerTools& tools);         // 58, 59
void add_finally_checkers(CheckerList& list, const CheckerTools& tools);      // 60, 61
void add_group_checkers(CheckerList& list, const CheckerTools& tools);        // 62, 63
void add_named_limit_checkers(CheckerList& list, const CheckerTools& tools);  // 64, 65
void add_child_checkers(CheckerList& list, const CheckerTools& tools);        // 70 to 73
void add_reuse_checkers(CheckerList& list, const CheckerTools& tools);        // 76, 77, 78

}  // namespace vortex::sim
