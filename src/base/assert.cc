#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace vortex {

void assertion_failed(const char* claim, const char* file, int line) {
  std::fprintf(stderr, "vortex: assertion failed: %s (%s:%d)\n", claim, file, line);
  std::abort();
}

}  // namespace vortex
