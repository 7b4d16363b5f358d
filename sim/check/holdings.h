#pragma once
// Who holds what: the load of every life of a worker, and which machines have workers present.
//
// Kept from the rows alone, one change at a time, and with it the list of what the newest commit
// touched, so that nobody has to look at those it did not.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/rows.h"

namespace vortex::sim {

struct Holder {  // one life of one worker
  WorkerId worker;
  Incarnation incarnation;
  friend auto operator<=>(const Holder&, const Holder&) = default;
};

struct Load {
  std::uint32_t held = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::map<std::string, std::int64_t> named;
};

class Holdings {
 public:
  void begin_commit();
  void task_changed(const TaskRow* before, const TaskRow& after, const Resources& demand);
  void worker_changed(const WorkerRow* before, const WorkerRow& after);

  const Load& load_of(const Holder& holder) const;
  std::uint32_t present_on(const MachineId& machine) const;
  std::uint32_t present() const { return present_; }

  // By the newest commit; one may be named more than once.
  const std::vector<Holder>& touched_holders() const { return touched_holders_; }
  const std::vector<MachineId>& touched_machines() const { return touched_machines_; }

 private:
  void add(const TaskRow& row, const Resources& demand, std::int64_t sign);
  void count_present(const WorkerRow& row, std::uint32_t one);

  std::map<Holder, Load> loads_;
  std::map<MachineId, std::uint32_t> present_on_;
  std::uint32_t present_ = 0;
  std::vector<Holder> touched_holders_;
  std::vector<MachineId> touched_machines_;
};

}  // namespace vortex::sim
