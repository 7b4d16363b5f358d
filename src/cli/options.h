#pragma once
// Small helpers that every command uses to describe itself to the parser.
//
// Durations are written with a unit ("90s"); every command that does something shows an example.

#include <string>

#include <CLI/App.hpp>

#include "base/time.h"
#include "cli/commands.h"

namespace vortex::cli {

// Groups of the main help.
inline constexpr const char* kRunThings = "Run things";
inline constexpr const char* kLook = "Look";
inline constexpr const char* kAct = "Act";
inline constexpr const char* kOperate = "Operate";

CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& value,
                          const std::string& help);
// At the end of the help. Lines after the first are aligned under it.
void example(CLI::App& command, const std::string& lines);
// What the command does once all arguments were read.
void on_chosen(CLI::App& command, Command& chosen, Command act);

}  // namespace vortex::cli
