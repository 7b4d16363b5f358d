#pragma once
// What holds runs and tasks back although they could go on: groups of runs, and named limits.
//
// Who holds what follows from the rows of runs and from the tasks on workers; nothing here is
// counted beside them but what a rate has granted, which is part of its row. Only core/machine.h
// and core/dag/*.cc include this.

#include <cstdint>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/context.h"
#include "model/rows.h"

namespace vortex::core {

// Concurrency of runs: those of a group that is full wait for their turn, in order of age.
//
// Who goes on follows from the rows of the runs. A run that has not had its turn has started
// nothing; when it is ended before, nothing of it ever starts, its `finally` included.

// Finds the key of its group. Not empty: why it has none, for people.
std::string set_group(RunRequest& request, const DagPlan& plan);
// A new run, whose tasks have been made: starts it, lets it wait or ends it.
void begin_or_wait(Context& cx, RunIx run);
// Its turn has come: looks at its first nodes, and its time begins.
void begin_run(Context& cx, RunIx run);
// The run has ended.
void leave_group(Context& cx, const Run& run);
// Cancels a run that waits for its turn; false: it does not.
bool end_if_unbegun(Context& cx, RunIx run);
// Lets those begin whose turn has come; false: nobody.
bool give_turns(Context& cx);
void restore_group(Context& cx, const Run& run);
// Why a run that has ended cannot go on now, nor a new one begin; empty: it can.
std::string why_group_is_full(const State& state, const DagPlan& plan, const RunRequest& request);
// What the groups do not have right of the runs in memory.
std::vector<std::string> wrong_groups(const State& state);

// Named limits: a task holds each limit it names exactly while it is on a worker.
//
// Tasks that name the same limits and ask for the same things form a class. While one of its limits
// is full, a class is offered to nobody: its tasks stay in line, by priority and age, and cost
// nothing. A slot is taken with the grant, so what no worker can take keeps it from nobody.

inline constexpr Duration kRateWindowMin = seconds(1);
inline constexpr Duration kRateWindowMax = hours(24) * 7;
constexpr std::size_t kLimitsMax = 10'000;  // that are set at the same time

ClassIx use_class(State& state, const NodeSpec& spec);
void drop_class(State& state, ClassIx cls);
// One of its tasks comes to a worker, is granted to one (which happens once), leaves it.
void hold_limits(Context& cx, ClassIx cls);
void count_grant(Context& cx, ClassIx cls);
void free_limits(Context& cx, ClassIx cls);
// Judges whether it is full, and lets its tasks through or not.
void refresh_limit(Context& cx, LimitIx ix);
void refresh_limits(Context& cx);
void on_set_limit(Context& cx, const SetLimit& command);
void on_delete_limit(Context& cx, const DeleteLimit& command);
void on_limit_timer(Context& cx, LimitIx ix);
void restore_limit(Context& cx, const LimitRow& row);
// What the limits do not have right of the tasks on workers.
std::vector<std::string> wrong_limits(const State& state);

}  // namespace vortex::core
