#pragma once
// What `vortex doctor` looks at, one function each: what is there, whether it is good, and the fix.
//
// Checks only look: they change nothing, take no lock, and write no file.

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "cli/context.h"

namespace vortex::cli {

struct Check {
  enum class Mark : std::uint8_t { kOk, kWarn, kFail };
  std::string name;
  Mark mark = Mark::kOk;
  std::string found;
  std::string fix;  // empty: nothing to do
};
std::string_view to_text(Check::Mark mark);

using Checks = std::vector<Check>;

// This machine.
Check check_open_files();
Check check_processes();
Check check_cgroups();
Check check_containers(Launcher launcher);
Check check_temporary_folder();
Check check_token_file(const std::string& path);

// Where a controller with these settings would keep its database.
Checks check_database(const DatabaseSettings& settings);

// Every controller that --server names: there, well, of this version, and its clock.
Checks check_servers(const Context& context);

}  // namespace vortex::cli
