#pragma once
// The real `sqlite3` program on a database file, as an operator would use it.
// The text that it prints comes back; a failure of the program comes back as text too.

#include <string>

namespace vortex::store::testing {

std::string sqlite3_shell(const std::string& path, const std::string& sql);

}  // namespace vortex::store::testing
