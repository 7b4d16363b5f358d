#pragma once
// Telling dead from quiet: what is heard of a worker, and how suspicion grows and ends.
//
//   Trusted --closed or probe timed out--> Suspect --and refused--> Hinted --grace over--> lost
//      ^                                      |                        |
//      +----------- heard again --------------+------------------------+
//
// A closed connection alone only stops new work. Silence is judged by the lease, in judged time.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

// A call of this life of the worker came in: its lease is renewed, suspicion is over.
void hear_worker(Context& cx, WorkerIx ix, Instant worker_clock);

void on_connection_lost(Context& cx, const ConnectionLost& command);
void on_probe_result(Context& cx, const ProbeResult& command);

// When silence of this worker counts as death.
Judged lease_end(const State& state, const Worker& worker);

void refresh_worker_timer(Context& cx, WorkerIx ix);
void on_worker_timer(Context& cx, WorkerIx ix);

// The periodic pass: reports what was marked, and probes those that are quiet.
void on_health_pass(Context& cx);

// How long it had not been heard when its standing changed, for the metrics.
void measure_gap(Context& cx, const Worker& worker, const char* became);

}  // namespace vortex::core
