#pragma once
// The commands that exist. Each adds itself, its options and its help to the tree.
//
// `chosen` is set by the parser to what shall be done; nothing runs while arguments are read.

#include <CLI/App.hpp>

#include "cli/context.h"

namespace vortex::cli {

void add_controller(CLI::App& app, Command& chosen);
void add_config(CLI::App& app, Command& chosen);
void add_db(CLI::App& app, Command& chosen);
void add_health(CLI::App& app, Command& chosen);
void add_tokens(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_version(CLI::App& app, Command& chosen);

}  // namespace vortex::cli
