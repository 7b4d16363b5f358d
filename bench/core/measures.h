#pragma once
// The measurements, each with its own table.
//
// They run one after the other on one thread, each on cores of its own, and keep nothing between
// them. One that cannot be done ends the program; a slow figure never does.

#include <cstdint>
#include <vector>

#include "bench/core/sheet.h"

namespace vortex::bench {

// From the smallest to the largest number of live tasks; growth is the last over the first.
struct Scale {
  std::vector<std::uint32_t> live_tasks;
  std::uint32_t workers = 0;         // of the large fleet
  std::uint32_t lives_per_size = 0;  // measured in all, in laps of one size each
};

// Submit, assign, start and complete, by shape and size, and the memory of a live task.
void measure_lives(Sheet& sheet, const Scale& scale);

// How much more a life costs among the most live tasks than among the fewest.
void measure_growth(Sheet& sheet, const Scale& scale);

// A life of one size when workers hold many tasks and every call brings a single report.
void measure_single_reports(Sheet& sheet, const Scale& scale);

// A tick when nothing is due, while many tasks run on few workers and on many.
void measure_idle_ticks(Sheet& sheet, const Scale& scale);

// The calls of a large fleet that has nothing to report.
void measure_heartbeats(Sheet& sheet, const Scale& scale);

// Taking back what a lost worker held.
void measure_reclaim(Sheet& sheet, const Scale& scale);

// Loads on which a careless walk over everything would show.
void measure_awkward(Sheet& sheet, const Scale& scale);

}  // namespace vortex::bench
