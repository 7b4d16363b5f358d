#pragma once
// The groups of one slot and the limits its tasks have there: memory, processor, processes.
//
// The runner enters them once, when it starts; its tasks are born inside. Limits are written only
// when they differ from those of the task before. What cannot be limited here runs without a limit
// and is said so. On the executor's thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/dag.h"
#include "worker/cgroup.h"

namespace vortex::worker {

struct SlotGroupConfig {
  GroupName name;
  std::uint32_t slot = 0;
  std::uint32_t processes_max = 0;  // 0: no limit
};

class SlotGroup {
 public:
  SlotGroup() = default;  // no groups at all
  SlotGroup(const CgroupRoots& roots, const SlotGroupConfig& config);

  // The files a process writes itself into to enter all of them.
  std::vector<Fd> entrances() const;

  // What could not be limited, for people; empty: all is as asked.
  std::string limit(const Resources& resources);
  // Before a kill: the runner is in here too and must not wait for its share.
  void lift_cpu();
  // How many processes were killed in here because memory ran out.
  std::uint64_t out_of_memory_count() const;

  // Kills what is inside, the runner too. False: there is no group to go by.
  bool kill_all() const;
  // Precondition: the runner is gone.
  void remove();

 private:
  enum class Version { kNone, kOne, kTwo };
  struct Place {
    Version version = Version::kNone;
    std::string folder;
  };
  void add(const std::string& folder);
  Place place_of(const std::string& unified_file, const std::string& v1_folder) const;
  bool limit_memory(std::int64_t bytes);
  bool limit_cpu(std::int64_t milli);

  std::vector<std::string> folders_;
  std::string unified_;
  Place memory_;
  Place cpu_;
  std::int64_t memory_bytes_ = 0;  // as written last
  std::int64_t cpu_milli_ = 0;
};

}  // namespace vortex::worker
