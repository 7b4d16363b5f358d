#pragma once
// Expressions with values: what is asked for comes from whoever knows it.
//
// Typed: a string is taken as it is, numbers and booleans plain, lists and objects as compact JSON.
// What is missing or null is an error unless the expression has a default. Bounded: a text has at
// most kArgumentBytesMax bytes. Pure functions.

#include <expected>
#include <functional>
#include <string>

#include "model/expression.h"
#include "model/value.h"

namespace vortex {

struct Found {
  Value value;           // kMissing: there is none
  std::string why = {};  // of a missing one
};

// What a path leads to.
using FindValue = std::function<Found(const Path&)>;

// A value that can be used, or why there is none.
std::expected<Value, std::string> evaluate(const Expression& expression, const FindValue& find);

// The text with every expression replaced by its value.
std::expected<std::string, std::string> render(const Template& tmpl, const FindValue& find);

// The same, but a text that is a single expression keeps the type of its value.
std::expected<Value, std::string> render_typed(const Template& tmpl, const FindValue& find);

}  // namespace vortex
