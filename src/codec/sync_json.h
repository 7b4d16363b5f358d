#pragma once
// The exchange between worker and controller as JSON, for both sides.
//
// Unknown keys are ignored here: an older worker talks to a newer controller and the reverse.
// Times on the wire are whole milliseconds (`_ms`), rounded up; tasks are named by their text id.
// Members that say nothing are not written, and null means the same as not there. Bytes that are
// not text go as base64 (`data_base64`, `checkpoint_base64`). JSON that is only passed on (outputs,
// params, metadata) is read into its compact form; what is written must be a JSON object already:
// codec/json_writer.h makes one of what a user wrote. Append-only.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "codec/document.h"
#include "model/ids.h"
#include "model/sync.h"

namespace vortex::codec {

struct RegisterBody {
  WorkerInfo info;          // lists sorted, repeated names refused
  Incarnation incarnation;  // 0: none given, the controller chooses
};
struct RegisterReply {
  Term term;
  Incarnation incarnation;
  Duration lease;
  Duration heartbeat_interval;
  Duration self_fence;       // zero: not told
  std::string session = {};  // the secret of this life; empty: a controller that makes none
};
// 409 answers of register and sync say which life of the worker is current.
struct RefusedBody {
  SyncRefusal refusal;
};

// For the controller.
Decoded<RegisterBody> read_register(std::string_view json);
Decoded<SyncRequest> read_sync(std::string_view json, const WorkerId& worker);
std::string write_register_reply(const RegisterReply& reply);
// Assignments are written until the text has this many bytes; at least one is. How many there are
// in it is told, because the others must not be taken for sent.
inline constexpr std::size_t kAssignmentBytesMax = 16 * 1024 * 1024;
struct WrittenReply {
  std::string json;
  std::size_t assignments = 0;
};
WrittenReply write_bounded_reply(const SyncReply& reply,
                                 std::size_t bytes_max = kAssignmentBytesMax);
// The same without a bound.
std::string write_sync_reply(const SyncReply& reply);
// What the worker is told about a planned task: the order as it goes over the wire.
WorkOrder order_from(const PlannedWork& work, const Attempt& attempt);
// Which item of a map the task is; unset for a plain node.
std::optional<MapItem> map_item_of(const PlannedWork& work, const TaskId& task);

// For the worker.
std::string write_register(const RegisterBody& body);
std::string write_sync(const SyncRequest& request);
Decoded<RegisterReply> read_register_reply(std::string_view json);
Decoded<SyncReply> read_sync_reply(std::string_view json);

}  // namespace vortex::codec
