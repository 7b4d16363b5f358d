#pragma once
// Where ready tasks wait and offering workers stand, and which of them fit together.
//
// Tasks with equal requirements form a class; workers with equal abilities form a profile; whether
// the two fit is computed once per pair. Within a class tasks wait by priority, then age. Every
// operation is O(log n); nothing here knows about runs, retries or leases.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/state/index.h"
#include "core/state/task.h"
#include "core/state/worker.h"
#include "model/dag.h"

namespace vortex::core {

// Order among classes: higher priority first, then the older head, then the class itself.
struct HeadKey {
  std::int16_t neg_priority = 0;
  std::uint64_t order = 0;
  ClassIx cls;
  friend constexpr auto operator<=>(const HeadKey&, const HeadKey&) = default;
};

struct PriorityList {
  std::int8_t priority = 0;
  TaskList tasks;
};

struct TaskClass {
  Requirements requirements;
  std::vector<LimitIx> limits;  // that its tasks hold while they are on workers
  bool blocked = false;         // one of them is full: nobody is offered its tasks
  QueueIx queue;
  std::uint32_t users = 0;          // live nodes of this class; none: the slot is reused
  std::vector<PriorityList> lists;  // highest priority first; empty ones are dropped
  std::uint32_t ready = 0;
  bool dirty = false;
  HeadKey head;  // as it stands in the queue's order, when ready > 0
};

// Least loaded first; equal loads take turns by their newest grant.
using OfferKey = std::pair<std::uint32_t, std::uint64_t>;
struct Offer {
  OfferKey key;
  WorkerIx worker;
  friend constexpr auto operator<=>(const Offer&, const Offer&) = default;
};

struct Queue {
  std::string name;
  bool paused = false;
  std::set<HeadKey> heads;  // of classes with ready tasks
  std::set<Offer> offers;   // of workers that listen to it
};

struct Abilities {
  std::vector<std::string> queues;
  Labels labels;
  std::vector<std::string> runtimes;
  std::vector<std::string> users;
  friend auto operator<=>(const Abilities&, const Abilities&) = default;
};

struct WorkerProfile {
  Abilities abilities;
  std::vector<QueueIx> queues;
  std::vector<std::uint8_t> fits;  // by class: 0 unknown, 1 no, 2 yes
};

class ReadyQueues {
 public:
  QueueIx queue(const std::string& name);
  ClassIx use_class(const Requirements& requirements, const std::vector<LimitIx>& limits = {});
  void drop_class(ClassIx cls);
  void set_blocked(const TaskTable& tasks, ClassIx cls, bool blocked);

  void push(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task);
  // In front of all of its priority: it has waited before.
  void push_front(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task);
  void remove(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task);

  ProfileIx profile(const WorkerInfo& info);
  bool fits(ProfileIx profile, ClassIx cls);
  void add_offer(Worker& worker, WorkerIx ix);
  void remove_offer(Worker& worker, WorkerIx ix);

  TaskClass& operator[](ClassIx ix) { return classes_[ix.value]; }
  const TaskClass& operator[](ClassIx ix) const { return classes_[ix.value]; }
  Queue& operator[](QueueIx ix) { return queues_[ix.value]; }
  const Queue& operator[](QueueIx ix) const { return queues_[ix.value]; }
  WorkerProfile& operator[](ProfileIx ix) { return profiles_[ix.value]; }
  const WorkerProfile& operator[](ProfileIx ix) const { return profiles_[ix.value]; }
  std::uint32_t classes() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::uint32_t queues() const { return static_cast<std::uint32_t>(queues_.size()); }
  std::uint32_t profiles() const { return static_cast<std::uint32_t>(profiles_.size()); }
  std::uint64_t next_order() { return next_order_++; }

  std::vector<ClassIx> dirty;  // got ready tasks in this step

 private:
  void insert(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task, bool front);
  void refresh_head(const TaskTable& tasks, ClassIx cls);

  std::vector<TaskClass> classes_;
  std::vector<std::uint32_t> free_classes_;
  std::map<std::pair<Requirements, std::vector<LimitIx>>, ClassIx> class_by_requirements_;
  std::vector<Queue> queues_;
  std::map<std::string, QueueIx> queue_by_name_;
  std::vector<WorkerProfile> profiles_;
  std::map<Abilities, ProfileIx> profile_by_abilities_;
  std::uint64_t next_order_ = 1;
};

}  // namespace vortex::core
