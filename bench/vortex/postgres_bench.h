#pragma once
// What `vortex bench` needs of PostgreSQL: schemas of its own in the database that the settings
// name, gone when the bench ends, and the yardstick: the fewest row writes that a task's life
// needs, in a plain loop over libpq with a statement for each set of rows.

#include <cstdint>
#include <string>

#include "bench/vortex/bare_loop.h"
#include "store/error.h"

namespace vortex::store {

class BenchSchema {
 public:
  // `name` follows the word vortex_bench_ and our process.
  BenchSchema(std::string url, std::string_view name);
  ~BenchSchema();
  BenchSchema(const BenchSchema&) = delete;
  BenchSchema& operator=(const BenchSchema&) = delete;
  BenchSchema(BenchSchema&&) = delete;
  BenchSchema& operator=(BenchSchema&&) = delete;

  Result<void> make();
  std::string url() const;  // names the schema, too

 private:
  std::string base_;
  std::string name_;
};

Result<BareResult> run_bare_postgres(const std::string& url, std::uint64_t tasks,
                                     std::uint32_t set_size);

}  // namespace vortex::store
