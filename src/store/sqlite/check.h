#pragma once
// Looks whether a database file is sound: its pages, and what our rows promise each other.
// Only reads, so it may run beside a controller; a large file takes a while.

#include <cstdint>
#include <string>
#include <vector>

#include "store/error.h"

namespace vortex::store {

struct CheckReport {
  std::uint32_t version = 0;        // layout of the file
  std::uint32_t known_version = 0;  // newest layout that this version makes
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
  std::vector<std::string> problems;  // for people; empty: sound
};

// kNewer, kDamaged, kUnavailable: it could not even be looked at.
Result<CheckReport> check_sqlite(const std::string& path);

}  // namespace vortex::store
