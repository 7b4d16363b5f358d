#pragma once
// Asks before what cannot be taken back.
//
// With --yes nothing is asked. At a terminal a person answers; anywhere else it is refused, because
// nobody can answer there.

#include <optional>
#include <string_view>

#include "cli/context.h"

namespace vortex::cli {

// Unset: go on. Otherwise what the command ends with; the reason was told.
std::optional<ExitCode> confirm(const Context& context, std::string_view question);

}  // namespace vortex::cli
