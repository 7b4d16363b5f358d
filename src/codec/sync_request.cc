// What a worker says in a sync call.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/units.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

using enum Presence;

// Texts for people. They go into rows and events of the controller, where everybody pays for their
// length: what is longer is cut, because what happened counts more than how it was told.
void read_cut(Reading& in, NodeIx node, std::string& out, std::size_t bytes_max) {
  const auto text = text_of(in, node);
  if (!text) return;
  if (text->size() <= bytes_max) {
    out = *text;
    return;
  }
  const std::string mark = fmt::format(" [cut: {} bytes in all]", text->size());
  std::size_t end = bytes_max - mark.size();
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xC0U) == 0x80U) --end;
  out = std::string(text->substr(0, end)) + mark;
}

bool has_too_many(Reading& in, NodeIx node, std::size_t most) {
  if (in.document().count(node) <= most) return false;
  in.problem(node, fmt::format("'{}' has {} entries; at most {} are allowed",
                               in.document().name_of(node), in.document().count(node), most));
  return true;
}

constexpr Field<Progress> kProgressFields[] = {
    {"percent",
     [](Reading& in, NodeIx node, Progress& out) { read_number(in, node, out.percent, 0, 100); }},
    {"step",
     [](Reading& in, NodeIx node, Progress& out) { read_cut(in, node, out.step, kStepBytesMax); }},
};

void read_progress(Reading& in, NodeIx node, HeldTask& out) {
  read_object(in, node, "", kProgressFields, out.progress.emplace());
}

constexpr Field<HeldTask> kHeldFields[] = {
    {"task",
     [](Reading& in, NodeIx node, HeldTask& out) { read_task_id(in, node, out.attempt.task); },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, HeldTask& out) { read_strong(in, node, out.attempt.epoch); },
     kRequired},
    {"progress", read_progress},
    {"output_bytes", [](Reading& in, NodeIx node,
                        HeldTask& out) { read_number(in, node, out.output_bytes.emplace()); }},
};

// Which members count depends on the kind, and that may stand last.
struct ReportDraft {
  Attempt attempt;
  ReportKind kind = ReportKind::kStarted;
  NodeIx data = 0;
  NodeIx data_base64 = 0;
  NodeIx outputs = 0;
  NodeIx cause = 0;
  NodeIx code = 0;
  NodeIx message = 0;
};

constexpr Field<ReportDraft> kReportFields[] = {
    {"task",
     [](Reading& in, NodeIx node, ReportDraft& out) { read_task_id(in, node, out.attempt.task); },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, ReportDraft& out) { read_strong(in, node, out.attempt.epoch); },
     kRequired},
    {"kind", [](Reading& in, NodeIx node, ReportDraft& out) { read_word(in, node, out.kind); },
     kRequired},
    {"data", keep_node<&ReportDraft::data>},
    {"data_base64", keep_node<&ReportDraft::data_base64>},
    {"outputs", keep_node<&ReportDraft::outputs>},
    {"cause", keep_node<&ReportDraft::cause>},
    {"code", keep_node<&ReportDraft::code>},
    {"message", keep_node<&ReportDraft::message>},
};

Checkpoint checkpoint_of(Reading& in, const ReportDraft& draft) {
  Checkpoint checkpoint;
  if (draft.data_base64 != 0) {
    read_base64(in, draft.data_base64, checkpoint.data);
  } else if (draft.data != 0) {
    read_text(in, draft.data, checkpoint.data);
  }
  return checkpoint;
}

Completed completed_of(Reading& in, const ReportDraft& draft) {
  Completed completed;
  if (draft.outputs != 0) read_passed_object(in, draft.outputs, completed.outputs);
  return completed;
}

Failed failed_of(Reading& in, const ReportDraft& draft) {
  Failed failed;
  if (draft.cause != 0) read_word(in, draft.cause, failed.cause);
  if (draft.code != 0) read_number(in, draft.code, failed.code);
  if (draft.message != 0) read_cut(in, draft.message, failed.message, kMessageBytesMax);
  return failed;
}

Released released_of(Reading& in, const ReportDraft& draft) {
  Released released;
  if (draft.cause != 0) read_word(in, draft.cause, released.cause);
  if (draft.message != 0) read_cut(in, draft.message, released.message, kMessageBytesMax);
  return released;
}

ReportBody body_of(Reading& in, const ReportDraft& draft) {
  switch (draft.kind) {
    case ReportKind::kStarted:
      return Started{};
    case ReportKind::kCheckpoint:
      return checkpoint_of(in, draft);
    case ReportKind::kCompleted:
      return completed_of(in, draft);
    case ReportKind::kFailed:
      return failed_of(in, draft);
    case ReportKind::kReleased:
      return released_of(in, draft);
    case ReportKind::kTimedOut:
      return TimedOut{};
  }
  VX_ASSERT(false && "a value outside ReportKind");
}

void read_held(Reading& in, NodeIx node, SyncRequest& out) {
  if (!is_array(in, node) || has_too_many(in, node, kSyncEntriesMax)) return;
  auto& held = out.held.emplace();
  held.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kHeldFields, held.emplace_back());
  });
}

void read_reports(Reading& in, NodeIx node, SyncRequest& out) {
  if (!is_array(in, node) || has_too_many(in, node, kSyncEntriesMax)) return;
  out.reports.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    ReportDraft draft;
    read_object(in, item, "", kReportFields, draft);
    out.reports.push_back({draft.attempt, body_of(in, draft)});
  });
}

constexpr Field<SyncRequest> kSyncFields[] = {
    {"incarnation",
     [](Reading& in, NodeIx node, SyncRequest& out) { read_strong(in, node, out.incarnation); },
     kRequired},
    {"seq", [](Reading& in, NodeIx node, SyncRequest& out) { read_number(in, node, out.seq); },
     kRequired},
    {"ack", [](Reading& in, NodeIx node, SyncRequest& out) { read_mark(in, node, out.ack); }},
    {"slots", [](Reading& in, NodeIx node, SyncRequest& out) { read_number(in, node, out.slots); },
     kRequired},
    {"held", read_held},
    {"reports", read_reports},
    {"leaving",
     [](Reading& in, NodeIx node, SyncRequest& out) { read_word(in, node, out.leaving); }},
    {"wait_ms",
     [](Reading& in, NodeIx node, SyncRequest& out) { read_millis(in, node, out.wait); }},
    {"worker_clock_us", [](Reading& in, NodeIx node,
                           SyncRequest& out) { read_number(in, node, out.worker_clock.us); }},
};

}  // namespace

Decoded<SyncRequest> read_sync(std::string_view json, const WorkerId& worker) {
  return decode<SyncRequest>(json, UnknownKeys::kIgnored,
                             [&](Reading& in, NodeIx root, SyncRequest& out) {
                               out.worker = worker;
                               read_object(in, root, "", kSyncFields, out);
                             });
}

// What a worker says in a sync call, written.

namespace {

// Enough for a report without data, so that a long message grows its text only a few times.
constexpr std::size_t kBytesPerEntry = 80;

void write_body(JsonWriter& json, const Started& /*body*/) { json.field("kind", "started"); }

void write_body(JsonWriter& json, const Checkpoint& body) {
  json.field("kind", "checkpoint");
  write_bytes(json, {.text = "data", .base64 = "data_base64"}, body.data);
}

void write_body(JsonWriter& json, const Completed& body) {
  json.field("kind", "completed");
  if (!body.outputs.empty()) json.key("outputs").raw(body.outputs);
}

void write_body(JsonWriter& json, const Failed& body) {
  json.field("kind", "failed").field("cause", to_text(body.cause));
  json.field("code", std::int64_t{body.code});
  if (!body.message.empty()) json.field("message", std::string_view(body.message));
}

void write_body(JsonWriter& json, const Released& body) {
  json.field("kind", "released").field("cause", to_text(body.cause));
  if (!body.message.empty()) json.field("message", std::string_view(body.message));
}

void write_body(JsonWriter& json, const TimedOut& /*body*/) { json.field("kind", "timed_out"); }

void write_report(JsonWriter& json, const Report& report) {
  json.begin_object();
  write_attempt(json, report.attempt);
  std::visit([&](const auto& body) { write_body(json, body); }, report.body);
  json.end_object();
}

void write_held(JsonWriter& json, const HeldTask& held) {
  json.begin_object();
  write_attempt(json, held.attempt);
  if (held.progress) {
    json.key("progress").begin_object();
    json.field("percent", std::uint32_t{held.progress->percent});
    if (!held.progress->step.empty()) json.field("step", std::string_view(held.progress->step));
    json.end_object();
  }
  if (held.output_bytes) json.field("output_bytes", *held.output_bytes);
  json.end_object();
}

}  // namespace

std::string write_sync(const SyncRequest& request) {
  std::string out;
  const std::size_t held = request.held ? request.held->size() : 0;
  out.reserve((held + request.reports.size() + 2) * kBytesPerEntry);
  JsonWriter json(out);
  json.begin_object().field("incarnation", request.incarnation.value).field("seq", request.seq);
  if (request.ack != ReplyMark{}) write_mark(json, "ack", request.ack);
  json.field("slots", request.slots);
  if (request.held) {
    json.key("held").begin_array();
    for (const HeldTask& task : *request.held) write_held(json, task);
    json.end_array();
  }
  if (!request.reports.empty()) {
    json.key("reports").begin_array();
    for (const Report& report : request.reports) write_report(json, report);
    json.end_array();
  }
  if (request.leaving != Leaving::kNo) {
    json.field("leaving", to_text(request.leaving));
  }
  if (request.wait > Duration{}) json.field("wait_ms", whole_millis(request.wait));
  if (request.worker_clock != Instant{}) json.field("worker_clock_us", request.worker_clock.us);
  json.end_object();
  return out;
}

// How a worker introduces itself, and what it is told, in both directions.

namespace {

using enum Presence;

constexpr std::size_t kMetadataBytesMax = 64 * 1024;

// One line of text, as people type it.
void read_line(Reading& in, NodeIx node, std::string& out, std::size_t bytes_min = 0) {
  const auto text = text_of(in, node);
  if (!text) return;
  const LineRule rule{.bytes_min = bytes_min, .bytes_max = kLabelBytesMax};
  if (auto complaint = complain_of_line(in.document().name_of(node), *text, rule)) {
    return in.problem(node, *std::move(complaint));
  }
  if (auto complaint = complain_of_dots(in.document().name_of(node), *text)) {
    return in.problem(node, *std::move(complaint));
  }
  out = *text;
}

void read_metadata(Reading& in, NodeIx node, RegisterBody& out) {
  std::string& metadata = out.info.metadata;
  const NodeKind kind = in.document().kind(node);
  if (kind != NodeKind::kText && kind != NodeKind::kObject) {
    return in.wrong_type(node, "a string or an object");
  }
  kind == NodeKind::kText ? read_text(in, node, metadata) : read_passed_object(in, node, metadata);
  if (metadata.size() <= kMetadataBytesMax) return;
  in.problem(node, fmt::format("'metadata' has {} bytes; at most {} are allowed", metadata.size(),
                               kMetadataBytesMax));
}

// Names have no order of their own: sorted, and none twice.
void read_names(Reading& in, NodeIx node, std::vector<std::string>& out) {
  if (in.document().kind(node) == NodeKind::kArray && has_too_many(in, node, kListMax)) return;
  read_texts(in, node, out);
  if (auto complaint = complain_of_twice(in.document().name_of(node), {out.begin(), out.end()})) {
    in.problem(node, *std::move(complaint));
  }
  std::ranges::sort(out);
}

void read_queues(Reading& in, NodeIx node, RegisterBody& out) {
  read_names(in, node, out.info.queues);
  if (in.document().kind(node) == NodeKind::kArray && in.document().count(node) == 0) {
    in.problem(node, "'queues' is empty; the worker would never get a task");
  }
  for (const std::string& queue : out.info.queues) {
    if (auto complaint = complain_of_name("queue", queue)) in.problem(node, *std::move(complaint));
  }
}

void read_runtimes(Reading& in, NodeIx node, RegisterBody& out) {
  read_names(in, node, out.info.runtimes);
  const LineRule rule{.bytes_min = 1, .bytes_max = kLabelBytesMax};
  for (const std::string& runtime : out.info.runtimes) {
    if (auto complaint = complain_of_line("runtime", runtime, rule)) {
      in.problem(node, *std::move(complaint));
    }
  }
}

void read_users(Reading& in, NodeIx node, RegisterBody& out) {
  read_names(in, node, out.info.users);
  for (const std::string& user : out.info.users) {
    if (auto complaint = complain_of_name("user", user)) in.problem(node, *std::move(complaint));
  }
}

void read_worker_labels(Reading& in, NodeIx node, RegisterBody& out) {
  if (in.document().kind(node) == NodeKind::kObject && has_too_many(in, node, kEntriesMax)) return;
  read_labels(in, node, out.info.labels);
  const LineRule name{.bytes_min = 1, .bytes_max = kLabelBytesMax};
  const LineRule value{.bytes_min = 0, .bytes_max = kLabelBytesMax};
  for (const auto& [key, text] : out.info.labels) {
    if (auto complaint = complain_of_line("label name", key, name)) {
      in.problem(node, *std::move(complaint));
    } else if (auto wrong = complain_of_line("label value", text, value)) {
      in.problem(node, *std::move(wrong));
    }
  }
}

void read_worker_resources(Reading& in, NodeIx node, RegisterBody& out) {
  read_resources(in, node, out.info.resources);
  if (out.info.resources.named.size() <= kEntriesMax) return;
  in.problem(node, fmt::format("'resources' has {} names; at most {} are allowed",
                               out.info.resources.named.size(), kEntriesMax));
}

template <std::string WorkerInfo::* Member>
void read_info_line(Reading& in, NodeIx node, RegisterBody& out) {
  read_line(in, node, out.info.*Member);
}

constexpr Field<RegisterBody> kRegisterFields[] = {
    {"id",
     [](Reading& in, NodeIx node, RegisterBody& out) { read_line(in, node, out.info.id.text, 1); },
     kRequired},
    {"machine", [](Reading& in, NodeIx node,
                   RegisterBody& out) { read_line(in, node, out.info.machine.text, 1); }},
    {"name", read_info_line<&WorkerInfo::name>},
    {"address", read_info_line<&WorkerInfo::address>},
    {"zone", read_info_line<&WorkerInfo::zone>},
    {"group", read_info_line<&WorkerInfo::group>},
    {"version", read_info_line<&WorkerInfo::version>},
    {"metadata", read_metadata},
    {"queues", read_queues},
    {"labels", read_worker_labels},
    {"runtimes", read_runtimes},
    {"users", read_users},
    {"slots",
     [](Reading& in, NodeIx node, RegisterBody& out) { read_number(in, node, out.info.slots); }},
    {"resources", read_worker_resources},
    {"incarnation",
     [](Reading& in, NodeIx node, RegisterBody& out) { read_strong(in, node, out.incarnation); }},
};

constexpr Field<RegisterReply> kReplyFields[] = {
    {"term", [](Reading& in, NodeIx node, RegisterReply& out) { read_strong(in, node, out.term); },
     kRequired},
    {"incarnation",
     [](Reading& in, NodeIx node, RegisterReply& out) { read_strong(in, node, out.incarnation); },
     kRequired},
    {"lease_ms",
     [](Reading& in, NodeIx node, RegisterReply& out) { read_millis(in, node, out.lease); },
     kRequired},
    {"heartbeat_interval_ms",
     [](Reading& in, NodeIx node, RegisterReply& out) {
       read_millis(in, node, out.heartbeat_interval);
     },
     kRequired},
    {"self_fence_ms",
     [](Reading& in, NodeIx node, RegisterReply& out) { read_millis(in, node, out.self_fence); }},
    {"session",
     [](Reading& in, NodeIx node, RegisterReply& out) { read_text(in, node, out.session); }},
};

// As an object where it is one in compact form, so that reading gives the same text back.
void write_metadata(JsonWriter& json, std::string_view metadata) {
  if (metadata.empty()) return;
  const auto compact = compact_object(metadata);
  json.key("metadata");
  compact && *compact == metadata ? json.raw(metadata) : json.text(metadata);
}

void write_line(JsonWriter& json, std::string_view name, std::string_view value) {
  if (!value.empty()) json.field(name, value);
}

}  // namespace

Decoded<RegisterBody> read_register(std::string_view json) {
  return decode<RegisterBody>(json, UnknownKeys::kIgnored,
                              [](Reading& in, NodeIx root, RegisterBody& out) {
                                read_object(in, root, "", kRegisterFields, out);
                                if (out.info.machine.empty()) {
                                  out.info.machine = MachineId(out.info.id.text);
                                }
                              });
}

std::string write_register(const RegisterBody& body) {
  const WorkerInfo& info = body.info;
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("id", std::string_view(info.id.text));
  write_line(json, "machine", info.machine.text);
  write_line(json, "name", info.name);
  write_line(json, "address", info.address);
  write_line(json, "zone", info.zone);
  write_line(json, "group", info.group);
  write_line(json, "version", info.version);
  write_metadata(json, info.metadata);
  write_texts(json, "queues", info.queues);
  write_pairs(json, "labels", info.labels);
  write_texts(json, "runtimes", info.runtimes);
  write_texts(json, "users", info.users);
  json.field("slots", info.slots);
  write_resources(json, info.resources);
  if (body.incarnation != Incarnation{}) json.field("incarnation", body.incarnation.value);
  json.end_object();
  return out;
}

std::string write_register_reply(const RegisterReply& reply) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("term", reply.term.value);
  json.field("incarnation", reply.incarnation.value);
  json.field("lease_ms", whole_millis(reply.lease));
  json.field("heartbeat_interval_ms", whole_millis(reply.heartbeat_interval));
  if (reply.self_fence > Duration{}) json.field("self_fence_ms", whole_millis(reply.self_fence));
  if (!reply.session.empty()) json.field("session", std::string_view(reply.session));
  json.end_object();
  return out;
}

Decoded<RegisterReply> read_register_reply(std::string_view json) {
  return decode<RegisterReply>(json, UnknownKeys::kIgnored,
                               [](Reading& in, NodeIx root, RegisterReply& out) {
                                 read_object(in, root, "", kReplyFields, out);
                               });
}

}  // namespace vortex::codec
