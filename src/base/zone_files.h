#pragma once
// Reads time zones from the system's files (package tzdata), as RFC 8536 describes them.
//
// A file covers the changes up to some year, and its last line states the rule for all later ones;
// both are laid out up to the year 2100, after which the last offset stays. Files of either size
// ("fat" and "slim") give the same. Not pure: reads files.

#include <optional>
#include <string_view>

#include "base/zone.h"

namespace vortex {

// The zones of this system: /usr/share/zoneinfo, or $TZDIR. Each file is read once. Any thread.
const ZoneSource& system_zones();

// The contents of a zone file. None: it is not one.
std::optional<Zone> read_zone(std::string_view name, std::string_view bytes);

}  // namespace vortex
