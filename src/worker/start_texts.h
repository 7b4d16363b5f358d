#pragma once
// What a task's first process is given, as its runner wants it: argv, environment and working
// directory in one block. Pure; refuses what no program can be given.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace vortex::worker {

struct StartTexts {
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::string payload;  // each text closed by a zero byte; the working directory is the last
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct StartParts {
  const std::vector<std::string>& argv;
  const std::string& workdir;
  const std::vector<std::string>& inherited;  // NAME=value
  const Variables& env;                       // on top of it; later ones win
  const Variables& ours;                      // on top of all
};
// The error is a sentence for people. `out` keeps its room from one task to the next.
std::expected<void, std::string> write_texts(const StartParts& parts, StartTexts& out);

}  // namespace vortex::worker
