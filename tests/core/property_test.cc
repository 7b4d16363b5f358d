// Random DAGs on random workers: order is kept, everything ends, and a restart changes nothing.

#include <rapidcheck/gtest.h>

#include "tests/core/driver.h"

namespace vortex::core {
namespace {

RC_GTEST_PROP(RandomRuns, OrderIsRespectedAndEverythingEnds, (std::uint64_t seed)) {
  Driver driver(seed, {});
  RC_ASSERT(driver.run() == "");
}

RC_GTEST_PROP(RandomRuns, AlsoWhenWorkersDie, (std::uint64_t seed)) {
  Driver driver(seed, {.kill_permille = 60});
  RC_ASSERT(driver.run() == "");
}

RC_GTEST_PROP(RandomRuns, AlsoWhenWorkersAndControllersDie, (std::uint64_t seed)) {
  Driver driver(seed, {.kill_permille = 40, .reload_permille = 40});
  RC_ASSERT(driver.run() == "");
}

RC_GTEST_PROP(RandomRuns, RestartsOfTheControllerDoNotChangeTheEnd, (std::uint64_t seed)) {
  Driver calm(seed, {.count_limits = false});
  Driver restless(seed, {.reload_permille = 150, .count_limits = false});
  RC_ASSERT(calm.run() == "");
  RC_ASSERT(restless.run() == "");
  RC_ASSERT(calm.outcome() == restless.outcome());
}

RC_GTEST_PROP(RandomRuns, SameInputsSameEffects, (std::uint64_t seed)) {
  const DriverOptions options{.kill_permille = 40, .reload_permille = 20};
  Driver once(seed, options);
  Driver again(seed, options);
  once.run();
  again.run();
  RC_ASSERT(once.history() == again.history());
}

}  // namespace
}  // namespace vortex::core
