#pragma once
// What a specification must keep to, from single texts up to the whole of it, and the words in
// which a mistake is told.
//
// Everything is checked when a DAG is compiled: a mistake should show at submit, not hours later on
// a worker. The bounds are the meaning of the fields, not settings, and part of the interface: a
// wider bound is a compatible change, a narrower one is not. Pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex {

// Checks of single texts, numbers and times, and the words in which they complain.
//
// A Complaint says what is wrong with the value in it, ready to be shown: texts that came from the
// user are quoted and cut, so no input can break a line or flood a message.

using Complaint = std::optional<std::string>;  // unset: nothing to complain about

inline constexpr std::size_t kNameBytesMax = 100;

// The text in quotes, fit for one line: unprintable bytes as \xNN, long texts cut.
std::string in_quotes(std::string_view text);

std::string to_text(Duration duration);
// In the largest unit that divides it: "1h", "90s".
std::string short_text(Duration duration);

// Names of DAGs, nodes, queues and outputs: A-Z a-z 0-9 _ . - with a letter or digit in front.
Complaint complain_of_name(std::string_view what, std::string_view name);

// Free text of one line: what people type as labels, runtimes and ids of workers.
struct LineRule {
  std::size_t bytes_min = 0;
  std::size_t bytes_max = 0;
};
Complaint complain_of_line(std::string_view what, std::string_view text, LineRule rule);

// Ids that come into paths and URLs: `.` and `..` mean something else there.
Complaint complain_of_dots(std::string_view what, std::string_view id);

// Text that is handed to a process: any bytes but NUL, which would end it early.
Complaint complain_of_argument(std::string_view what, std::string_view text, std::size_t bytes_max);

// No two of the texts may be equal.
Complaint complain_of_twice(std::string_view what, std::vector<std::string_view> texts);

Complaint complain_of_number(std::string_view what, std::int64_t number, std::int64_t low,
                             std::int64_t high);
Complaint complain_of_delay(std::string_view what, Duration delay, Duration high);
Complaint complain_of_timeout(std::string_view what, std::optional<Duration> timeout);

// What a command line must keep to, so that the kernel does not refuse it on the worker.
// Checked when the DAG is compiled: a mistake should show at submit, not hours later.

inline constexpr std::size_t kPathBytesMax = 4'095;         // the kernel's limit for a path
inline constexpr std::size_t kArgumentBytesMax = 131'071;   // the kernel's limit for one argument
inline constexpr std::size_t kCommandBytesMax = 1'048'576;  // arguments and environment together

Complaint complain_of_variable(std::string_view name, std::string_view value);

// The first complaint, if any. An empty command is fine: not every task starts a process.
Complaint complain_of_command(const CommandLine& command);

// The values of one node, judged by themselves: no other node is looked at.
//
// The bounds here are the meaning of the fields, not settings: nothing outside them can run. They
// are part of the interface; a wider bound is a compatible change, a narrower one is not.

inline constexpr std::int64_t kPriorityMax = 100;
// Counts of attempts are 16 bits wide and have to hold crashes and releases as well.
inline constexpr std::int64_t kRetriesMax = 10'000;
inline constexpr std::int64_t kJitterPermilleMax = 1'000;
// A year. Times any 16-bit count, it is still a valid Duration.
inline constexpr Duration kDelayMax = hours(8'760);
// Exact as a JSON number, and sums of them do not overflow.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 53;
inline constexpr std::int64_t kParallelMax = 1'000'000;

inline constexpr std::size_t kLabelBytesMax = 256;  // a label's value, a runtime, a worker
inline constexpr std::size_t kEntriesMax = 64;      // labels, named resources
inline constexpr std::size_t kListMax = 1'000;      // outputs, exit codes, params
inline constexpr std::size_t kHelpBytesMax = 1'000;
inline constexpr std::size_t kFallbackBytesMax = 65'536;

// Names of secrets: a-z 0-9 . _ / - with a letter or digit in front.
inline constexpr std::size_t kSecretNameBytesMax = 200;
inline constexpr std::size_t kSecretBytesMax = 64 * 1024;       // one value
inline constexpr std::size_t kTaskSecretBytesMax = 256 * 1024;  // all values of one task
Complaint complain_of_secret_name(std::string_view name);
// `db/password`, or `db/password@3` for one version. Fills name and version.
Complaint read_secret_reference(std::string_view text, SecretUse& out);

// The first complaint about the node's values, if any. Name and needs are not looked at.
Complaint complain_of_values(const NodeSpec& node);
// What a task that waits must and must not say; nothing about others.
inline constexpr std::size_t kQuestionBytesMax = 1'000;       // of an approval
inline constexpr std::size_t kSignalsMax = 1'000;             // signals and answers, of one run
inline constexpr std::size_t kSignalBytesMax = 64 * 1024;     // payload of one
inline constexpr std::size_t kSignalsBytesMax = 1024 * 1024;  // payloads of all of one run
inline constexpr std::size_t kIdempotencyKeyBytesMax = 256;
inline constexpr std::size_t kCommentBytesMax = 1'000;  // of an answer
Complaint complain_of_wait(const NodeSpec& node);
inline constexpr std::size_t kLimitsOfTaskMax = 8;
inline constexpr std::uint32_t kSlotsOfLimitMax = 1'000'000;
Complaint complain_of_limits(const NodeSpec& node);
// About one param by itself; whether its default has its type is the codec's question.
Complaint complain_of_param(const ParamSpec& param);

// Everything that can be said against a specification without looking at its graph: how much of
// it there is, its names, and the values of its nodes.

// Brings what has no order of its own, labels and named resources, into the one canonical order.
void sort_names(DagSpec& spec);

// What is wrong with the schedule, if there is one: its time zone, its ends, and the params that
// nobody would give its runs.
std::optional<DagError> find_bad_schedule(const DagSpec& spec, const ZoneSource* zones);

// What is wrong with `concurrency`, if there is one: its limit and its key.
std::optional<DagError> find_bad_concurrency(const DagSpec& spec);

// The first thing that is wrong, in the order: sizes, names, values, numbers of tasks.
std::optional<DagError> find_fault(const DagSpec& spec, const DagLimits& limits);

}  // namespace vortex
