#pragma once
// A DAG out of a parsed document, in whichever syntax it was written, with the words of DAG files
// beside what they mean. Internal to the codec.
//
// Problems go to the Reading; what was read around them is given all the same. The words are in
// files of users: append-only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "model/dag.h"

namespace vortex::codec {

// The version of the form; files may say it, nothing else is read.
inline constexpr std::int64_t kDagVersion = 1;

inline constexpr std::array<Word<TriggerRule>, 7> kTriggerRules{{
    {"all_success", TriggerRule::kAllSuccess},
    {"all_failed", TriggerRule::kAllFailed},
    {"all_done", TriggerRule::kAllDone},
    {"one_success", TriggerRule::kOneSuccess},
    {"one_failed", TriggerRule::kOneFailed},
    {"none_failed", TriggerRule::kNoneFailed},
    {"none_skipped", TriggerRule::kNoneSkipped},
}};

inline constexpr std::array<Word<BackoffKind>, 3> kBackoffKinds{{
    {"fixed", BackoffKind::kFixed},
    {"linear", BackoffKind::kLinear},
    {"exponential", BackoffKind::kExponential},
}};

inline constexpr std::array<Word<RetryCause>, 6> kRetryCauses{{
    {"failed", RetryCause::kFailed},
    {"signal", RetryCause::kSignal},
    {"out_of_memory", RetryCause::kOutOfMemory},
    {"could_not_start", RetryCause::kCouldNotStart},
    {"timed_out", RetryCause::kTimedOut},
    {"stale", RetryCause::kStale},
}};

inline constexpr std::array<Word<ParamType>, 5> kParamTypes{{
    {"string", ParamType::kString},
    {"number", ParamType::kNumber},
    {"boolean", ParamType::kBoolean},
    {"list", ParamType::kList},
    {"object", ParamType::kObject},
}};

enum class StaleSign : std::uint8_t { kProgress, kOutput };
inline constexpr std::array<Word<StaleSign>, 2> kStaleSigns{{
    {"progress", StaleSign::kProgress},
    {"output", StaleSign::kOutput},
}};

inline constexpr std::array<Word<bool>, 1> kBarriers{{{"levels", true}}};

// Tables of fields made of smaller ones, and the reader of keys that are reserved.
// Everything is done while compiling. Internal to the codec.

template <class T, std::size_t N>
struct JoinedFields {
  Field<T> fields[N];
};

template <class T, std::size_t A, std::size_t B>
constexpr JoinedFields<T, A + B> joined(const Field<T> (&first)[A], const Field<T> (&second)[B]) {
  JoinedFields<T, A + B> out{};
  for (std::size_t i = 0; i < A; ++i) out.fields[i] = first[i];
  for (std::size_t i = 0; i < B; ++i) out.fields[A + i] = second[i];
  return out;
}

// A key that has its meaning already, though nothing here acts on it: better than "unknown".
template <class T>
void not_yet(Reading& in, NodeIx value, T& /*out*/) {
  if (!in.full()) in.problem(value - 1, in.document().name_of(value) + " is not supported yet");
}

// The keys of a table, without those that are only reserved.
template <class T, std::size_t N>
std::vector<std::string_view> keys_of(const Field<T> (&fields)[N]) {
  std::vector<std::string_view> keys;
  for (const Field<T>& field : fields) {
    if (field.read != &not_yet<T>) keys.push_back(field.name);
  }
  return keys;
}

// One task of a DAG out of a document, with the defaults of its file filled in.
// The members of a task are the same in JSON and YAML; YAML has a few more. Internal to the codec.

struct TaskDraft {
  NodeSpec spec;
  CommandDraft command;
  NodeIx shell = 0;  // 0: not given
  NodeIx retry = 0;
  NodeIx retries = 0;
  NodeIx map = 0;
  NodeIx matrix = 0;
  NodeIx wait = 0;
  NodeIx dag = 0;
  NodeIx params = 0;
};

struct TaskNodes {
  NodeIx key = 0;
  NodeIx value = 0;
};

NodeSpec read_task(Reading& in, const TaskNodes& at, const TaskDraft& defaults);
// Default values for all tasks.
void read_defaults(Reading& in, NodeIx node, TaskDraft& out);
// Every combination of the lists of a matrix becomes one item of a map.
void read_matrix(Reading& in, TaskDraft& draft);

// What a task waits for instead of running a command. Other members that are about one are refused.
void read_wait(Reading& in, NodeIx node, TaskDraft& out);
void refuse_beside_wait(Reading& in, NodeIx task);
void write_wait(JsonWriter& json, const WaitSpec& wait);

// How many runs of a DAG go on at once.
void read_concurrency(Reading& in, NodeIx node, std::optional<ConcurrencySpec>& out);
// Its member, or nothing where there is none.
void write_concurrency(JsonWriter& json, const std::optional<ConcurrencySpec>& spec);
// The same for a task that is a sub-DAG, and what a DAG says for those that run it as one.
void read_child_dag(Reading& in, NodeIx node, TaskDraft& out);
void read_child_params(Reading& in, NodeIx node, TaskDraft& out);
void refuse_beside_dag(Reading& in, const TaskDraft& draft, NodeIx task);
void write_child(JsonWriter& json, const ChildSpec& child);
void read_dag_outputs(Reading& in, NodeIx node, DagSpec& out);
void read_carried_dags(Reading& in, NodeIx node, DagSpec& out);
void write_dag_outputs(JsonWriter& json, const DagSpec& spec);
void write_carried_dags(JsonWriter& json, const DagSpec& spec);

void read_timeout(Reading& in, NodeIx node, std::optional<Duration>& out);

// The keys that each part of a YAML file may have; the JSON Schema must know the same ones.
std::vector<std::string_view> task_keys();
std::vector<std::string_view> default_keys();
std::vector<std::string_view> retry_keys();
std::vector<std::string_view> map_keys();
std::vector<std::string_view> range_keys();
std::vector<std::string_view> wait_keys();
std::vector<std::string_view> concurrency_keys();

void read_dag_document(Reading& in, NodeIx root, DagSpec& out);

// The keys that a YAML file and its params may have.
std::vector<std::string_view> dag_keys();
std::vector<std::string_view> param_keys();

}  // namespace vortex::codec
