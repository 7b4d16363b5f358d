#pragma once
// Where everything durable is. One writer, many readers, one truth.
//
// Writer: one thread at a time, the committer's. Every commit is one transaction, checked against
// the newest term. Readers see only what is committed and never block the writer. Everything the
// store gives back was committed; what it said yes to survives kill -9 and power loss.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/commit.h"
#include "model/ids.h"
#include "model/rows.h"
#include "store/error.h"
#include "store/reader.h"

namespace vortex::store {

// Who wants to lead, and where others reach it.
struct Candidate {
  ControllerId id;
  std::string url;
};
struct Won {
  Term term;
  Instant database_now;  // later than every `now` ever committed
};
struct HeldByOther {
  ControllerId holder;
  Duration remaining;
};
using AcquireAnswer = std::variant<Won, HeldByOther>;

// How much of what is finished is kept. Zero: no limit of that kind.
struct Retention {
  Duration runs_for;           // since a run finished
  std::uint64_t runs_max = 0;  // finished runs
  Duration events_for;
  Duration recoveries_for{};  // the ledger
  Duration audit_for{};
};

// Much longer than the pace of announcements: one that is cut off for a moment stays in the list.
inline constexpr Duration kControllersKept = minutes(1);

class Writer {
 public:
  Writer() = default;
  virtual ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;

  // The row that says who leads. Each acquisition gives a higher term.
  virtual Result<AcquireAnswer> acquire(const Candidate& who, Duration lease) = 0;
  virtual Result<void> renew(Term term, Duration lease) = 0;  // kFenced: another term
  virtual void release(Term term) = 0;
  // Says that this controller is there, whoever leads: no term is checked. Forgets those that did
  // not say so for kControllersKept.
  virtual Result<void> announce(const Candidate& who) = 0;

  virtual Result<StoreImage> image() = 0;
  // Any run that is still kept, finished or not.
  virtual Result<std::optional<RunImage>> run_image(RunId run) = 0;

  virtual Result<void> commit(const Commit& commit) = 0;

  // Finished runs that retention would let go, oldest first, at most `limit`. Changes nothing.
  virtual Result<std::vector<ExpiredRun>> expirable(const Retention& keep, Instant now,
                                                    std::uint32_t limit) = 0;
  // Removes up to `rows` rows of runs and events that are already forgotten. True: there is more.
  virtual Result<bool> sweep(const Retention& keep, Instant now, std::uint32_t rows) = 0;

  // Can it be written right now? Touches the disk.
  virtual Result<void> check_writable() = 0;
};

class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;
  virtual Writer& writer() = 0;
  // Nobody else can lead while it is open, so leadership cannot be lost by being slow.
  virtual bool is_ours_alone() const = 0;
  // Calls back, from any thread, when the holder may have released or lost its lease: only a hint.
  // Replaces the callback before; an empty one ends it. On return the one before is not running.
  virtual void watch(std::function<void()> may_be_free) { static_cast<void>(may_be_free); }
  // For one thread at a time. The store outlives its readers.
  virtual Result<std::unique_ptr<Reader>> reader() = 0;
};

}  // namespace vortex::store
