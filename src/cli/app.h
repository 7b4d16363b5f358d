#pragma once
// The whole tree of commands with its global options, as the parser walks it.
//
// Made anew for every use; `context` and `chosen` must outlive it. Building it runs nothing.

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/arguments.h"
#include "cli/context.h"

namespace vortex::cli {

// `more`: commands that are no part of src/cli, listed with those that operate.
void build_app(CLI::App& app, Context& context, Command& chosen,
               const std::vector<AddCommand>& more = {});

// Settings come as --section.key; they are taken out before the other options are read.
std::vector<std::string> take_settings(std::vector<std::string>& arguments);

// What is wrong with the arguments, with the nearest name that exists.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments);

}  // namespace vortex::cli
