// How a worker introduces itself, and what it is told, in both directions.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/json_text.h"
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
    {"labels",
     [](Reading& in, NodeIx node, RegisterBody& out) { read_labels(in, node, out.info.labels); }},
    {"runtimes", read_runtimes},
    {"slots",
     [](Reading& in, NodeIx node, RegisterBody& out) { read_number(in, node, out.info.slots); }},
    {"resources", [](Reading& in, NodeIx node,
                     RegisterBody& out) { read_resources(in, node, out.info.resources); }},
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
