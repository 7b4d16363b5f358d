#pragma once
// What a controller has promised during a test, written down by those who were promised it.
//
// Submitters note acknowledged runs, agents note what they were given and what was acknowledged as
// durable. At the end the promises are compared with the database. Safe from any thread.

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "model/sync.h"
#include "store/reader.h"

namespace vortex::chaos {

struct PromisedRun {
  std::string id;
  std::uint64_t tasks = 0;
  std::string key;
};

class Ledger {
 public:
  void promised(PromisedRun run);
  void given(const Attempt& attempt);
  void acknowledged(const Attempt& attempt);

  std::vector<PromisedRun> runs() const;
  std::uint64_t results() const;

  // Everything in the database that breaks a promise; empty: all were kept.
  std::vector<std::string> broken(store::Reader& reader) const;

 private:
  void check_run(store::Reader& reader, const PromisedRun& run,
                 std::vector<std::string>& broken) const;
  void check_results(store::Reader& reader, std::vector<std::string>& broken) const;

  mutable std::mutex guard_;
  std::vector<PromisedRun> runs_;
  std::map<Attempt, std::uint32_t> given_;
  std::set<Attempt> acknowledged_;
};

}  // namespace vortex::chaos
