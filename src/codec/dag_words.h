#pragma once
// The words of DAG files, each beside what it means, for reading and writing.
// In files of users: append-only. Internal to the codec.

#include <array>
#include <cstdint>

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

}  // namespace vortex::codec
