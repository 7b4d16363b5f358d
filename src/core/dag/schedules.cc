#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/reconcile.h"

namespace vortex::core {
namespace {

constexpr std::size_t kWaitingMax = 100;       // slots of one schedule
constexpr Duration kLateMax = minutes(1);      // the newest slot still counts as on time
constexpr std::uint64_t kCountedMax = 10'000;  // of the slots of a cron expression
constexpr Duration kSpacePause = seconds(1);

ZonePtr zone_of(const State& state, const ScheduleSpec& spec) {
  static const ZonePtr utc = std::make_shared<const Zone>();
  const ZoneSource* zones = state.policy.dag_limits.zones;
  if (zones != nullptr) return zones->find(spec.timezone);
  return spec.timezone == utc->name ? utc : nullptr;
}

// What a run is given that nobody gives params: each of them has a default.
std::string default_params(const DagSpec& spec) {
  std::string object = "{";
  for (const ParamSpec& param : spec.params) {
    if (!param.fallback) continue;
    if (object.size() > 1) object += ',';
    object += '"' + param.name + "\":" + *param.fallback;
  }
  return object + '}';
}

std::optional<Instant> slot_after(const Schedule& schedule, Instant at) {
  if (!schedule.zone) return std::nullopt;
  return next_slot(schedule.spec(), *schedule.zone, at);
}

Instant starts_at(const Schedule& schedule, Instant slot) {
  return slot + jitter_of(schedule.spec(), schedule.dag, slot);
}

// ---- What is done with one slot ----

void skip_slot(Context& cx, const Schedule& schedule, Instant slot, std::string reason,
               Severity severity = Severity::kInfo) {
  cx.event(EventKind::kSlotSkipped, {},
           {{"dag", schedule.dag}, {"slot", slot_text(slot)}, {"reason", std::move(reason)}},
           severity);
}

RunRequest request_for(const Schedule& schedule) {
  RunRequest request;
  request.params = default_params(schedule.plan->spec);
  request.schedule = schedule.dag;
  request.submitted_by = schedule.applied_by;
  return request;
}

void start_slot(Context& cx, ScheduleIx ix, Instant slot) {
  Schedule& schedule = cx.schedule(ix);
  RunRequest request = request_for(schedule);
  request.idempotency_key = slot_key(schedule.dag, slot);
  request.slot = slot;
  request.slot_end = slot_after(schedule, slot).value_or(kNever);
  cx.touch(ix);
  const auto known = cx.state.keys.find(request.idempotency_key);
  if (known != cx.state.keys.end() && !planted(PlantedBug::kSlotFiredAgain)) {
    return skip_slot(cx, schedule, slot, to_text(known->second.run) + " was made for it before");
  }
  if (std::string wrong = over_quota(cx.state, *schedule.plan, request); !wrong.empty()) {
    return skip_slot(cx, schedule, slot, std::move(wrong), Severity::kWarning);
  }
  if (std::string wrong = set_group(request, *schedule.plan); !wrong.empty()) {
    return skip_slot(cx, schedule, slot, std::move(wrong), Severity::kWarning);
  }
  const RunId run = make_run(cx, schedule.plan, std::move(request));
  schedule.last_run = run;
  schedule.last_slot = slot;
  cx.event(EventKind::kSlotStarted, {.worker = {}, .task = {}, .run = cx.state.runs.find(run)},
           {{"dag", schedule.dag}, {"slot", slot_text(slot)}});
}

void queue_slot(Context& cx, ScheduleIx ix, Instant slot, RunId runs) {
  Schedule& schedule = cx.schedule(ix);
  schedule.waiting.push_back(slot);
  cx.event(EventKind::kSlotQueued, {},
           {{"dag", schedule.dag},
            {"slot", slot_text(slot)},
            {"reason", to_text(runs) + " has not ended"}});
}

void replace_running(Context& cx, ScheduleIx ix, Instant slot, RunId oldest) {
  Schedule& schedule = cx.schedule(ix);
  for (const Instant older : std::exchange(schedule.waiting, {})) {
    skip_slot(cx, schedule, older, "slot " + slot_text(slot) + " takes its place");
  }
  for (const RunId run : cx.state.schedules.live(schedule.dag)) {
    cancel_run(cx, cx.state.runs.find(run));
  }
  queue_slot(cx, ix, slot, oldest);
}

void decide_slot(Context& cx, ScheduleIx ix, Instant slot) {
  Schedule& schedule = cx.schedule(ix);
  schedule.decided = std::max(schedule.decided, slot);
  cx.touch(ix);
  const std::set<RunId>& live = cx.state.schedules.live(schedule.dag);
  const Overlap overlap = schedule.spec().overlap;
  const bool is_free = live.empty() && schedule.waiting.empty();
  if (is_free || overlap == Overlap::kAllow || planted(PlantedBug::kOverlapIgnored)) {
    return start_slot(cx, ix, slot);
  }
  // What waits is started before anything else, so a run is live here, or will be.
  const RunId oldest = live.empty() ? schedule.last_run : *live.begin();
  switch (overlap) {
    case Overlap::kAllow:
      return;
    case Overlap::kSkip:
      return skip_slot(cx, schedule, slot, to_text(oldest) + " has not ended");
    case Overlap::kQueueOne:
      if (schedule.waiting.empty()) return queue_slot(cx, ix, slot, oldest);
      return skip_slot(cx, schedule, slot,
                       "slot " + slot_text(schedule.waiting.front()) + " waits already");
    case Overlap::kQueueAll:
      if (schedule.waiting.size() < kWaitingMax) return queue_slot(cx, ix, slot, oldest);
      return skip_slot(cx, schedule, slot,
                       std::to_string(kWaitingMax) + " slots wait already, which is the most",
                       Severity::kWarning);
    case Overlap::kCancelRunning:
      return replace_running(cx, ix, slot, oldest);
  }
}

// ---- Which slots have come ----

// Older slots than this came while nobody was here to see them.
Instant on_time_since(const Context& cx, const Schedule& schedule) {
  return cx.now - schedule.spec().jitter - cx.state.policy.sweep * 2;
}

// Nothing when there are none.
void tell_missed(Context& cx, const Schedule& schedule, SlotRange range, const char* why) {
  const auto first = slot_after(schedule, range.after);
  if (!first || *first > range.until) return;
  const ScheduleSpec& spec = schedule.spec();
  const std::uint64_t count = count_slots(spec, *schedule.zone, range, kCountedMax);
  cx.event(EventKind::kSlotsMissed, {},
           {{"dag", schedule.dag},
            {"first", slot_text(*first)},
            {"last", slot_text(newest_slots(spec, *schedule.zone, range, 1).back())},
            {"slots", static_cast<std::int64_t>(count)},
            {"reason", std::string(why)}},
           Severity::kWarning);
}

void decide_missed(Context& cx, ScheduleIx ix) {
  Schedule& schedule = cx.schedule(ix);
  const ScheduleSpec& spec = schedule.spec();
  const Instant last = on_time_since(cx, schedule) - micros(1);
  const auto first = slot_after(schedule, schedule.decided);
  if (!first || *first > last) return;
  const Instant newest = newest_slots(spec, *schedule.zone, {*first - micros(1), last}, 1).back();
  std::vector<Instant> made_up;
  SlotRange missed{schedule.decided, newest};
  const auto later = slot_after(schedule, newest);
  const bool is_late = newest >= cx.now - spec.jitter - kLateMax && (!later || *later > cx.now);
  if (is_late) missed.until = newest - micros(1);
  if (spec.catchup.window > Duration{}) {
    const Instant since = std::max(missed.after, cx.now - spec.catchup.window - micros(1));
    if (since < missed.until) {
      made_up = newest_slots(spec, *schedule.zone, {since, missed.until}, spec.catchup.limit);
    }
  }
  if (!made_up.empty()) missed.until = made_up.front() - micros(1);
  tell_missed(cx, schedule, missed, "no controller was running");
  if (!made_up.empty()) REACHED("core: missed slots made up for");
  for (const Instant slot : made_up) decide_slot(cx, ix, slot);
  if (is_late) decide_slot(cx, ix, newest);
  schedule.decided = std::max(schedule.decided, newest);
  cx.touch(ix);
}

void start_waiting(Context& cx, ScheduleIx ix) {
  Schedule& schedule = cx.schedule(ix);
  while (!schedule.waiting.empty() && cx.state.schedules.live(schedule.dag).empty()) {
    const Instant slot = schedule.waiting.front();
    schedule.waiting.erase(schedule.waiting.begin());
    start_slot(cx, ix, slot);
  }
}

// Of the schedule as it was nothing will start any more.
void leave_slots(Context& cx, ScheduleIx ix, const char* why) {
  Schedule& schedule = cx.schedule(ix);
  if (schedule.paused == SchedulePause::kNone) {
    tell_missed(cx, schedule, {schedule.decided, cx.now}, why);
  }
  for (const Instant slot : std::exchange(schedule.waiting, {})) {
    skip_slot(cx, schedule, slot, why);
  }
}

void pause(Context& cx, ScheduleIx ix, SchedulePause why, RunId run) {
  Schedule& schedule = cx.schedule(ix);
  schedule.paused = why;
  schedule.failed_run = run;
  cx.touch(ix);
  cx.event(EventKind::kSchedulePaused, {.worker = {}, .task = {}, .run = cx.state.runs.find(run)},
           {{"dag", schedule.dag}, {"reason", std::string(to_text(why))}},
           why == SchedulePause::kByFailure ? Severity::kWarning : Severity::kInfo);
}

void resume(Context& cx, ScheduleIx ix) {
  Schedule& schedule = cx.schedule(ix);
  std::uint64_t skipped = 0;
  if (schedule.zone && schedule.decided < cx.now) {
    skipped = count_slots(schedule.spec(), *schedule.zone, {schedule.decided, cx.now}, kCountedMax);
  }
  schedule.paused = SchedulePause::kNone;
  schedule.failed_run = {};
  schedule.decided = std::max(schedule.decided, cx.now);
  cx.touch(ix);
  cx.event(EventKind::kScheduleResumed, {},
           {{"dag", schedule.dag}, {"slots", static_cast<std::int64_t>(skipped)}});
}

void remove_schedule(Context& cx, ScheduleIx ix) {
  Schedule& schedule = cx.schedule(ix);
  leave_slots(cx, ix, "the schedule was removed");
  cx.event(EventKind::kScheduleRemoved, {}, {{"dag", schedule.dag}});
  ScheduleRow row;
  row.dag = schedule.dag;
  row.removed = true;
  cx.fx.rows.schedules.push_back(std::move(row));
  cx.state.timers.clear({TimerKind::kSchedule, ix.value});
  cx.state.schedules.remove(ix);
}

void set_schedule(Context& cx, ScheduleIx ix, const ApplyDag& command) {
  const ScheduleSpec& spec = *command.plan->spec.schedule;
  const bool is_new = !ix.valid();
  if (is_new) ix = cx.state.schedules.add(command.plan->spec.name);
  Schedule& schedule = cx.schedule(ix);
  const bool changed = is_new || !same_slots(schedule.spec(), spec);
  if (changed && !is_new) leave_slots(cx, ix, "the schedule was changed");
  schedule.plan = command.plan;
  schedule.zone = zone_of(cx.state, spec);
  if (changed) schedule.decided = std::max(schedule.decided, cx.now);
  schedule.applied_at = cx.now;
  schedule.applied_by = command.applied_by;
  cx.touch(ix);
  const auto next = slot_after(schedule, schedule.decided);
  cx.event(EventKind::kScheduleSet, {},
           {{"dag", schedule.dag},
            {"schedule", in_words(spec)},
            {"next", next ? slot_text(*next) : std::string("never")}});
  refresh_schedule_timer(cx, ix);
}

}  // namespace

void on_apply_dag(Context& cx, const ApplyDag& command) {
  if (!command.plan || command.plan->spec.name.empty()) {
    return cx.refuse(command.request, RefusalKind::kMalformed,
                     "there is no DAG, or it has no name");
  }
  const std::string& name = command.plan->spec.name;
  const ScheduleIx ix = cx.state.schedules.find(name);
  cx.fx.dags.push_back({name, command.plan, cx.now, false});
  if (command.plan->spec.schedule) {
    set_schedule(cx, ix, command);
  } else if (ix.valid()) {
    remove_schedule(cx, ix);
  }
  cx.reply(command.request, Done{});
}

void on_delete_dag(Context& cx, const DeleteDag& command) {
  const ScheduleIx ix = cx.state.schedules.find(command.name);
  cx.fx.dags.push_back({command.name, nullptr, cx.now, true});
  if (ix.valid()) remove_schedule(cx, ix);
  cx.reply(command.request, Done{});
}

void on_pause_schedule(Context& cx, const PauseSchedule& command) {
  const ScheduleIx ix = cx.state.schedules.find(command.dag);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownSchedule, command.dag);
  const bool is_paused = cx.schedule(ix).paused != SchedulePause::kNone;
  if (command.paused && !is_paused) pause(cx, ix, SchedulePause::kByOperator, {});
  if (!command.paused && is_paused) resume(cx, ix);
  refresh_schedule_timer(cx, ix);
  cx.reply(command.request, Done{});
}

void on_trigger_schedule(Context& cx, const TriggerSchedule& command) {
  const ScheduleIx ix = cx.state.schedules.find(command.dag);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownSchedule, command.dag);
  if (command.idempotency_key.size() > kKeyBytesMax) {
    return cx.refuse(
        command.request, RefusalKind::kMalformed,
        "the idempotency key has more than " + std::to_string(kKeyBytesMax) + " bytes");
  }
  Schedule& schedule = cx.schedule(ix);
  const auto known = cx.state.keys.find(command.idempotency_key);
  if (known != cx.state.keys.end()) {
    return cx.reply(command.request, RunAccepted{known->second.run, true});
  }
  const std::set<RunId>& live = cx.state.schedules.live(command.dag);
  if (command.unless_running && !live.empty()) {
    return cx.refuse(command.request, RefusalKind::kWrongState,
                     to_text(*live.begin()) + " has not ended");
  }
  RunRequest request = request_for(schedule);
  request.submitted_by = command.submitted_by;
  request.idempotency_key = command.idempotency_key;
  if (std::string wrong = over_quota(cx.state, *schedule.plan, request); !wrong.empty()) {
    return cx.refuse(command.request, RefusalKind::kOverQuota, std::move(wrong));
  }
  if (std::string wrong = set_group(request, *schedule.plan); !wrong.empty()) {
    return cx.refuse(command.request, RefusalKind::kMalformed, std::move(wrong));
  }
  const RunId run = make_run(cx, schedule.plan, std::move(request));
  schedule.last_run = run;
  cx.touch(ix);
  cx.event(EventKind::kScheduleTriggered,
           {.worker = {}, .task = {}, .run = cx.state.runs.find(run)}, {{"dag", schedule.dag}});
  cx.reply(command.request, RunAccepted{run, false});
}

void on_schedule_timer(Context& cx, ScheduleIx ix) {
  if (!cx.may_make_runs) {
    return cx.state.timers.set({TimerKind::kSchedule, ix.value}, cx.judged + kSpacePause);
  }
  const Schedule& schedule = cx.schedule(ix);
  start_waiting(cx, ix);
  decide_missed(cx, ix);
  for (auto slot = slot_after(schedule, schedule.decided);
       slot && starts_at(schedule, *slot) <= cx.now;
       slot = slot_after(schedule, schedule.decided)) {
    decide_slot(cx, ix, *slot);
  }
  refresh_schedule_timer(cx, ix);
}

void on_scheduled_run_ended(Context& cx, const Run& run) {
  const std::string& dag = run.request->schedule;
  cx.state.schedules.remove_run(dag, run.id);
  const ScheduleIx ix = cx.state.schedules.find(dag);
  if (!ix.valid()) return;
  const Schedule& schedule = cx.schedule(ix);
  const bool is_paused = schedule.paused != SchedulePause::kNone;
  if (run.state == RunState::kFailed && schedule.spec().pause_on_failure && !is_paused) {
    REACHED("core: schedule paused by a failure");
    pause(cx, ix, SchedulePause::kByFailure, run.id);
  }
  refresh_schedule_timer(cx, ix);
}

void restore_schedule(Context& cx, const ScheduleRow& row) {
  if (!row.plan || !row.plan->spec.schedule) return;
  const ScheduleIx ix = cx.state.schedules.add(row.dag);
  Schedule& schedule = cx.schedule(ix);
  static_cast<ScheduleRow&>(schedule) = row;
  schedule.zone = zone_of(cx.state, schedule.spec());
  if (planted(PlantedBug::kSlotFiredAgain) && row.last_slot != kNever) {
    schedule.decided = row.last_slot - micros(1);
  }
  if (planted(PlantedBug::kSlotLostAtFailover)) schedule.decided = std::max(row.decided, cx.now);
}

void refresh_schedule_timer(Context& cx, ScheduleIx ix) {
  const Schedule& schedule = cx.schedule(ix);
  const TimerKey key{TimerKind::kSchedule, ix.value};
  if (schedule.paused != SchedulePause::kNone) return cx.state.timers.clear(key);
  const bool may_start = !schedule.waiting.empty() && cx.state.schedules.live(schedule.dag).empty();
  std::optional<Instant> at = slot_after(schedule, schedule.decided);
  if (at) at = starts_at(schedule, *at);
  if (may_start) at = schedule.waiting.front();
  if (!at) return cx.state.timers.clear(key);
  cx.state.timers.set(key, cx.state.clock.judged(*at));
}

void refresh_schedule_timers(Context& cx) {
  for (const auto& [dag, ix] : cx.state.schedules.by_name()) refresh_schedule_timer(cx, ix);
}

}  // namespace vortex::core
