#pragma once
// The log of one commit, read back from the lines that are stored.
//
// The checkers then judge what a reader of the log would see, and not what the
// controller meant to write.

#include <expected>
#include <string>
#include <vector>

#include "model/commit.h"
#include "model/event.h"

namespace vortex::chaos {

// The error quotes the line that cannot be read.
std::expected<std::vector<Event>, std::string> read_events(const EventBlock& block);

}  // namespace vortex::chaos
