#pragma once
// What goes into a controller's engine and what comes out of it, as plain data.
//
// Inputs say what was asked and how earlier orders ended; orders say what the shell must do, in
// this order. An answer of the store names the term or the number of its order, so one that comes
// too late is recognised and means nothing.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/command.h"
#include "core/leadership.h"
#include "model/commit.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex::engine {

class Batch;

// ---- What is asked ----

// A row that the shell writes beside the core's own.
struct SideWrite {
  RequestId request;
  std::variant<LogChunk, CheckpointPiece, TokenRow, WebhookRow, WebhookStep, WebhookSeal,
               SecretChange, SecretRewrap, std::vector<AuditRow>>
      row;
};
using Asked = std::variant<core::Command, SideWrite>;
// Who waits for it; 0: nobody.
RequestId request_of(const core::Command& command);
RequestId request_of(const Asked& asked);

// ---- Inputs ----

struct CommitEnded {  // of WriteBatch
  enum class How : std::uint8_t {
    kDone,
    kFull,     // definitely nothing happened: there is no space
    kFenced,   // definitely nothing happened: another controller is the leader
    kInDoubt,  // it may have happened, or the store is of no use at the moment
  };
  std::uint64_t number = 0;
  How how = How::kDone;
  std::string detail = {};  // for people, unless it is done
  Duration took = {};
};
struct SpaceMade {  // of MakeSpace
  bool made = false;
};
struct ImageRead {  // of LoadImage; else why it could not be read
  Term term;
  std::expected<StoreImage, std::string> image;
};
struct RunRead {  // of ReadRun; unset: the run is not kept any more
  Term term;
  std::expected<std::optional<RunImage>, std::string> image;
};
struct Expirable {  // of FindExpirable; not told when there is nothing left to do
  Term term;
  std::vector<ExpiredRun> runs;
};
struct SliceChecked {  // of TakeSlice
  Term term;
  bool last = false;                  // there are no further slices in this check
  std::vector<std::string> findings;  // with the last: of all of them
};
struct CheckRequested {};
struct SpaceLow {  // while it is, new runs are refused
  bool low = false;
};
struct StopRequested {};
// All that came was told: what is due is done, and what was gathered is handed over.
struct Turn {};

using Input = std::variant<core::lead::Input, CommitEnded, SpaceMade, ImageRead, RunRead, Expirable,
                           SliceChecked, CheckRequested, SpaceLow, StopRequested, Turn>;

// ---- Orders ----

struct WriteBatch {
  std::uint64_t number = 0;
  std::shared_ptr<const Batch> batch;
};
struct MakeSpace {};
// All of it is true now: its replies, probes and events leave.
struct ReleaseBatch {
  std::shared_ptr<Batch> batch;
  Duration took;
};
struct LoadImage {
  Term term;
  core::lead::TermClock clock;
};
struct ReadRun {
  Term term;
  RunId run;
};
// Finished runs beyond the limits are looked up, and rows of those already forgotten removed.
struct FindExpirable {
  Term term;
  Instant now;  // the term clock
};
// What is remembered is what the last batch that was handed over makes true: check the next slice
// of it, with itself and with the store once that batch is written.
struct TakeSlice {
  Term term;
  bool first = false;
};
struct CheckEnded {
  std::vector<std::string> findings;
  bool reloads = false;
};

enum class Unserved : std::uint8_t {
  kNotLeader,  // nothing happened
  kNoSpace,    // nothing happened
  kInDoubt,    // it may have happened
};
struct Refuse {
  RequestId request;
  Unserved why = Unserved::kNotLeader;
};
// The term is over. What was asked and not told yet: nothing happened. Whoever waits: `why`.
struct RefuseAll {
  Unserved why = Unserved::kNotLeader;
};

// For the log of the process, the metrics and those who ask for its health.
struct Loaded {
  Term term;
  std::size_t runs = 0;
  std::size_t workers = 0;
  std::uint64_t last_event = 0;
  std::vector<DamagedRow> damaged;
};
struct LoadFailed {
  std::string why;
};
struct Serves {
  Term term;
};
struct SteppedDown {
  Term term;
  core::lead::StepDown::Why why = core::lead::StepDown::Why::kOwnClock;
};
struct Doubts {
  std::string why;
};
struct FoundFenced {
  std::string detail;
};
struct FoundBroken {  // what the core remembers contradicts itself
  std::vector<std::string> findings;
};
struct StoreStalls {
  bool stalls = true;
};

using Order = std::variant<core::lead::TryAcquire, core::lead::Renew, core::lead::Release,
                           WriteBatch, MakeSpace, ReleaseBatch, LoadImage, ReadRun, FindExpirable,
                           TakeSlice, CheckEnded, Refuse, RefuseAll, Loaded, LoadFailed, Serves,
                           SteppedDown, Doubts, FoundFenced, FoundBroken, StoreStalls>;
using Orders = std::vector<Order>;

}  // namespace vortex::engine
