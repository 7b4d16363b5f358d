#pragma once
// The only places where the product reads a clock. Decisions use the boot clock alone.
//
// The boot clock goes on while the machine sleeps and never jumps; the wall clock is for people and
// for the database's time at the start of a term.

#include "base/time.h"

namespace vortex {

Instant boot_clock_now();  // CLOCK_BOOTTIME
Instant wall_clock_now();  // microseconds since 1970

}  // namespace vortex
