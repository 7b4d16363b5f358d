#include "codec/dag_schedule.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "codec/dag_read.h"
#include "codec/parts.h"
#include "codec/units.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

constexpr Duration kIntervalMin = seconds(1);
constexpr Duration kIntervalMax = hours(24) * 366;
constexpr Duration kJitterMax = hours(24);

struct ScheduleDraft {
  ScheduleSpec spec;
  NodeIx cron = 0;
  NodeIx every = 0;
  NodeIx jitter = 0;
};

void read_cron(Reading& in, NodeIx node, ScheduleDraft& out) {
  out.cron = node;
  const auto text = text_of(in, node);
  if (!text) return;
  auto rule = parse_cron(*text);
  if (rule) {
    out.spec.cron = *text;
    out.spec.rule = *rule;
  } else if (!in.full()) {
    CronFault fault = std::move(rule).error();
    in.problem(node, fmt::format("{}: {}", in.document().name_of(node), fault.message),
               std::move(fault.help));
  }
}

void read_every(Reading& in, NodeIx node, ScheduleDraft& out) {
  out.every = node;
  read_duration(in, node, out.spec.every, kIntervalMin, kIntervalMax);
}

void read_jitter(Reading& in, NodeIx node, ScheduleDraft& out) {
  out.jitter = node;
  read_duration(in, node, out.spec.jitter, Duration{}, kJitterMax);
}

void read_time(Reading& in, NodeIx node, DayEnd of_date, std::optional<WrittenTime>& out) {
  const auto text = text_of(in, node);
  if (!text) return;
  out = parse_written_time(*text, of_date);
  if (out || in.full()) return;
  in.problem(node,
             fmt::format("{} is {}, which is not a date or time", in.document().name_of(node),
                         in.shown(node)),
             "write 2026-03-01 or 2026-03-01 02:30 in the time zone of the schedule, or add an "
             "offset: 2026-03-01T02:30:00Z");
}

constexpr Field<CatchUp> kCatchUpFields[] = {
    {"window",
     [](Reading& in, NodeIx node, CatchUp& out) {
       read_duration(in, node, out.window, Duration{}, kIntervalMax);
     },
     Presence::kRequired},
    {"limit", [](Reading& in, NodeIx node,
                 CatchUp& out) { read_number(in, node, out.limit, 1, kCatchUpMax); }},
};

constexpr Field<ScheduleDraft> kScheduleFields[] = {
    {"cron", read_cron},
    {"every", read_every},
    {"timezone",
     [](Reading& in, NodeIx node, ScheduleDraft& out) { read_text(in, node, out.spec.timezone); }},
    {"overlap",
     [](Reading& in, NodeIx node, ScheduleDraft& out) { read_word(in, node, out.spec.overlap); }},
    {"catchup",
     [](Reading& in, NodeIx node, ScheduleDraft& out) {
       read_object(in, node, "", kCatchUpFields, out.spec.catchup);
     }},
    {"jitter", read_jitter},
    {"from", [](Reading& in, NodeIx node,
                ScheduleDraft& out) { read_time(in, node, DayEnd::kFirst, out.spec.from); }},
    {"until", [](Reading& in, NodeIx node,
                 ScheduleDraft& out) { read_time(in, node, DayEnd::kLast, out.spec.until); }},
    {"pause_on_failure",
     [](Reading& in, NodeIx node, ScheduleDraft& out) {
       read_flag(in, node, out.spec.pause_on_failure);
     }},
};

void judge_together(Reading& in, NodeIx node, const ScheduleDraft& draft) {
  if (in.full()) return;
  if (draft.cron != 0 && draft.every != 0) {
    return in.problem(draft.every - 1, "a schedule has 'cron' or 'every', not both",
                      "remove one of them");
  }
  if (draft.cron == 0 && draft.every == 0) {
    return in.problem(node, "'schedule' has neither 'cron' nor 'every'",
                      "write cron: \"30 2 * * *\" or every: 15m");
  }
  if (draft.every != 0 && draft.spec.every.us > 0 && draft.spec.jitter >= draft.spec.every) {
    in.problem(draft.jitter,
               fmt::format("'jitter' is {}, but there is a run every {}",
                           duration_text(draft.spec.jitter), duration_text(draft.spec.every)),
               "the jitter must be shorter than 'every'");
  }
}

}  // namespace

void read_schedule(Reading& in, NodeIx node, std::optional<ScheduleSpec>& out) {
  if (in.full()) return;
  const Document& document = in.document();
  if (document.kind(node) != NodeKind::kObject) {
    std::string help = "write schedule: {cron: \"30 2 * * *\"}";
    if (document.kind(node) == NodeKind::kText && parse_cron(document.text(node))) {
      help = fmt::format("write schedule: {{cron: \"{}\"}}", document.text(node));
    }
    return in.wrong_type(node, object_word(document.syntax()), std::move(help));
  }
  ScheduleDraft draft;
  read_object(in, node, "", kScheduleFields, draft);
  judge_together(in, node, draft);
  out = std::move(draft.spec);
}

void write_schedule(JsonWriter& json, const std::optional<ScheduleSpec>& schedule) {
  if (!schedule) return;
  const auto text = [&](std::string_view name, std::string_view value) { json.field(name, value); };
  const auto duration = [&](std::string_view name, Duration value) {
    if (value.us != 0) text(name, duration_text(value));
  };
  json.key("schedule").begin_object();
  if (!schedule->cron.empty()) text("cron", schedule->cron);
  duration("every", schedule->every);
  if (schedule->timezone != ScheduleSpec{}.timezone) text("timezone", schedule->timezone);
  if (schedule->overlap != Overlap::kSkip) text("overlap", to_text(schedule->overlap));
  if (schedule->catchup != CatchUp{}) {
    json.key("catchup").begin_object();
    text("window", duration_text(schedule->catchup.window));
    if (schedule->catchup.limit != CatchUp{}.limit) json.field("limit", schedule->catchup.limit);
    json.end_object();
  }
  duration("jitter", schedule->jitter);
  if (schedule->from) text("from", schedule->from->text);
  if (schedule->until) text("until", schedule->until->text);
  if (schedule->pause_on_failure) json.field("pause_on_failure", true);
  json.end_object();
}

std::vector<std::string_view> schedule_keys() { return keys_of(kScheduleFields); }
std::vector<std::string_view> catchup_keys() { return keys_of(kCatchUpFields); }

}  // namespace vortex::codec
