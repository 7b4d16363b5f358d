#include "api/sodium_ready.h"

#include <sodium.h>

#include "base/assert.h"

namespace vortex::api {

void sodium_ready() {
  static const bool done = sodium_init() >= 0;
  VX_ASSERT(done && "libsodium could not be initialised");
}

}  // namespace vortex::api
