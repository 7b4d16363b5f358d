#pragma once
// Every error the HTTP interface can answer with: its code, status, title and what to do about it.
//
// One table. Codes are part of the interface (programs and pages refer to them): append-only, and a
// code never changes its meaning. `vortex explain CODE` and the documentation are made from it.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/plan.h"

namespace vortex::api {

enum class Code : std::uint8_t {
  kNotJson,
  kBadBody,
  kBadQuery,
  kNoSuchPath,
  kWrongMethod,
  kNotJsonType,
  kTooLarge,
  kBrokenRequest,
  kTooSlow,
  kHeadTooLarge,
  kBadCursor,
  kImpossible,
  kServerFull,
  kComplaint,
  kNoToken,
  kRoleTooLow,
  kForeignHost,
  kForeignOrigin,
  kTokenExists,
  kNoSuchToken,
  kNoSuchRun,
  kRunNotLive,
  kRunEnding,
  kKeyReused,
  kNoSuchTask,
  kAttemptNotHeld,
  kNoSuchAttempt,
  kNoSuchWorker,
  kStaleIncarnation,
  kRegisterFirst,
  kSessionEnded,
  kOldMessage,
  kBadSync,
  kLeaseNotHeld,
  kLeaseTaken,
  kNoSuchLease,
  kNoSuchQueue,
  kNoDeadLetter,
  kNoSuchRecovery,
  kDagEmpty,
  kDagBadName,
  kDagDuplicateName,
  kDagUnknownNeed,
  kDagSelfNeed,
  kDagDuplicateNeed,
  kDagCycle,
  kDagTooManyNodes,
  kDagTooManyTasks,
  kDagTooManyNeeds,
  kDagTooDeep,
  kDagBadValue,
  kDagNameDiffers,
  kDagMalformed,
  kNoSuchDag,
  kStoreDown,
  kNoSpace,
  kOutcomeUnknown,
  kStoreUnreadable,
  kNotLeader,
  kBusy,
  kGone,
  kWrongState,
  kInternal,
  kLogGap,
  kBadParams,
  kWebhookExists,
  kNoSuchWebhook,
  kNoSuchCheckpoint,
  kOverQuota,
  kTokenFull,
  kBodiesFull,
  kLastAdmin,
  kForeignAddress,
  kForeignReceiver,
  kNoSuchSecret,
  kNoMasterKey,
  kOtherMasterKey,
  kNotPrivate,
  kNoCertificate,
  kNoSession,
  kWrongSession,
  kWorkerTaken,
  kTokenBound,
  kAttemptOver,
  kNotOfAttempt,
  kForeignMark,
  kCountDrifted,
  kNoSuchSignal,
  kMayNotAnswer,
  kTooManySignals,
  kNoSuchSchedule,
  kNoSuchLimit,
  kCount,
};

struct CodeInfo {
  Code code{};
  std::string_view text;  // VX-REQ-001
  int status = 500;
  std::string_view title;
  std::string_view hint;  // what to do
};

const CodeInfo& about(Code code);
std::span<const CodeInfo> all_codes();
std::optional<Code> find_code(std::string_view text);

Code code_of(DagError::Kind kind);
// For answers that never reached a route: what the server itself says with this status.
Code code_of_status(int status);

}  // namespace vortex::api
