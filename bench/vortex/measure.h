#pragma once
// Small tools of the benches: percentiles, CPU of this process, numbers out of /metrics.
// Nothing here decides anything; timing is for people and for ratios within one run.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace vortex::cli::bench {

class Samples {
 public:
  void add(Duration sample);
  std::size_t size() const;
  Duration percentile(std::uint32_t permille) const;  // zero when there are none

 private:
  mutable std::mutex guard_;
  mutable std::vector<Duration> samples_;
};

double own_cpu_seconds();

// What all processors of this machine have done since it started, as the kernel counts it.
struct MachineTime {
  double busy_seconds = 0;
  double idle_seconds = 0;
  double stolen_seconds = 0;  // a virtual machine wanted to run and was not let
};
MachineTime machine_time();
MachineTime operator-(const MachineTime& later, const MachineTime& earlier);
double seconds_of(Duration time);
void rest(Duration time);
// The value of one sample line; 0 when it is not there.
double metric(std::string_view text, std::string_view name);

}  // namespace vortex::cli::bench
