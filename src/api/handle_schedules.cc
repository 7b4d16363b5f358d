// Schedules of stored DAGs: when they come, pausing them, and runs outside of their slots.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/submission.h"
#include "api/views.h"
#include "base/zone_files.h"
#include "model/schedule.h"

namespace vortex::api {
namespace {

constexpr std::uint32_t kSlotsInList = 3;
constexpr std::uint32_t kSlotsShown = 10;
constexpr Bounds kSlotsBounds{kSlotsShown, 1, 1'000};
constexpr std::uint32_t kSchedulesLookedAt = 100;  // for one that was meant

struct ShowScheduleAs {
  Instant now;
  std::uint32_t slots = kSlotsShown;
};

std::vector<Instant> slots_to_come(const ScheduleRow& row, const ScheduleSpec& spec,
                                   const Zone& zone, const ShowScheduleAs& as) {
  std::vector<Instant> slots;
  if (row.paused != SchedulePause::kNone) return slots;
  auto slot = next_slot(spec, zone, std::max(row.decided, as.now - spec.jitter));
  for (; slot && slots.size() < as.slots; slot = next_slot(spec, zone, *slot)) {
    slots.push_back(*slot);
  }
  return slots;
}

store::Result<ScheduleShown> shown_schedule(store::Reader& reader, store::ScheduleView row,
                                            const ShowScheduleAs& as) {
  ScheduleShown out;
  static_cast<store::ScheduleView&>(out) = std::move(row);
  const auto plan = reader.plan(out.digest);
  if (!plan) return std::unexpected(plan.error());
  if (*plan && (*plan)->spec.schedule) {
    const ScheduleSpec& spec = *(*plan)->spec.schedule;
    out.words = in_words(spec);
    out.timezone = spec.timezone;
    out.overlap = to_text(spec.overlap);
    const ZonePtr zone = system_zones().find(spec.timezone);
    if (zone) out.next = slots_to_come(out, spec, *zone, as);
    if (!zone) out.problem = "time zone '" + spec.timezone + "' is not known on this machine";
  }
  if (out.last_run.value == 0) return out;
  const auto run = reader.run(out.last_run);
  if (!run) return std::unexpected(run.error());
  if (*run) out.last_run_state = (*run)->state;
  return out;
}

store::Result<std::optional<ScheduleShown>> find_shown(store::Reader& reader,
                                                       const std::string& dag,
                                                       const ShowScheduleAs& as) {
  auto row = reader.schedule(dag);
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<ScheduleShown>{};
  auto whole = shown_schedule(reader, **std::move(row), as);
  if (!whole) return std::unexpected(whole.error());
  return std::optional(*std::move(whole));
}

boost::asio::awaitable<Trouble> no_schedule(Call& call) {
  auto page = co_await fetch(call.backend, [](store::Reader& reader) {
    return reader.schedules({kSchedulesLookedAt, {}});
  });
  std::vector<std::string> known;
  if (page) {
    for (const store::ScheduleView& row : page->items) known.push_back(row.dag);
  }
  co_return no_such(Code::kNoSuchSchedule, call.text(), known);
}

Handled answer_schedule(Call& call, std::uint32_t slots) {
  const ShowScheduleAs as{call.backend.now(), slots};
  const std::string dag = call.text();
  auto found = co_await fetch(call.backend,
                              [&](store::Reader& reader) { return find_shown(reader, dag, as); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!*found) co_return std::unexpected(co_await no_schedule(call));
  co_return json_answer(object_json([&](JsonWriter& json) { write_schedule(json, **found); }));
}

Handled set_schedule_paused(Call& call, bool paused) {
  core::Command command = core::PauseSchedule{{}, call.text(), paused};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return co_await answer_schedule(call, kSlotsShown);
  if (done.error().code != Code::kNoSuchSchedule) co_return std::unexpected(done.error());
  co_return std::unexpected(co_await no_schedule(call));
}

std::string key_header_of(const Call& call) {
  return std::string(
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{}));
}

}  // namespace

Handled list_schedules(Call& call) {
  QueryReader query(call.request().query);
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const ShowScheduleAs as{call.backend.now(), kSlotsInList};
  co_return co_await fetch_answer(call.backend,
                                  [&](store::Reader& reader) -> store::Result<std::string> {
                                    auto rows = reader.schedules(page);
                                    if (!rows) return std::unexpected(rows.error());
                                    store::Page<ScheduleShown> out;
                                    out.next_cursor = std::move(rows->next_cursor);
                                    for (store::ScheduleView& row : rows->items) {
                                      auto one = shown_schedule(reader, std::move(row), as);
                                      if (!one) return std::unexpected(one.error());
                                      out.items.push_back(*std::move(one));
                                    }
                                    return page_json("schedules", out, write_schedule);
                                  });
}

Handled get_schedule(Call& call) {
  QueryReader query(call.request().query);
  const std::uint64_t slots = query.number("slots", kSlotsBounds);
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  co_return co_await answer_schedule(call, static_cast<std::uint32_t>(slots));
}

Handled pause_schedule(Call& call) { co_return co_await set_schedule_paused(call, true); }
Handled resume_schedule(Call& call) { co_return co_await set_schedule_paused(call, false); }

Handled trigger_schedule(Call& call) {
  auto body = co_await read_body(call, read_trigger);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::TriggerSchedule{
      {}, call.text(), body->unless_running, key_header_of(call), call.caller.name};
  auto made = co_await ask<core::RunAccepted>(call.backend, std::move(command));
  if (!made && made.error().code == Code::kNoSuchSchedule) {
    co_return std::unexpected(co_await no_schedule(call));
  }
  if (!made) co_return std::unexpected(std::move(made.error()));
  co_return co_await answer_accepted(call, *std::move(made));
}

}  // namespace vortex::api
