#pragma once
// A layer between SQLite and the files that makes chosen writes and syncs fail, as a FaultPlan
// says.
//
// For tests only. Registered with SQLite under its own name as long as the object lives, which must
// be longer than every connection that uses it. Everything else is passed through unchanged.

#include <cstdint>
#include <memory>
#include <string>

#include "store/sqlite/fault_plan.h"

namespace vortex::store::sqlite {

class FaultVfs {
 public:
  explicit FaultVfs(FaultPlan plan);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  FaultVfs(FaultVfs&&) = delete;
  FaultVfs& operator=(FaultVfs&&) = delete;

  const std::string& name() const;
  std::uint64_t calls() const;  // writes and syncs so far

 private:
  struct Layer;
  std::unique_ptr<Layer> layer_;
};

}  // namespace vortex::store::sqlite
