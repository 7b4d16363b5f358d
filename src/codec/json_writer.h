#pragma once
// Writes JSON straight into a string: no tree in between. Used wherever answers are made.
//
// The caller keeps the nesting right; commas are the writer's. Text that is not UTF-8 is written
// with the replacement character, so the result is always valid JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "codec/document.h"

namespace vortex::codec {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);
  JsonWriter& number(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // Already JSON, for example stored outputs; taken as it is.
  JsonWriter& raw(std::string_view json);
  // 2026-02-22T22:59:55.123456Z; null for kNever.
  JsonWriter& time(Instant at);

  JsonWriter& field(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, const char* value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& field(std::string_view name, std::int64_t value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, std::uint64_t value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, std::uint32_t value) {
    return key(name).number(std::uint64_t{value});
  }
  JsonWriter& field(std::string_view name, Instant value) { return key(name).time(value); }

 private:
  void separate();

  std::string& out_;
  bool comma_ = false;  // a value was just finished on this level
};

// JSON that is passed on without being understood: outputs of tasks, parameters, metadata.
//
// Such text comes from users. It is checked once and kept in compact form: one line, no spaces
// between tokens, numbers as they were written, and not so deep that it could not travel inside
// a message. Pure functions.

// What is deeper could be refused inside a message, and the whole message with it.
inline constexpr std::size_t kPassedDepthMax = 32;

// The compact form of a JSON object; problems if the text is anything else or repeats a key.
Decoded<std::string> compact_object(std::string_view json);

// Appends one value of a document in compact form.
void append_compact(std::string& out, const Document& document, NodeIx node);

}  // namespace vortex::codec
