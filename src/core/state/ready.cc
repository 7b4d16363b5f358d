#include "core/state/ready.h"

#include <algorithm>

#include "base/assert.h"

namespace vortex::core {

namespace {

bool has_all(const Labels& offered, const Labels& required) {
  return std::includes(offered.begin(), offered.end(), required.begin(), required.end());
}

enum Fit : std::uint8_t { kUnknown, kNo, kYes };

}  // namespace

QueueIx ReadyQueues::queue(const std::string& name) {
  const auto [found, added] = queue_by_name_.try_emplace(name, QueueIx{queues()});
  if (added) queues_.push_back({.name = name, .paused = false, .heads = {}, .offers = {}});
  return found->second;
}

ClassIx ReadyQueues::use_class(const Requirements& requirements,
                               const std::vector<LimitIx>& limits) {
  const auto found = class_by_requirements_.find({requirements, limits});
  if (found != class_by_requirements_.end()) {
    ++classes_[found->second.value].users;
    return found->second;
  }
  ClassIx ix{classes()};
  if (free_classes_.empty()) {
    classes_.emplace_back();
  } else {
    ix.value = free_classes_.back();
    free_classes_.pop_back();
    for (auto& profile : profiles_) {
      if (ix.value < profile.fits.size()) profile.fits[ix.value] = kUnknown;
    }
  }
  TaskClass& cls = classes_[ix.value];
  cls = TaskClass{};
  cls.requirements = requirements;
  cls.limits = limits;
  cls.queue = queue(requirements.queue);
  cls.users = 1;
  class_by_requirements_.emplace(std::pair(requirements, limits), ix);
  return ix;
}

void ReadyQueues::drop_class(ClassIx ix) {
  TaskClass& cls = classes_[ix.value];
  VX_ASSERT(cls.users > 0);
  if (--cls.users > 0) return;
  VX_ASSERT(cls.ready == 0);
  class_by_requirements_.erase({cls.requirements, cls.limits});
  free_classes_.push_back(ix.value);
}

void ReadyQueues::set_blocked(const TaskTable& tasks, ClassIx ix, bool blocked) {
  TaskClass& cls = classes_[ix.value];
  if (cls.blocked == blocked) return;
  cls.blocked = blocked;
  refresh_head(tasks, ix);
  if (!blocked && cls.ready > 0 && !cls.dirty) cls.dirty = true, dirty.push_back(ix);
}

void ReadyQueues::refresh_head(const TaskTable& tasks, ClassIx ix) {
  TaskClass& cls = classes_[ix.value];
  auto& heads = queues_[cls.queue.value].heads;
  const bool listed = cls.head.cls.valid();
  if (cls.ready == 0 || cls.blocked) {
    if (listed) heads.erase(cls.head);
    cls.head = {};
    return;
  }
  const PriorityList& first = cls.lists.front();
  const auto& queued = std::get<Queued>(tasks[first.tasks.head].phase);
  const HeadKey head{static_cast<std::int16_t>(-first.priority), queued.order, ix};
  if (listed && cls.head == head) return;
  if (listed) {
    auto node = heads.extract(cls.head);
    node.value() = head;
    heads.insert(std::move(node));
  } else {
    heads.insert(head);
  }
  cls.head = head;
}

void ReadyQueues::insert(TaskTable& tasks, ClassIx ix, std::int8_t priority, TaskIx task,
                         bool front) {
  TaskClass& cls = classes_[ix.value];
  auto at = std::find_if(cls.lists.begin(), cls.lists.end(),
                         [&](const PriorityList& list) { return list.priority <= priority; });
  if (at == cls.lists.end() || at->priority != priority) {
    at = cls.lists.insert(at, PriorityList{priority, {}});
  }
  front ? tasks.push_front(at->tasks, task) : tasks.push_back(at->tasks, task);
  ++cls.ready;
  if (!cls.dirty && !cls.blocked) cls.dirty = true, dirty.push_back(ix);
  if (front || at->tasks.size == 1) refresh_head(tasks, ix);
}

void ReadyQueues::push(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task) {
  std::get<Queued>(tasks[task].phase).order = next_order();
  insert(tasks, cls, priority, task, false);
}

void ReadyQueues::push_front(TaskTable& tasks, ClassIx cls, std::int8_t priority, TaskIx task) {
  std::get<Queued>(tasks[task].phase).order = 0;
  insert(tasks, cls, priority, task, true);
}

void ReadyQueues::remove(TaskTable& tasks, ClassIx ix, std::int8_t priority, TaskIx task) {
  TaskClass& cls = classes_[ix.value];
  const auto list = std::find_if(cls.lists.begin(), cls.lists.end(),
                                 [&](const PriorityList& l) { return l.priority == priority; });
  VX_ASSERT(list != cls.lists.end());
  const bool was_head = list == cls.lists.begin() && list->tasks.head == task;
  tasks.unlink(list->tasks, task);
  if (list->tasks.empty()) cls.lists.erase(list);
  --cls.ready;
  if (was_head) refresh_head(tasks, ix);
}

ProfileIx ReadyQueues::profile(const WorkerInfo& info) {
  Abilities abilities{info.queues, info.labels, info.runtimes, info.users};
  const auto known = profile_by_abilities_.find(abilities);
  if (known != profile_by_abilities_.end()) return known->second;
  WorkerProfile made;
  for (const auto& name : info.queues) made.queues.push_back(queue(name));
  made.abilities = abilities;
  profiles_.push_back(std::move(made));
  const ProfileIx ix{profiles() - 1};
  profile_by_abilities_.emplace(std::move(abilities), ix);
  return ix;
}

bool ReadyQueues::fits(ProfileIx profile_ix, ClassIx ix) {
  WorkerProfile& who = profiles_[profile_ix.value];
  if (ix.value >= who.fits.size()) who.fits.resize(classes(), kUnknown);
  std::uint8_t& known = who.fits[ix.value];
  if (known == kUnknown) {
    const TaskClass& cls = classes_[ix.value];
    const Requirements& need = cls.requirements;
    const Abilities& able = who.abilities;
    const bool in_queue =
        std::find(who.queues.begin(), who.queues.end(), cls.queue) != who.queues.end();
    const bool runs = need.runtime.empty() ||
                      std::binary_search(able.runtimes.begin(), able.runtimes.end(), need.runtime);
    const bool allows =
        need.user.empty() || std::binary_search(able.users.begin(), able.users.end(), need.user);
    known = in_queue && runs && allows && has_all(able.labels, need.labels) ? kYes : kNo;
  }
  return known == kYes;
}

void ReadyQueues::add_offer(Worker& worker, WorkerIx ix) {
  remove_offer(worker, ix);
  // By its true slots: what a worker takes ahead comes after the free slots of all others.
  const auto load = static_cast<std::uint32_t>(1000ULL * worker.held.size / worker.info->slots);
  worker.offer_key = OfferKey{load, worker.last_grant};
  for (const QueueIx q : profiles_[worker.profile.value].queues) {
    queues_[q.value].offers.insert({*worker.offer_key, ix});
  }
}

void ReadyQueues::remove_offer(Worker& worker, WorkerIx ix) {
  if (!worker.offer_key) return;
  for (const QueueIx q : profiles_[worker.profile.value].queues) {
    queues_[q.value].offers.erase({*worker.offer_key, ix});
  }
  worker.offer_key.reset();
}

}  // namespace vortex::core
