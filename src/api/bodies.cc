#include "api/bodies.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/sync_parts.h"
#include "codec/units.h"
#include "model/check.h"
#include "model/event.h"
#include "net/client.h"

namespace vortex::api {

namespace {

using codec::NodeIx;
using codec::NodeKind;
using codec::Presence;
using codec::Reading;
using codec::UnknownKeys;

constexpr std::size_t kTextMax = 200;
constexpr std::size_t kUrlMax = 2'000;
constexpr std::size_t kLabelsMax = 64;
constexpr std::size_t kLivesMax = 1'000;
constexpr std::size_t kEntriesMax = 1'000;
constexpr std::size_t kStartedMax = 200'000;
constexpr std::size_t kReasonMax = 1'000;
constexpr std::uint64_t kBulkMax = 100'000;
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::int64_t>::max();

void read_name(Reading& in, NodeIx node, std::string& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  if (text->empty() || text->size() > kTextMax) {
    return in.problem(node, in.document().name_of(node) + " must be 1 to 200 bytes long");
  }
  const LineRule rule{.bytes_min = 1, .bytes_max = kTextMax};
  if (auto complaint = complain_of_line(in.document().name_of(node), *text, rule)) {
    return in.problem(node, *std::move(complaint));
  }
  if (auto complaint = complain_of_dots(in.document().name_of(node), *text)) {
    return in.problem(node, *std::move(complaint));
  }
  out = *text;
}

void read_dag_or_name(Reading& in, NodeIx node, SubmitBody& out) {
  if (in.document().kind(node) == NodeKind::kText) return read_name(in, node, out.dag_name);
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, "a specification or the name of a DAG");
  }
  out.dag_at = in.document().position_of(node);
}

void read_params(Reading& in, NodeIx node, SubmitBody& out) {
  std::string text;
  codec::append_compact(text, in.document(), node);
  auto params = codec::compact_object(text);
  if (params) {
    out.params = *std::move(params);
    return;
  }
  for (codec::Problem& problem : params.error()) {
    in.problem(node, std::move(problem.message), std::move(problem.help));
  }
}

void read_labels(Reading& in, NodeIx node, SubmitBody& out) {
  if (!codec::is_object_of_names(in, node)) return;
  if (in.document().count(node) > kLabelsMax) return in.problem(node, "at most 64 labels");
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    const auto text = codec::text_of(in, value);
    if (!text) return;
    const std::string_view name = in.document().text(key);
    if (name.empty() || name.size() > kTextMax || text->size() > kTextMax) {
      return in.problem(value, "a label name is 1 to 200 bytes long, its value at most 200");
    }
    const LineRule rule{.bytes_min = 0, .bytes_max = kTextMax};
    if (auto complaint = complain_of_line("label name", name, rule)) {
      return in.problem(value, *std::move(complaint));
    }
    if (auto complaint = complain_of_line("label value", *text, rule)) {
      return in.problem(value, *std::move(complaint));
    }
    out.labels.emplace_back(name, *text);
  });
  std::ranges::sort(out.labels);
}

void read_moment(Reading& in, NodeIx node, std::optional<Instant>& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  const auto time = parse_written_time(*text, DayEnd::kFirst);
  if (time && !time->local) {
    out = Instant{time->seconds * 1'000'000};
  } else {
    in.problem(node, "it must be a time in UTC", "write 2026-03-27T01:30:00Z");
  }
}

void read_slot(Reading& in, NodeIx node, SubmitBody& out) { read_moment(in, node, out.slot); }
void read_start(Reading& in, NodeIx node, SubmitBody& out) { read_moment(in, node, out.starts_at); }

void read_kept_run(Reading& in, NodeIx node, KeepBody& out) {
  const auto text = codec::text_of(in, node);
  const auto run = text ? parse_run_id(*text) : std::nullopt;
  if (run) out.run = *run;
  if (text && !run) in.problem(node, "it must be the id of a run", "write r42");
}

constexpr codec::Field<KeepBody> kKeepFields[] = {
    {"run", read_kept_run, Presence::kRequired},
    {"again",
     [](Reading& in, NodeIx node, KeepBody& out) { codec::read_texts(in, node, out.again); }},
};

void read_keep(Reading& in, NodeIx node, SubmitBody& out) {
  codec::read_object(in, node, {}, kKeepFields, out.keep);
}

constexpr codec::Field<SubmitBody> kSubmitFields[] = {
    {"dag", read_dag_or_name, Presence::kRequired},
    {"params", read_params},
    {"labels", read_labels},
    {"starts_at", read_start},
    {"keep", read_keep},
};

constexpr codec::Field<SubmitBody> kNamedFields[] = {
    {"slot", read_slot},     {"starts_at", read_start}, {"keep", read_keep},
    {"params", read_params}, {"labels", read_labels},
};

void read_dag_of_item(Reading& in, NodeIx node, SubmitItem& out) {
  if (in.document().kind(node) == NodeKind::kText) return read_name(in, node, out.dag_name);
  in.wrong_type(node, "the name of a stored DAG",
                "a specification is given once, as 'dag' beside 'runs'");
}

constexpr codec::Field<SubmitItem> kItemFields[] = {
    {"dag", read_dag_of_item},
    {"params", [](Reading& in, NodeIx node, SubmitItem& out) { read_params(in, node, out); }},
    {"labels", [](Reading& in, NodeIx node, SubmitItem& out) { read_labels(in, node, out); }},
    {"idempotency_key",
     [](Reading& in, NodeIx node, SubmitItem& out) { read_name(in, node, out.key); }},
};

void read_items(Reading& in, NodeIx node, SubmitManyBody& out) {
  if (!codec::is_array(in, node)) return;
  const std::size_t count = in.document().count(node);
  if (count == 0 || count > kSubmitManyMax) {
    return in.problem(node, "'runs' must have 1 to 10,000 entries, not " + std::to_string(count));
  }
  out.runs.reserve(count);
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) codec::read_object(in, item, "run", kItemFields, out.runs.emplace_back());
  });
}

constexpr codec::Field<SubmitManyBody> kManyFields[] = {
    {"dag", [](Reading& in, NodeIx node, SubmitManyBody& out) { read_dag_or_name(in, node, out); }},
    {"runs", read_items, Presence::kRequired},
};

void read_agent(Reading& in, NodeIx node, LeaseBody& out) { read_name(in, node, out.agent.text); }

void read_epoch(Reading& in, NodeIx node, LeaseBody& out) {
  codec::read_number(in, node, out.epoch.value, 1, kNumberMax);
}

constexpr codec::Field<LeaseBody> kWantedFields[] = {{"agent", read_agent, Presence::kRequired}};
constexpr codec::Field<LeaseBody> kHeldFields[] = {
    {"agent", read_agent, Presence::kRequired},
    {"epoch", read_epoch, Presence::kRequired},
};

void read_incarnation(Reading& in, NodeIx node, ExitedBody& out) {
  codec::read_number(in, node, out.incarnation.value, 1, kNumberMax);
}

constexpr codec::Field<Attempt> kAttemptFields[] = {
    {"task",
     [](Reading& in, NodeIx node, Attempt& out) { codec::read_task_id(in, node, out.task); },
     Presence::kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, Attempt& out) {
       codec::read_number(in, node, out.epoch.value, 1, kNumberMax);
     },
     Presence::kRequired},
};

void read_started(Reading& in, NodeIx node, ExitedBody& out) {
  if (!codec::is_array(in, node)) return;
  if (in.document().count(node) > kStartedMax) return in.problem(node, "at most 200000 attempts");
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) codec::read_object(in, item, {}, kAttemptFields, out.started.emplace_back());
  });
}

void read_lives(Reading& in, NodeIx node, ExitedBody& out) {
  if (!codec::is_array(in, node)) return;
  if (in.document().count(node) > kLivesMax) return in.problem(node, "at most 1000 incarnations");
  in.document().each_item(node, [&](NodeIx item) {
    codec::read_number(in, item, out.incarnations.emplace_back().value, 1, kNumberMax);
  });
}

template <bool BySignal>
void read_how(Reading& in, NodeIx node, ExitedBody& out) {
  core::ProcessEnd end{.by_signal = BySignal};
  codec::read_number(in, node, end.code, 0, 255);
  out.how = end;
}

constexpr codec::Field<ExitedBody> kExitedFields[] = {
    {"incarnation", read_incarnation, Presence::kRequired},
    {"started", read_started},
    {"incarnations", read_lives},
    {"exit_code", read_how<false>},
    {"signal", read_how<true>},
};

// What a supervisor may add to an entry; other keys are ignored.
constexpr const char* kEntryKeys[] = {"attempt", "try", "wait_ms",      "starts", "exit_code",
                                      "signal",  "pid", "lost_entries", "reason"};
constexpr std::array<codec::Word<EventKind>, 6> kEntryWords{{
    {"worker_spawn", EventKind::kWorkerSpawn},
    {"worker_spawn_retry", EventKind::kWorkerSpawnRetry},
    {"worker_spawn_failed", EventKind::kWorkerSpawnFailed},
    {"worker_exit", EventKind::kWorkerExit},
    {"worker_crash", EventKind::kWorkerCrash},
    {"worker_respawn", EventKind::kWorkerRespawn},
}};

void read_entry_data(Reading& in, NodeIx node, core::LifecycleEntry& out) {
  if (!codec::is_object(in, node)) return;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    const auto known = std::ranges::find(kEntryKeys, in.document().text(key));
    if (known == std::end(kEntryKeys)) return;
    if (in.document().kind(value) == NodeKind::kInteger) {
      std::int64_t number = 0;
      codec::read_number(in, value, number);
      out.data.emplace_back(*known, number);
    } else if (const auto text = codec::text_of(in, value)) {
      out.data.emplace_back(*known, std::string(text->substr(0, kReasonMax)));
    }
  });
}

constexpr codec::Field<core::LifecycleEntry> kEntryFields[] = {
    {"id",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) {
       codec::read_number(in, node, out.number, 1, kNumberMax);
     },
     Presence::kRequired},
    {"event",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) {
       codec::read_word(in, node, kEntryWords, out.kind);
     },
     Presence::kRequired},
    {"worker",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) {
       read_name(in, node, out.worker.text);
     },
     Presence::kRequired},
    {"incarnation",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) {
       codec::read_number(in, node, out.incarnation.value, 0, kNumberMax);
     }},
    {"session",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) { read_name(in, node, out.session); }},
    {"at",
     [](Reading& in, NodeIx node, core::LifecycleEntry& out) {
       std::string at;
       read_name(in, node, at);
       out.data.emplace_back("at", std::move(at));
     }},
    {"data", read_entry_data},
};

void read_entries(Reading& in, NodeIx node, LifecycleBody& out) {
  if (!codec::is_array(in, node)) return;
  if (in.document().count(node) > kEntriesMax) return in.problem(node, "at most 1000 entries");
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) codec::read_object(in, item, {}, kEntryFields, out.entries.emplace_back());
  });
}

constexpr codec::Field<LifecycleBody> kLifecycleFields[] = {
    {"machine",
     [](Reading& in, NodeIx node, LifecycleBody& out) { read_name(in, node, out.machine); },
     Presence::kRequired},
    {"journal",
     [](Reading& in, NodeIx node, LifecycleBody& out) { read_name(in, node, out.journal); },
     Presence::kRequired},
    {"entries", read_entries, Presence::kRequired},
};

constexpr Duration kDrainLongest = seconds(7 * 86'400);

constexpr codec::Field<TriggerBody> kTriggerFields[] = {
    {"unless_running", [](Reading& in, NodeIx node,
                          TriggerBody& out) { codec::read_flag(in, node, out.unless_running); }},
};

void read_rate(Reading& in, NodeIx node, LimitBody& out) {
  const auto text = codec::text_of(in, node);
  if (!text || in.full()) return;
  const auto rate = codec::parse_rate(*text);
  if (!rate) {
    return in.problem(node, fmt::format("'rate' is {}, which {}", in_quotes(*text), rate.error()),
                      "write how many in how long: 100/1m");
  }
  out.rate = rate->count;
  out.window = rate->window;
}

constexpr codec::Field<LimitBody> kLimitFields[] = {
    {"slots", [](Reading& in, NodeIx node,
                 LimitBody& out) { codec::read_number(in, node, out.slots, 1, kSlotsOfLimitMax); }},
    {"rate", read_rate},
};

constexpr codec::Field<DrainBody> kDrainFields[] = {
    {"deadline",
     [](Reading& in, NodeIx node, DrainBody& out) {
       codec::read_duration(in, node, out.deadline.emplace(), Duration{}, kDrainLongest);
     }},
};

void read_expected(Reading& in, NodeIx node, BulkLettersBody& out) {
  codec::read_number(in, node, out.expected, 1, kBulkMax);
}

void read_run(Reading& in, NodeIx node, BulkLettersBody& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  out.run = parse_run_id(*text);
  if (!out.run) in.wrong_type(node, "the id of a run such as \"r42\"");
}

constexpr codec::Field<BulkLettersBody> kBulkLettersFields[] = {
    {"expected", read_expected, Presence::kRequired},
    {"run", read_run},
};

void read_payload(Reading& in, NodeIx node, std::string& out) {
  if (!codec::is_object_of_names(in, node)) return;
  codec::append_compact(out, in.document(), node);
}

void read_comment(Reading& in, NodeIx node, std::string& out) {
  codec::read_text(in, node, out);
  if (in.full() || out.size() <= kCommentBytesMax) return;
  in.problem(node, "at most " + std::to_string(kCommentBytesMax) + " bytes are allowed");
}

constexpr codec::Field<SignalBody> kSignalFields[] = {
    {"data", [](Reading& in, NodeIx node, SignalBody& out) { read_payload(in, node, out.data); }},
};

// What the outputs of an approval hold in any case.
constexpr std::string_view kAnswerKeys[] = {"approved", "by", "comment"};

void read_answer_data(Reading& in, NodeIx node, ApproveBody& out) {
  read_payload(in, node, out.data);
  if (in.document().kind(node) != codec::NodeKind::kObject) return;
  in.document().each_member(node, [&](NodeIx key, NodeIx) {
    const std::string_view name = in.document().text(key);
    if (in.full() || std::ranges::find(kAnswerKeys, name) == std::end(kAnswerKeys)) return;
    in.problem(key, "'" + std::string(name) + "' is set by the controller",
               "use another name in data");
  });
}

constexpr codec::Field<ApproveBody> kApproveFields[] = {
    {"comment",
     [](Reading& in, NodeIx node, ApproveBody& out) { read_comment(in, node, out.comment); }},
    {"data", read_answer_data},
};
constexpr codec::Field<RejectBody> kRejectFields[] = {
    {"reason",
     [](Reading& in, NodeIx node, RejectBody& out) { read_comment(in, node, out.reason); },
     Presence::kRequired},
};

bool is_name_char(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// Names that stand in paths.
template <class T>
void read_plain_name(Reading& in, NodeIx node, T& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  if (text->empty() || text->size() > 100 || !std::ranges::all_of(*text, is_name_char)) {
    return in.problem(node, "the name must be 1 to 100 letters, digits, '-', '_' or '.'");
  }
  if (auto complaint = complain_of_dots("the name", *text)) {
    return in.problem(node, *std::move(complaint));
  }
  out.name = *text;
}

void read_role(Reading& in, NodeIx node, TokenBody& out) { codec::read_word(in, node, out.role); }

constexpr std::size_t kBoundMax = 100;
constexpr std::size_t kBoundBytesMax = 200;

// An id, or the start of ids and a '*'.
bool is_worker_pattern(std::string_view text) {
  const std::string_view id = text.ends_with('*') ? text.substr(0, text.size() - 1) : text;
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '*' && c != ',' && c != '/' && c != '\x7f';
  };
  return !text.empty() && text.size() <= kBoundBytesMax && std::ranges::all_of(id, plain);
}

void read_bound_workers(Reading& in, NodeIx node, TokenBody& out) {
  std::vector<std::string> patterns;
  codec::read_texts(in, node, patterns);
  if (patterns.size() > kBoundMax) return in.problem(node, "at most 100 workers");
  for (const std::string& pattern : patterns) {
    if (!is_worker_pattern(pattern)) {
      return in.problem(node, "'" + pattern + "' is not a worker id",
                        "write an id such as gpu-1, or the start of ids and *, such as gpu-*");
    }
    out.workers += (out.workers.empty() ? "" : ",") + pattern;
  }
}

constexpr codec::Field<TokenBody> kTokenFields[] = {
    {"name", read_plain_name<TokenBody>, Presence::kRequired},
    {"role", read_role, Presence::kRequired},
    {"workers", read_bound_workers},
};

void read_web_address(Reading& in, NodeIx node, WebhookBody& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  if (text->size() > kUrlMax || !net::parse_web_address(*text)) {
    return in.problem(node, "'url' is not a valid URL",
                      "write it as https://host/path or http://host:port/path, at most 2,000 "
                      "bytes, without a user or a part after #");
  }
  out.url = *text;
}

void read_kinds(Reading& in, NodeIx node, WebhookBody& out) {
  if (!codec::is_array(in, node)) return;
  if (in.document().count(node) == 0) {
    return in.problem(node, "'kinds' is empty", "omit it to receive the end of every run");
  }
  in.document().each_item(node, [&](NodeIx item) {
    const auto kind = codec::text_of(in, item);
    if (!kind) return;
    const auto& known = words_of<EventKind>();
    if (std::ranges::find(known, *kind) == known.end()) {
      const std::string_view near = nearest_name(*kind, known);
      return in.problem(item, "unknown kind of event '" + std::string(*kind) + "'",
                        near.empty() ? "`vortex events` shows the kinds of events"
                                     : "did you mean '" + std::string(near) + "'?");
    }
    if (std::ranges::find(out.kinds, *kind) == out.kinds.end()) out.kinds.emplace_back(*kind);
  });
}

void read_dag_name(Reading& in, NodeIx node, WebhookBody& out) { read_name(in, node, out.dag); }

void read_after(Reading& in, NodeIx node, WebhookBody& out) {
  std::uint64_t after = 0;
  if (codec::parse_unsigned(in, node, 0, kNumberMax, after)) out.after = after;
}

void read_session_token(Reading& in, NodeIx node, SessionBody& out) {
  if (const auto text = codec::text_of(in, node)) out.token = *text;
}

constexpr codec::Field<SessionBody> kSessionFields[] = {
    {"token", read_session_token, Presence::kRequired},
};

constexpr codec::Field<WebhookBody> kWebhookFields[] = {
    {"name", read_plain_name<WebhookBody>, Presence::kRequired},
    {"url", read_web_address, Presence::kRequired},
    {"kinds", read_kinds},
    {"dag", read_dag_name},
    {"after", read_after},
};

template <class T, std::size_t N>
codec::Decoded<T> read(std::string_view json, const codec::Field<T> (&fields)[N],
                       UnknownKeys unknown = UnknownKeys::kRefused) {
  return codec::decode<T>(json, unknown, [&](Reading& in, NodeIx root, T& out) {
    codec::read_object(in, root, {}, fields, out);
  });
}

// The same where all of it may be left out.
template <class T, std::size_t N>
codec::Decoded<T> read_if_any(std::string_view json, const codec::Field<T> (&fields)[N]) {
  return json.find_first_not_of(" \t\r\n") == std::string_view::npos ? T{} : read(json, fields);
}

}  // namespace

codec::Decoded<SubmitBody> read_submit(std::string_view json) {
  auto body = read(json, kSubmitFields);
  if (body && body->dag_name.empty()) body->dag_json = codec::object_at(json, body->dag_at);
  return body;
}

codec::Decoded<SubmitManyBody> read_submit_many(std::string_view json) {
  auto body = read(json, kManyFields);
  if (body && body->dag_at.line > 0) body->dag_json = codec::object_at(json, body->dag_at);
  return body;
}

codec::Decoded<SubmitItem> read_submit_item(std::string_view json) {
  return read(json, kItemFields);
}

codec::Decoded<SubmitBody> read_submit_named(std::string_view json) {
  return read_if_any(json, kNamedFields);
}

codec::Decoded<LeaseBody> read_lease_request(std::string_view json) {
  return read(json, kWantedFields);
}

codec::Decoded<LeaseBody> read_lease_held(std::string_view json) { return read(json, kHeldFields); }

codec::Decoded<TriggerBody> read_trigger(std::string_view json) {
  return read_if_any(json, kTriggerFields);
}

codec::Decoded<LimitBody> read_limit_body(std::string_view json) {
  return read(json, kLimitFields);
}

codec::Decoded<DrainBody> read_drain(std::string_view json) {
  return read_if_any(json, kDrainFields);
}

codec::Decoded<SignalBody> read_signal(std::string_view json) {
  return read_if_any(json, kSignalFields);
}

codec::Decoded<ApproveBody> read_approve(std::string_view json) {
  return read_if_any(json, kApproveFields);
}

codec::Decoded<RejectBody> read_reject(std::string_view json) { return read(json, kRejectFields); }

codec::Decoded<BulkLettersBody> read_bulk_letters(std::string_view json) {
  return read(json, kBulkLettersFields);
}

codec::Decoded<ExitedBody> read_exited(std::string_view json) {
  return read(json, kExitedFields, UnknownKeys::kIgnored);
}

codec::Decoded<LifecycleBody> read_lifecycle(std::string_view json) {
  return read(json, kLifecycleFields, UnknownKeys::kIgnored);
}

codec::Decoded<TokenBody> read_token_request(std::string_view json) {
  return read(json, kTokenFields);
}

codec::Decoded<SessionBody> read_session_request(std::string_view json) {
  return read(json, kSessionFields);
}

codec::Decoded<WebhookBody> read_webhook_request(std::string_view json) {
  return read(json, kWebhookFields);
}

}  // namespace vortex::api
