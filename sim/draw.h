#pragma once
// The parts of drawing a Setup from a seed, one per subject. See sim/setup.h.
// Each subject draws from its own stream, so a draw left out shifts none of the others.

#include "base/rng.h"
#include "sim/setup.h"

namespace vortex::sim {

Timings draw_timings(Rng rng);
void draw_cluster(Setup& setup, Rng rng);
void draw_strengths(Setup& setup, Rng rng);
// Timed faults of the swarm.
void draw_faults(Setup& setup, Rng rng);
// One more timed fault of this kind, at a drawn time and for a drawn while.
void add_fault(Setup& setup, Rng& rng, FaultKind kind);
// What is switched on and scheduled in a directed scenario, instead of the swarm's.
void direct_switches(Setup& setup, Rng& rng);
void direct_faults(Setup& setup, Rng rng);
void draw_workload(Setup& setup, Rng rng);
// What came with the second drawing, put upon what the first has drawn.
void draw_more_timings(Setup& setup, Rng rng);
void draw_more(Setup& setup, Rng rng);
// What came with the third.
void draw_third(Setup& setup, Rng rng);
// What came with the fourth: blame and probation of workers, quotas, numbers that burn a name.
void draw_fourth(Setup& setup, Rng rng);
// What came with the fifth: somebody with a token who speaks for workers of others.
void draw_fifth(Setup& setup, Rng rng);
void draw_sixth(Setup& setup, Rng rng);
void draw_seventh(Setup& setup, Rng rng);
// What came with the eighth: maps made at run time.
void draw_eighth(Setup& setup, Rng rng);
// What came with the ninth: schedules of stored DAGs.
void draw_ninth(Setup& setup, Rng rng);
// What came with the tenth: tasks that wait, what people tell them, and tasks that run last.
void draw_tenth(Setup& setup, Rng rng);
// What came with the eleventh: DAGs that limit how many of their runs go on at once.
void draw_eleventh(Setup& setup, Rng rng);
// What came with the twelfth: sub-DAGs.
void draw_twelfth(Setup& setup, Rng rng);
// What came with the thirteenth: runs that start later, and runs that keep results.
void draw_thirteenth(Setup& setup, Rng rng);

// Draws that recur.
inline Duration permille_of(Duration d, std::int64_t permille) { return {d.us * permille / 1000}; }
// A share of d between two permilles.
inline Duration share(Rng& rng, Duration d, std::int64_t low, std::int64_t high) {
  return permille_of(d, rng.between(low, high));
}

}  // namespace vortex::sim
