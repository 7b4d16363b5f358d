#pragma once
// The gauges of the metrics: what is true at the moment somebody looks, as Prometheus text.
// Pure: everything it says is in its argument.

#include <string>

#include "controller/metrics.h"

namespace vortex::controller {

std::string gauges_text(const Gauges& gauges);

}  // namespace vortex::controller
