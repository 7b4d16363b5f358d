#pragma once
// Keys of groups: the text by which `concurrency` and `fair_by` tell runs and tasks apart.
//
// A key is a text with expressions, each a path or a choice of paths and constants with `??`. It
// is evaluated by the controller from values that never change, so it is the same after any crash
// and on any controller. Strings, numbers and booleans make a key, nothing else. Pure functions.

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/expression.h"
#include "model/value.h"

namespace vortex {

inline constexpr std::size_t kGroupKeyBytesMax = 256;  // of a key as it is evaluated

// An expression that no key may have, if there is one.
std::optional<TemplateFault> find_bad_part(const Template& key);

// The error completes "the key of ...".
std::expected<std::string, std::string> evaluate_key(
    const Template& key, const std::function<Value(const Path&)>& value_of);

// The key of a run: everything in it is a param or the name of the DAG.
std::expected<std::string, std::string> key_of_run(const Template& key, std::string_view dag,
                                                   std::string_view params);

}  // namespace vortex
