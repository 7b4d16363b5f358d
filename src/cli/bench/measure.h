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
double seconds_of(Duration time);
// The value of one sample line; 0 when it is not there.
double metric(std::string_view text, std::string_view name);

}  // namespace vortex::cli::bench
