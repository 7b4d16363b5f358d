// What a worker says in a sync call.
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/sync_json.h"
#include "codec/sync_parts.h"
#include "codec/sync_words.h"

namespace vortex::codec {
namespace {

using enum Presence;

constexpr Field<Progress> kProgressFields[] = {
    {"percent",
     [](Reading& in, NodeIx node, Progress& out) { read_number(in, node, out.percent, 0, 100); }},
    {"step", [](Reading& in, NodeIx node, Progress& out) { read_text(in, node, out.step); }},
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
  if (draft.message != 0) read_text(in, draft.message, failed.message);
  return failed;
}

Released released_of(Reading& in, const ReportDraft& draft) {
  Released released;
  if (draft.cause != 0) read_word(in, draft.cause, released.cause);
  if (draft.message != 0) read_text(in, draft.message, released.message);
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
  if (!is_array(in, node)) return;
  auto& held = out.held.emplace();
  held.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_object(in, item, "", kHeldFields, held.emplace_back());
  });
}

void read_reports(Reading& in, NodeIx node, SyncRequest& out) {
  if (!is_array(in, node)) return;
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

}  // namespace vortex::codec
