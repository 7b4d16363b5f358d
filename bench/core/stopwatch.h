#pragma once
// Time spent inside the core, gathered over many short steps.
//
// Each step is timed by the steady clock, which costs next to nothing. What the thread lost to
// other programs meanwhile is known only over a whole lap, so the processor time of the steps is
// their share of it: wall time of the steps times (processor time / wall time) of the lap.

#include <cstdint>

namespace vortex::bench {

struct Cost {
  double wall_ns = 0;
  double cpu_ns = 0;
};

class Stopwatch {
 public:
  void begin_lap();
  void start();
  void stop();
  // Since begin_lap, only between start and stop.
  Cost lap() const;

 private:
  std::int64_t inside_ns_ = 0;
  std::int64_t started_ns_ = 0;
  std::int64_t lap_wall_ns_ = 0;
  std::int64_t lap_cpu_ns_ = 0;
};

}  // namespace vortex::bench
