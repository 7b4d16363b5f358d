#pragma once
// Reading fields out of answers, and writing JSON for people.
//
// A field that is absent or null is an empty text, zero or unset: an older or newer controller must
// not break the command line. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/time.h"

namespace vortex::cli {

// Text, number or switch as text; lists and objects as JSON.
std::string text_at(const boost::json::object& from, std::string_view key);
std::string text_of(const boost::json::value& value);
std::int64_t number_at(const boost::json::object& from, std::string_view key);
bool flag_at(const boost::json::object& from, std::string_view key);
std::optional<Instant> time_at(const boost::json::object& from, std::string_view key);
// The list or object there, or an empty one.
const boost::json::array& list_at(const boost::json::object& from, std::string_view key);
const boost::json::object& object_at(const boost::json::object& from, std::string_view key);

// Indented by two, members in the order they came in; ends with a newline.
std::string pretty_json(const boost::json::value& value);
// The same in one line, without the newline: for bodies of requests and for jsonl.
std::string compact_json(const boost::json::value& value);

}  // namespace vortex::cli
