#pragma once
// What a user asks for: a DAG of nodes, as one canonical specification.
//
// A node is one task, or with `map` an array of tasks that share the node's definition. Plain
// data, not yet checked; `compile` in model/plan.h is the only way to something that can run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/schedule.h"
#include "model/states.h"

namespace vortex {

// When a node may start, judged by how the nodes it needs have ended.
enum class TriggerRule : std::uint8_t {
  kAllSuccess,   // every need completed
  kAllFailed,    // every need failed
  kAllDone,      // every need ended, however
  kOneSuccess,   // one need completed; does not wait for the others
  kOneFailed,    // one need failed; does not wait for the others
  kNoneFailed,   // every need ended and none failed (skipped is fine)
  kNoneSkipped,  // every need ended and none was skipped
};

enum class BackoffKind : std::uint8_t { kFixed, kLinear, kExponential };

struct Backoff {
  BackoffKind kind = BackoffKind::kExponential;
  Duration delay = seconds(2);
  Duration max_delay = minutes(1);
  std::uint16_t jitter_permille = 200;  // each wait is drawn from [1 - jitter, 1] of the full one
};

// Which ends of an attempt a retry can be limited to.
enum class RetryCause : std::uint8_t {
  kFailed,  // it ended with an exit code
  kSignal,
  kOutOfMemory,
  kCouldNotStart,
  kTimedOut,
  kStale,
};

struct RetryPolicy {
  std::uint16_t max_retries = 3;
  Backoff backoff;
  std::vector<std::int32_t> unless_exit;     // exit codes that no retry would cure
  std::vector<std::int32_t> only_exit = {};  // exit codes that a retry may cure; empty: all
  std::vector<RetryCause> on = {};           // empty: all
};

using NamedAmounts = std::vector<std::pair<std::string, std::int64_t>>;  // sorted by name
using Labels = std::vector<std::pair<std::string, std::string>>;         // sorted by key

struct Resources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  NamedAmounts named;
  friend auto operator<=>(const Resources&, const Resources&) = default;
};

// What a worker must offer to be given a task. Tasks with equal requirements share one class.
struct Requirements {
  std::string queue = "default";
  Labels labels;
  std::string runtime;  // empty: any
  WorkerId worker;      // empty: any; else only this one, for at most the worker queue's TTL
  Resources resources;
  std::string user =
      {};  // it runs as this one, where the worker allows it; empty: the worker decides
  friend auto operator<=>(const Requirements&, const Requirements&) = default;
};

struct MapRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included
  std::int64_t step = 1;
};

// A list or an object that is known only while the run goes on: one expression that is one path,
// "${{ tasks.list.outputs.files }}" or "${{ params.files }}".
struct MapOver {
  std::string text;
};

struct MapSpec {
  std::variant<std::vector<std::string>, MapRange, MapOver> over;
  std::uint32_t max_parallel = 0;             // 0: no limit
  std::optional<std::uint32_t> max_failures;  // more than this many stop the rest; up to it is fine
  std::string as = "item";                    // what expressions call the item: map.<as>
};

// Texts may hold expressions (model/expression.h), except for a script that a shell reads.
struct CommandLine {
  std::vector<std::string> argv;
  std::vector<std::string> shell;  // empty: no shell
  std::vector<std::pair<std::string, std::string>> env;
  std::string workdir;
};

// What shows that an attempt is alive and keeps it from counting as stuck.
struct StaleCounts {
  bool progress = true;  // percent, step or checkpoint
  bool output = false;   // whatever it writes to stdout or stderr
  friend bool operator==(StaleCounts, StaleCounts) = default;
};

// A secret that a task is given: as an environment variable, or as a file in $VORTEX_SECRETS.
struct SecretUse {
  std::string as;             // name of the variable or file
  std::string secret;         // name in the vault
  std::uint32_t version = 0;  // 0: the latest when the attempt is handed out
  bool file = false;
  friend bool operator==(const SecretUse&, const SecretUse&) = default;
};

// A task that runs nothing: it waits for a time, or for somebody outside to say something.
enum class WaitKind : std::uint8_t { kFor, kUntil, kSignal, kApproval };
template <>
inline constexpr auto kWords<WaitKind> = words<WaitKind>({
    {WaitKind::kFor, "for"},
    {WaitKind::kUntil, "until"},
    {WaitKind::kSignal, "signal"},
    {WaitKind::kApproval, "approval"},
});

struct WaitSpec {
  WaitKind kind = WaitKind::kFor;
  Duration length = {};                  // kFor: from when its needs were met
  WrittenTime until = {};                // kUntil: with an offset, so it is the same everywhere
  std::string text = {};                 // kSignal: its name; kApproval: the question
  std::vector<Role> by = {};             // kApproval: who may answer; sorted; admins always may
  std::optional<Duration> timeout = {};  // kSignal, kApproval: fails then; unset: never

  // Somebody outside has to act.
  bool asks() const { return kind == WaitKind::kSignal || kind == WaitKind::kApproval; }
};

// A task that is a whole run of another DAG: its child.
struct ChildSpec {
  std::string dag;  // one of DagSpec::dags, or a stored one
  // By name, as JSON. A string may hold expressions; one that is a single expression gives the
  // child the value with its type.
  std::vector<std::pair<std::string, std::string>> params = {};
};

struct NodeSpec {
  std::string name;
  std::vector<std::string> needs;
  TriggerRule trigger = TriggerRule::kAllSuccess;
  std::optional<RetryPolicy> retry;  // unset: the controller's default
  Requirements requirements;
  std::int8_t priority = 0;  // -100..100, higher first
  bool exclusive = false;    // never two copies at once: waits for proof or silence
  std::optional<Duration> execution_timeout;
  std::optional<Duration> scheduled_timeout;
  std::optional<Duration> stale_after;
  StaleCounts stale_counts = {};
  std::optional<MapSpec> map;
  CommandLine command;
  std::vector<std::string> outputs;
  std::vector<SecretUse> secrets = {};
  std::string condition = {};      // model/condition.h; empty: none
  bool continue_on_error = false;  // its failure counts as a success for the run and what needs it
  // Expressions, each one path to outputs: given to the task as a file, $VORTEX_INPUTS.
  std::vector<std::string> inputs = {};
  std::optional<WaitSpec> wait = {};     // set: it has no command and no worker
  std::vector<std::string> limits = {};  // named limits that it holds while it is on a worker
  bool finally = false;                  // it runs when all others have ended, however they did
  std::optional<ChildSpec> child = {};   // set: it has no command and no worker
};

enum class ParamType : std::uint8_t { kString, kNumber, kBoolean, kList, kObject };

// A value that each run is given when it is submitted.
struct ParamSpec {
  std::string name;
  ParamType type = ParamType::kString;
  // Its default, as compact JSON; unset: each run must give it.
  std::optional<std::string> fallback = {};
  std::string help = {};
};

// What happens to a run whose group is full.
enum class OnFull : std::uint8_t { kQueue, kSkip, kCancelRunning, kReplaceQueued };
template <>
inline constexpr auto kWords<OnFull> = words<OnFull>({
    {OnFull::kQueue, "queue"},
    {OnFull::kSkip, "skip"},
    {OnFull::kCancelRunning, "cancel_running"},
    {OnFull::kReplaceQueued, "replace_queued"},
});

// How many runs of a DAG go on at once: all of them, or those with the same key.
struct ConcurrencySpec {
  std::string key = {};     // a text with expressions (model/group_key.h); empty: all runs
  std::uint32_t limit = 1;  // 1..kGroupLimitMax
  OnFull on_full = OnFull::kQueue;
};

struct DagSpec {
  std::string name;
  std::vector<NodeSpec> nodes;
  bool barrier_levels = false;  // a level starts only when every lower one is complete
  std::optional<Duration> run_timeout;
  std::vector<ParamSpec> params;  // empty: any params are taken as they are
  std::optional<ScheduleSpec> schedule = {};
  std::optional<Duration> finally_timeout = {};  // of all `finally` tasks together
  std::optional<ConcurrencySpec> concurrency = {};
  // What a run of it gives the task whose child it is: names and texts with expressions.
  std::vector<std::pair<std::string, std::string>> outputs = {};
  // The DAGs that its tasks, or those of one another, refer to; they have none of their own.
  std::vector<std::shared_ptr<const DagSpec>> dags = {};
};

inline constexpr Duration kFinallyTimeout = hours(1);  // where none is given
inline constexpr std::uint32_t kGroupLimitMax = 1'000'000;
inline constexpr Duration kWaitMax = hours(24) * 366;  // how long a wait may be

// The items of a map, counted and read without ever being laid out. Safe for every range there is.

// Whether its items are known only while a run goes on.
inline bool is_late(const MapSpec& map) { return std::holds_alternative<MapOver>(map.over); }

// How many tasks the map makes, as far as the DAG says. 0 for an empty list, a step of 0, one that
// leads away from `last`, and a late map; the one range whose count is 2^64 counts one less.
std::uint64_t count_items(const MapSpec& map);

// The item at a position below count_items(map), as its task sees it.
std::string item_text(const MapSpec& map, std::uint64_t position);

// One number for everything in a specification: equal specifications, equal numbers.
// Order counts wherever the specification keeps an order.

struct SpecDigest {
  std::uint64_t value = 0;
  std::uint64_t bytes = 0;  // about as many as the specification takes up
};
SpecDigest measure(const DagSpec& spec);
inline std::uint64_t digest_of(const DagSpec& spec) { return measure(spec).value; }
// The same for one of its nodes.
std::uint64_t digest_of(const NodeSpec& spec);

}  // namespace vortex
