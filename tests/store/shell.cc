#include "tests/store/shell.h"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

namespace vortex::store::testing {

std::string sqlite3_shell(const std::string& path, const std::string& sql) {
  const std::string script = path + ".script";
  std::ofstream(script) << sql;
  std::FILE* pipe = ::popen(
      fmt::format("sqlite3 -batch -cmd '.timeout 5000' '{}' < '{}' 2>&1", path, script).c_str(),
      "r");
  if (pipe == nullptr) return "the sqlite3 program cannot be started";
  std::string said;
  char buffer[4'096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    said.append(buffer, got);
  }
  ::pclose(pipe);
  return said;
}

}  // namespace vortex::store::testing
