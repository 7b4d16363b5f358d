#include "sim/durable.h"

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/load.h"
#include "model/records.h"

namespace vortex::core {

namespace {

// One broken rule tends to show in many places; the first few tell it all.
constexpr std::size_t kToldMax = 20;

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::uint64_t>(value));
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    return "'" + std::string(value) + "'";
  } else if constexpr (requires { value.us; }) {
    return std::to_string(value.us) + " us";
  } else if constexpr (requires { value.text; }) {
    return "'" + value.text + "'";
  } else if constexpr (requires { value.number; }) {
    return std::to_string(value.number) + " of " + std::to_string(value.bytes) + " bytes";
  } else if constexpr (requires { value.begin(); }) {
    std::string all;
    for (const auto& item : value) all += (all.empty() ? "" : " ") + text_of(item);
    return "[" + all + "]";
  } else if constexpr (requires { value.first; }) {
    return text_of(value.first) + "=" + text_of(value.second);
  } else if constexpr (requires { value.value; }) {
    return std::to_string(value.value);
  } else {
    return "...";
  }
}

// Whose field it is, put into words only when it differs.
struct Subject {
  std::string_view kind;
  std::string_view name = {};
  const Run* run = nullptr;
  std::uint32_t index = 0;  // of a task or node in the run
};

std::string text_of(const Subject& subject) {
  std::string text(subject.kind);
  if (!subject.name.empty()) text += " '" + std::string(subject.name) + "'";
  if (subject.run == nullptr) return text;
  const Run& run = *subject.run;
  if (subject.kind == "run") return text + " " + to_text(run.id);
  if (subject.kind == "task") {
    const std::uint32_t node = run.plan->node_of_task(subject.index);
    return text + " " + to_text(TaskId{run.id, subject.index, run.plan->nodes[node].level});
  }
  return text + " '" + run.plan->node_spec(subject.index).name + "' of run " + to_text(run.id);
}

class Comparison {
 public:
  Comparison(const State& memory, const State& reloaded) : a_(memory), b_(reloaded) {}

  std::vector<std::string> run() {
    compare_own();
    compare_tables();
    compare_workers();
    compare_runs();
    return std::move(told_);
  }

 private:
  void tell(std::string_view field, const std::string& memory, const std::string& reloaded) {
    if (told_.size() >= kToldMax) return;
    told_.push_back(text_of(about_) + ": " + std::string(field) + " is " + memory +
                    " in memory and " + reloaded + " after a reload");
  }

  template <class T>
  void same(std::string_view field, const T& memory, const T& reloaded) {
    if (!(memory == reloaded)) tell(field, text_of(memory), text_of(reloaded));
  }

  // Deadlines are kept in judged time and written in true time: what the controller was away since
  // then has moved the one in memory, and a reload forgets that.
  void same(std::string_view field, Judged memory, Judged reloaded) {
    if (memory == reloaded || (memory == kJudgedNever) != (reloaded == kJudgedNever)) {
      if (memory != reloaded) tell(field, text_of(memory), text_of(reloaded));
      return;
    }
    const Instant ours = a_.clock.term_time(memory);
    const Instant theirs = b_.clock.term_time(reloaded);
    const Duration away = a_.clock.term_time({}) - Instant{};
    if (ours < theirs || ours - theirs > away) tell(field, text_of(ours), text_of(theirs));
  }

  // Every stored field of a row that memory holds as it is, by its table.
  template <class Row>
  void same_record(const Row& memory, const Row& reloaded,
                   std::initializer_list<std::string_view> left_out = {}) {
    record::each_field<Row>([&]<std::size_t I>() {
      constexpr auto kField = record::kField<Row, I>;
      if constexpr (!record::kIsBeside<Row, I>) {
        if (std::ranges::find(left_out, kField.name) != left_out.end()) return;
        same(kField.name, kField.get(memory), kField.get(reloaded));
      }
    });
  }

  // The two maps have the same keys; what both know is handed on.
  template <class Map, class Name, class Compare>
  void same_keys(std::string_view kind, const Map& memory, const Map& reloaded, const Name& name,
                 const Compare& compare) {
    for (const auto& [key, value] : memory) {
      const std::string& named = name(key);
      about_ = {kind, named};
      const auto other = reloaded.find(key);
      if (other == reloaded.end()) {
        tell("it", "there", "not there");
      } else {
        compare(value, other->second);
      }
    }
    for (const auto& [key, value] : reloaded) {
      if (memory.contains(key)) continue;
      const std::string& named = name(key);
      about_ = {kind, named};
      tell("it", "not there", "there");
    }
  }

  // Left out: policy and clock (given to the load), rng, ready lists, timers and everything else
  // that is only the order or the pace of work; what is known of silence (brake, store_writable,
  // silence_floor, weak_losses: a new term grants everybody a full lease); passes; planted.
  void compare_own() {
    const auto& [policy, term, clock, rng, tasks, runs, workers, ready, timers, promises, approvals,
                 machines, partitions, free_partitions, leases, keys, journals, schedules, groups,
                 limits, dead_letters, counters, taken, taken_by, next_grant, bulk, leftover,
                 offering, retired_look, brake, next_trickle, store_writable, silence_floor,
                 weak_losses, health_passes, reconcile_passes, pass_marked, pass_machines,
                 planted] = a_;
    about_ = {"controller"};
    same("ends of waits", promises.size(), b_.promises.size());
    same("open approvals are the same", true, approvals == b_.approvals);
    same("term", term, b_.term);
    same_record(counters, b_.counters);
    same("tasks in memory", tasks.live() - leftover_tasks(a_), b_.tasks.live());
    same("runs in memory", runs.size(), b_.runs.size());
    same("what live runs take up", taken, b_.taken);
    same("what live runs of each token take up", taken_by, b_.taken_by);
  }

  static std::size_t leftover_tasks(const State& state) {
    const auto there = [](TaskIx ix) { return ix.valid(); };
    return static_cast<std::size_t>(std::ranges::count_if(state.leftover, there));
  }

  void compare_tables() {
    const auto text = [](const auto& key) -> std::string {
      if constexpr (requires { key.text; }) {
        return key.text;
      } else {
        return key;
      }
    };
    const auto task = [](TaskId key) { return to_text(key); };
    const auto partition = [](const PartitionKey& key) {
      return key.topic + "/" + std::to_string(key.partition);
    };
    same_keys("machine", a_.machines, b_.machines, text,
              [this](const Machine& a, const Machine& b) { compare(a, b); });
    same_keys("lease", a_.leases, b_.leases, partition,
              [this](const auto& a, const auto& b) { compare(a.second, b.second); });
    same_keys("key", a_.keys, b_.keys, text,
              [this](const KnownKey& a, const KnownKey& b) { compare(a, b); });
    same_keys("journal", a_.journals, b_.journals, text,
              [this](const JournalRow& a, const JournalRow& b) { compare(a, b); });
    same_keys("dead letter", a_.dead_letters, b_.dead_letters, task,
              [this](const OpenDeadLetter& a, const OpenDeadLetter& b) { compare(a, b); });
    same_keys("schedule", a_.schedules.by_name(), b_.schedules.by_name(), text,
              [this](ScheduleIx a, ScheduleIx b) { compare(a_.schedules[a], b_.schedules[b]); });
    same_keys("runs of schedule", a_.schedules.all_live(), b_.schedules.all_live(), text,
              [this](const std::set<RunId>& a, const std::set<RunId>& b) {
                same("which are live", true, a == b);
              });
    same_keys("limit", a_.limits.by_name(), b_.limits.by_name(), text,
              [this](LimitIx a, LimitIx b) { compare(a_.limits[a], b_.limits[b]); });
    const auto group = [](const GroupName& name) { return name.dag + "/" + name.key; };
    same_keys("group", members(a_), members(b_), group,
              [this](const RunGroup& a, const RunGroup& b) {
                same("runs that hold it", true, a.holding == b.holding);
                same("runs that wait", true, a.waiting == b.waiting);
              });
    same_keys("queue", paused_queues(a_), paused_queues(b_), text, [](bool, bool) {});
  }

  // Without those that nobody is in any more.
  static std::map<GroupName, RunGroup> members(const State& state) {
    std::map<GroupName, RunGroup> groups = state.groups.all();
    std::erase_if(groups, [](const auto& named) {
      return named.second.holding.empty() && named.second.waiting.empty();
    });
    return groups;
  }

  // A queue that nobody has paused is the same as one that is not known.
  static std::map<std::string, bool> paused_queues(const State& state) {
    std::map<std::string, bool> paused;
    for (std::uint32_t q = 0; q < state.ready.queues(); ++q) {
      const Queue& queue = state.ready[QueueIx{q}];
      if (queue.paused) paused[queue.name] = true;
    }
    return paused;
  }

  void compare(const Machine& a, const Machine& b) {
    const auto& [present, online, since, dirty] = a;
    same("present", present, b.present);
    same("online", online, b.online);
    same("since", since, b.since);
  }
  void compare(const PartitionLease& a, const PartitionLease& b) {
    const auto& [holder, epoch, expires_at] = a;
    same("holder", holder, b.holder);
    same("epoch", epoch, b.epoch);
    same("expires_at", expires_at, b.expires_at);
  }
  void compare(const KnownKey& a, const KnownKey& b) {
    const auto& [run, digest] = a;
    same("run", run, b.run);
    same("digest", digest, b.digest);
  }
  void compare(const JournalRow& a, const JournalRow& b) {
    same_record(a, b);
    same("forgotten", a.forgotten, b.forgotten);
  }
  void compare(const Schedule& a, const Schedule& b) {
    same_record<ScheduleRow>(a, b);
    same("plan", a.plan->digest, b.plan->digest);
    same("removed", a.removed, b.removed);
    same("zone", a.zone ? a.zone->name : "", b.zone ? b.zone->name : "");
  }
  void compare(const Limit& a, const Limit& b) {
    same_record<LimitRow>(a, b);
    same("is_set", a.is_set, b.is_set);
    same("held", a.held, b.held);
    same("number of classes", a.classes.size(), b.classes.size());
  }
  void compare(const OpenDeadLetter& a, const OpenDeadLetter& b) {
    const auto& [epoch, reason, at, message] = a;
    same("epoch", epoch, b.epoch);
    same("reason", reason, b.reason);
    same("at", at, b.at);
    same("message", message, b.message);
  }

  static std::map<WorkerId, const Worker*> known_workers(const State& state) {
    std::map<WorkerId, const Worker*> known;
    for (std::uint32_t i = 0; i < state.workers.size(); ++i) {
      if (state.workers.is_known({i})) known[state.workers[{i}].info->id] = &state.workers[{i}];
    }
    return known;
  }

  void compare_workers() {
    same_keys(
        "worker", known_workers(a_), known_workers(b_),
        [](const WorkerId& id) -> const std::string& { return id.text; },
        [this](const Worker* a, const Worker* b) { compare(*a, *b); });
  }

  // Left out: how far it is trusted and heard (trust, suspect, heard_at, lost_pending: a full lease
  // anew); its session with the term that ended (last_seq to has_news, slots, offers); abnormal, a
  // row of bad luck that a new term forgives.
  void compare(const Worker& a, const Worker& b) {
    const auto& [trust, registered_once, dirty, retired, heartbeat_written, heard_at, lost_pending,
                 last_seq, last_reply, drain_sent_in, parked, answering, stale_to_tell, has_news,
                 slots, held, planted, used, profile, last_grant, offer_key, to_serve, abnormal] =
        static_cast<const WorkerMemory&>(a);
    same_record<WorkerRow>(a, b, {"suspect", "last_heartbeat"});
    same("registered_once", registered_once, b.registered_once);
    // One row per worker and half an interval: the newest heartbeats are only in memory.
    same("heartbeat_written", heartbeat_written, b.last_heartbeat);
    same("held tasks", held.size, b.held.size);
    same("cpu in use", used.cpu_milli, b.used.cpu_milli);
    same("memory in use", used.memory_bytes, b.used.memory_bytes);
    same("named resources in use", used.named, b.used.named);
  }

  void compare_runs() {
    for (std::size_t slot = 0; slot < a_.runs.slots(); ++slot) {
      const Run* run = a_.runs.at_slot(slot);
      if (run == nullptr) continue;
      const RunIx other = b_.runs.find(run->id);
      about_ = {"run", {}, run};
      if (!other.valid()) {
        tell("it", "there", "not there");
        continue;
      }
      compare(*run, b_.runs[other]);
      compare_nodes(*run, b_.runs[other]);
      compare_tasks(*run, b_.runs[other]);
    }
    for (std::size_t slot = 0; slot < b_.runs.slots(); ++slot) {
      const Run* run = b_.runs.at_slot(slot);
      about_ = {"run", {}, run};
      if (run != nullptr && !a_.runs.find(run->id).valid()) tell("it", "not there", "there");
    }
  }

  // Left out: changes (counts for checks in parts), the lists of what is parked (order) or gated
  // (follows from the phases), and how far a sweep has come: a reload sweeps again where there is
  // something to sweep.
  void compare(const Run& a, const Run& b) {
    const auto& [id, plan, request, state, ending, finally_ending, paused, waits_for_turn, reason,
                 paused_above, priority, dirty, created_at, timeout_at, starts_at, nodes, tasks,
                 level_open, levels_passed, levels_known, nodes_open, ordinary_open, gated,
                 stopped_maps, held, any_failed, finally_failed, changes, made, reads, lists,
                 passed, children, reads_bytes, parked, signals, expanding, sweep_next, sweeping,
                 in_bulk] = a;
    same("plan", plan->digest, b.plan->digest);
    compare(*request, *b.request);
    same("state", state, b.state);
    same("ending", ending, b.ending);
    same("finally_ending", finally_ending, b.finally_ending);
    same("paused", paused, b.paused);
    same("waits_for_turn", waits_for_turn, b.waits_for_turn);
    same("reason", reason, b.reason);
    same("paused above", paused_above, b.paused_above);
    same("priority", priority, b.priority);
    same("children", children, b.children);
    same("what is passed on is the same", true, passed == b.passed);
    same("created_at", created_at, b.created_at);
    same("timeout_at", timeout_at, b.timeout_at);
    same("starts_at", starts_at, b.starts_at);
    same("level_open", level_open, b.level_open);
    same("levels_passed", levels_passed, b.levels_passed);
    same("levels_known", levels_known, b.levels_known);
    same("nodes_open", nodes_open, b.nodes_open);
    same("nodes open before finally", ordinary_open, b.ordinary_open);
    same("number of signals", signals.size(), b.signals.size());
    same("signals are the same", true, signals == b.signals);
    same("stopped_maps", std::set(stopped_maps.begin(), stopped_maps.end()),
         std::set(b.stopped_maps.begin(), b.stopped_maps.end()));
    same("held", held, b.held);
    if (ending == RunEnding::kNone) same("any_failed", any_failed, b.any_failed);
    if (finally_ending == RunEnding::kNone)
      same("finally_failed", finally_failed, b.finally_failed);
    same("tasks made by state", made, b.made);
    same("what conditions read is the same", true, reads == b.reads);
    same("what maps go over is the same", true, same_lists(lists, b.lists));
    same("maps made at run time", late_counts(*plan), late_counts(*b.plan));
    same("items of maps made at run time", true, same_items(*plan, *b.plan));
    same("bytes of what conditions read", reads_bytes, b.reads_bytes);
    same("expanding", to_expand(a), to_expand(b));
  }

  static bool same_texts(const MapItems& a, const MapItems& b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  }

  static bool same_lists(const std::vector<core::ItemList>& a,
                         const std::vector<core::ItemList>& b) {
    return std::ranges::equal(a, b, [](const core::ItemList& x, const core::ItemList& y) {
      return x.wrong == y.wrong && same_texts(x.items, y.items);
    });
  }

  static bool same_items(const DagPlan& a, const DagPlan& b) {
    return std::ranges::equal(a.late, b.late, [](const LaidOut& x, const LaidOut& y) {
      return x.failed == y.failed && same_texts(x.items, y.items);
    });
  }

  static RunEnding ending_of(const Run& run, std::uint32_t node) {
    return run.plan->node_spec(node).finally ? run.finally_ending : run.ending;
  }

  // Nodes that tasks are still to be made for.
  static std::set<std::uint32_t> to_expand(const Run& run) {
    std::set<std::uint32_t> nodes(run.expanding.begin(), run.expanding.end());
    std::erase_if(nodes, [&](std::uint32_t node) {
      return ending_of(run, node) != RunEnding::kNone || run.nodes[node].stopped ||
             run.nodes[node].created == run.plan->tasks_of(node);
    });
    return nodes;
  }

  void compare(const RunRequest& a, const RunRequest& b) {
    const auto& [labels, params, idempotency_key, digest, submitted_by, schedule, slot, slot_end,
                 group, parent, parent_index, parent_epoch, parent_task, rerun_of] = a;
    same("labels", labels, b.labels);
    same("params", params, b.params);
    same("idempotency_key", idempotency_key, b.idempotency_key);
    same("digest of the request", digest, b.digest);
    same("submitted_by", submitted_by, b.submitted_by);
    same("schedule", schedule, b.schedule);
    same("slot", slot, b.slot);
    same("slot_end", slot_end, b.slot_end);
    same("group", group, b.group);
    same("parent", parent, b.parent);
    same("index of the parent", parent_index, b.parent_index);
    same("epoch of the parent", parent_epoch, b.parent_epoch);
    same("task of the parent", parent_task, b.parent_task);
    same("rerun_of", rerun_of, b.rerun_of);
  }

  // What waits for its level is judged again when that opens: it might as well wait for its needs.
  static NodePhase begun(NodePhase phase) {
    return phase == NodePhase::kGated ? NodePhase::kPending : phase;
  }

  // Left out: cls and parked (positions); in_play, which a sweep or a limit may not have filled
  // yet. In a run that is cancelled or timed out nothing starts any more, and its end follows from
  // that: how a node that was skipped before is called then (skipped or cancelled) decides nothing.
  // A single task that is skipped needs no stop: it is made from the start.
  void compare_nodes(const Run& memory, const Run& reloaded) {
    for (std::uint32_t n = 0; n < memory.nodes.size() && n < reloaded.nodes.size(); ++n) {
      const auto& [phase, outcome, stopped, cls, created, finals, failed, cancelled, skipped,
                   in_play, parked, needs_done, needs_ok, needs_failed, needs_skipped] =
          memory.nodes[n];
      const NodeRun& b = reloaded.nodes[n];
      about_ = {"node", {}, &memory, n};
      const bool goes_on = ending_of(memory, n) == RunEnding::kNone;
      const bool maps = memory.plan->node_spec(n).map.has_value();
      same("phase", begun(phase), begun(b.phase));
      if (phase == NodePhase::kDone && goes_on) same("outcome", outcome, b.outcome);
      if (maps && goes_on) same("stopped", stopped, b.stopped);
      same("created", created, b.created);
      same("finals", finals, b.finals);
      same("failed", failed, b.failed);
      same("cancelled", cancelled, b.cancelled);
      same("skipped", skipped, b.skipped);
      same("needs_done", needs_done, b.needs_done);
      if (!goes_on) continue;
      same("needs_ok", needs_ok, b.needs_ok);
      same("needs_failed", needs_failed, b.needs_failed);
      same("needs_skipped", needs_skipped, b.needs_skipped);
    }
  }

  void compare_tasks(const Run& memory, const Run& reloaded) {
    for (std::uint32_t t = 0; t < memory.tasks.size() && t < reloaded.tasks.size(); ++t) {
      about_ = {"task", {}, &memory, t};
      const TaskIx ours = memory.tasks[t];
      const TaskIx theirs = reloaded.tasks[t];
      same("made", ours.valid(), theirs.valid());
      if (ours.valid() && theirs.valid()) compare(a_.tasks[ours], b_.tasks[theirs]);
    }
  }

  void compare(const Task& a, const Task& b) {
    const auto& [run, node, index, links, epoch, counters, dirty, created_at, phase, notes] = a;
    same("node", node, b.node);
    same("index", index, b.index);
    same("epoch", epoch, b.epoch);
    same("created_at", created_at, b.created_at);
    compare(counters, b.counters);
    same("state", a.state(), b.state());
    static const TaskNotes none;
    compare_notes(a.state(), notes ? *notes : none, b.notes ? *b.notes : none);
    if (phase.index() != b.phase.index()) return;
    std::visit(
        [&](const auto& ours) {
          compare(ours, std::get<std::remove_cvref_t<decltype(ours)>>(b.phase));
        },
        phase);
  }

  void compare(const TaskCounters& a, const TaskCounters& b) {
    const auto& [attempts, failures, crashes, stalls, releases, unstarted] = a;
    same("attempts", attempts, b.attempts);
    same("failures", failures, b.failures);
    same("crashes", crashes, b.crashes);
    same("stalls", stalls, b.stalls);
    same("releases", releases, b.releases);
    same("unstarted", unstarted, b.unstarted);
  }

  // A checkpoint of a completed task is of no more use and is not read again.
  void compare_notes(TaskState state, const TaskNotes& a, const TaskNotes& b) {
    const auto& [checkpoint, uploaded, step, error, reused_from, exit_code] = a;
    const bool is_over = state == TaskState::kCompleted;
    if (!is_over) same("checkpoint", checkpoint, b.checkpoint);
    if (!is_over) same("uploaded checkpoint", uploaded, b.uploaded);
    same("step", step, b.step);
    same("error", error, b.error);
    same("reused_from", reused_from, b.reused_from);
    same("exit_code", exit_code, b.exit_code);
  }

  void compare(const Waiting&, const Waiting&) {}

  // Left out: waiting_since, order and place (its turn begins anew), keep_away (judged anew by who
  // is there to take it). A worker that was forgotten and came back is known again by its name.
  void compare(const Queued& a, const Queued& b) {
    const auto& [ready_at, waiting_since, order, recovery, last_worker, keep_away, place, due,
                 child, stop] = a;
    same("child", child, b.child);
    same("its stop", stop, b.stop);
    const bool waits = place == Queued::Place::kWait;
    same("a wait", waits, b.place == Queued::Place::kWait);
    if (!waits) same("ready_at", ready_at, b.ready_at);  // a wait begins by its due time alone
    same("due", due, b.due);
    same("recovery", recovery, b.recovery);
    const std::string last = name_of(a_, last_worker);
    if (!last.empty()) same("last_worker", last, name_of(b_, b.last_worker));
  }

  // Left out: listed (scratch), acked, sent_in and stop_sent_in (said anew in each term), restored
  // (says just that), stop_deadline (a full lease anew).
  void compare(const Grant& a, const Grant& b) {
    const auto& [worker, stop, listed, acked, restored, granted_at, stop_deadline, sent_in,
                 stop_sent_in] = a;
    same("worker", name_of(a_, worker), name_of(b_, b.worker));
    same("stop", stop, b.stop);
    same("granted_at", granted_at, b.granted_at);
  }
  void compare(const Scheduled& a, const Scheduled& b) { compare(a.grant, b.grant); }

  // Left out: progress_at (the watchdog begins anew) and output_bytes (told again with every call).
  // Whoever is watched for its output, or for the words "0 %", is so again from the next call on.
  void compare(const Running& a, const Running& b) {
    const auto& [grant, started, started_at, progress_at, output_bytes, percent, watched] = a;
    compare(grant, b.grant);
    same("started", started, b.started);
    same("started_at", started_at, b.started_at);
    same("percent", percent, b.percent);
    const NodeSpec& spec =
        about_.run->plan->node_spec(about_.run->plan->node_of_task(about_.index));
    const bool told_again = percent == 0 || spec.stale_counts.output;
    if (!watched || !told_again) same("watched", watched, b.watched);
  }

  void compare(const Final& a, const Final& b) {
    const auto& [outcome, worker, started, percent] = a;
    same("outcome", outcome, b.outcome);
    const std::string last = name_of(a_, worker);
    if (!last.empty()) same("worker", last, name_of(b_, b.worker));
    same("started", started, b.started);
    // Whoever completes has done all of it, whatever it said last.
    if (outcome != TaskState::kCompleted) same("percent", percent, b.percent);
  }

  // One that was forgotten is as good as none.
  static std::string name_of(const State& state, WorkerIx ix) {
    if (!ix.valid() || !state.workers.is_known(ix)) return {};
    return state.workers[ix].info->id.text;
  }

  const State& a_;
  const State& b_;
  Subject about_{};
  std::vector<std::string> told_;
};

}  // namespace

std::vector<std::string> durable_differences(const State& memory, const State& reloaded) {
  return Comparison(memory, reloaded).run();
}

std::vector<std::string> reload_differences(const State& memory, const StoreImage& image) {
  const auto sweeps = [&](RunIx ix) { return memory.runs[ix].sweeping; };
  if (std::ranges::any_of(memory.bulk, sweeps)) return {};
  Effects repairs;
  const State reloaded =
      load(memory.policy, memory.term, memory.clock.last_seen(), 1, image, repairs);
  std::vector<std::string> told = durable_differences(memory, reloaded);
  for (const Event& event : repairs.events) {
    std::string what = "a reload says " + std::string(to_text(event.kind));
    for (const auto& [key, value] : event.data) {
      if (const auto* text = std::get_if<std::string>(&value)) what += " " + *text;
    }
    told.push_back(std::move(what));
  }
  for (const TaskRow& row : repairs.rows.tasks) {
    told.push_back("a reload writes task " + to_text(row.id) + " anew");
  }
  for (const RunRow& row : repairs.rows.runs) {
    told.push_back("a reload writes run " + to_text(row.id) + " anew");
  }
  for (const WorkerRow& row : repairs.rows.workers) {
    told.push_back("a reload writes worker '" + row.info->id.text + "' anew");
  }
  return told;
}

}  // namespace vortex::core
