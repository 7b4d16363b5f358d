#pragma once
// The engine's own row changes, made by the real core without any network and written bare: what
// the store alone could do with them. The distance to the bare loop is what the rows cost.

#include <cstdint>
#include <expected>
#include <string>

#include "base/time.h"

namespace vortex::cli::bench {

struct ReplayConfig {
  std::string path;               // of a database that does not exist yet
  std::uint64_t tasks = 100'000;  // of one run
  std::uint32_t runs = 1;         // one after the other
  std::uint32_t agents = 4;
  std::uint32_t slots = 500;
  std::string url = {};  // of an empty schema of PostgreSQL, instead of the path
};

struct ReplayResult {
  Duration writing;  // in commits only
  Duration core;     // in steps and merging only
  std::uint64_t commits = 0;
  std::uint64_t rows = 0;
};

std::expected<ReplayResult, std::string> replay(const ReplayConfig& config);

}  // namespace vortex::cli::bench
