#pragma once
// A point in time as people and programs read it: RFC 3339 in UTC with microseconds.
// Safe from any thread.

#include <string>

#include "base/time.h"

namespace vortex::codec {

// "2026-02-22T22:59:55.123456Z" with its quotes. kNever, and what lies outside the years 0 to
// 9999 and so has no such text, is written as null.
void append_time(std::string& out, Instant at);

}  // namespace vortex::codec
