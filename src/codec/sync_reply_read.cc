// What the controller answers to a sync call, as the worker reads it.
#include <cstdint>
#include <memory>
#include <utility>

#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/sync_words.h"

namespace vortex::codec {
namespace {

using enum Presence;

constexpr Field<MapItem> kMapFields[] = {
    {"index", [](Reading& in, NodeIx node, MapItem& out) { read_number(in, node, out.index); },
     kRequired},
    {"item", [](Reading& in, NodeIx node, MapItem& out) { read_text(in, node, out.item); },
     kRequired},
};

struct AssignmentDraft {
  Assignment assignment;
  WorkOrder order;
};
using Draft = AssignmentDraft;

constexpr Field<Draft> kAssignmentFields[] = {
    {"task",
     [](Reading& in, NodeIx node, Draft& out) {
       read_task_id(in, node, out.assignment.attempt.task);
       out.order.task_text = in.document().text(node);
     },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, Draft& out) {
       read_strong(in, node, out.assignment.attempt.epoch);
     },
     kRequired},
    {"attempt",
     [](Reading& in, NodeIx node, Draft& out) { read_number(in, node, out.assignment.number); }},
    {"name", [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.task); }},
    {"dag", [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.dag); }},
    {"run",
     [](Reading& in, NodeIx node, Draft& out) { read_texts(in, node, out.order.command.argv); }},
    {"env",
     [](Reading& in, NodeIx node, Draft& out) { read_env(in, node, out.order.command.env); }},
    {"workdir",
     [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.order.command.workdir); }},
    {"resources",
     [](Reading& in, NodeIx node, Draft& out) { read_resources(in, node, out.order.resources); }},
    {"outputs",
     [](Reading& in, NodeIx node, Draft& out) { read_texts(in, node, out.order.outputs); }},
    {"map", [](Reading& in, NodeIx node,
               Draft& out) { read_object(in, node, "", kMapFields, out.order.map.emplace()); }},
    {"report_output",
     [](Reading& in, NodeIx node, Draft& out) { read_flag(in, node, out.order.report_output); }},
    {"timeout_ms", [](Reading& in, NodeIx node,
                      Draft& out) { read_millis(in, node, out.assignment.execution_timeout); }},
    {"kill_grace_ms", [](Reading& in, NodeIx node,
                         Draft& out) { read_millis(in, node, out.assignment.kill_grace); }},
    {"checkpoint",
     [](Reading& in, NodeIx node, Draft& out) { read_text(in, node, out.assignment.checkpoint); }},
    {"checkpoint_base64", [](Reading& in, NodeIx node,
                             Draft& out) { read_base64(in, node, out.assignment.checkpoint); }},
    {"checkpoint_upload",
     [](Reading& in, NodeIx node, Draft& out) {
       read_number(in, node, out.assignment.uploaded.number);
     }},
    {"checkpoint_bytes", [](Reading& in, NodeIx node,
                            Draft& out) { read_number(in, node, out.assignment.uploaded.bytes); }},
};

void read_assignments(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  out.assignments.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    Draft draft;
    read_object(in, item, "", kAssignmentFields, draft);
    draft.assignment.work = std::make_shared<const WorkOrder>(std::move(draft.order));
    out.assignments.push_back(std::move(draft.assignment));
  });
}

constexpr Field<StopOrder> kStopFields[] = {
    {"task",
     [](Reading& in, NodeIx node, StopOrder& out) { read_task_id(in, node, out.attempt.task); },
     kRequired},
    {"epoch",
     [](Reading& in, NodeIx node, StopOrder& out) { read_strong(in, node, out.attempt.epoch); },
     kRequired},
    {"why", [](Reading& in, NodeIx node, StopOrder& out) { read_word(in, node, out.why); }},
};

void read_stops(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kStopFields, out.stops.emplace_back());
  });
}

constexpr Field<Attempt> kAttemptFields[] = {
    {"task", [](Reading& in, NodeIx node, Attempt& out) { read_task_id(in, node, out.task); },
     kRequired},
    {"epoch", [](Reading& in, NodeIx node, Attempt& out) { read_strong(in, node, out.epoch); },
     kRequired},
};

void read_stale(Reading& in, NodeIx node, SyncReply& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kAttemptFields, out.stale.emplace_back());
  });
}

constexpr Field<SyncReply> kReplyFields[] = {
    {"mark", [](Reading& in, NodeIx node, SyncReply& out) { read_mark(in, node, out.mark); },
     kRequired},
    {"seq_seen",
     [](Reading& in, NodeIx node, SyncReply& out) { read_number(in, node, out.seq_seen); },
     kRequired},
    {"lease_ms", [](Reading& in, NodeIx node, SyncReply& out) { read_millis(in, node, out.lease); },
     kRequired},
    {"assignments", read_assignments},
    {"stops", read_stops},
    {"stale", read_stale},
    {"drain", [](Reading& in, NodeIx node, SyncReply& out) { read_flag(in, node, out.drain); }},
    {"drain_within_ms", [](Reading& in, NodeIx node,
                           SyncReply& out) { read_millis(in, node, out.drain_within.emplace()); }},
};

}  // namespace

Decoded<SyncReply> read_sync_reply(std::string_view json) {
  return decode<SyncReply>(json, UnknownKeys::kIgnored,
                           [](Reading& in, NodeIx root, SyncReply& out) {
                             read_object(in, root, "", kReplyFields, out);
                           });
}

}  // namespace vortex::codec
