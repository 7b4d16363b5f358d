#include "codec/json_writer.h"

#include <array>
#include <charconv>
#include <cstring>
#include <expected>
#include <utility>

#include "base/text.h"
#include "codec/reading.h"
#include "codec/text.h"

namespace vortex::codec {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
constexpr std::uint64_t kHighBits = kOnes * 0x80;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = is_plain(static_cast<char>(i));
  return plain;
}();

// High bits are set in the bytes of `word` that equal `byte`, and perhaps in bytes above those.
constexpr std::uint64_t equal_bytes(std::uint64_t word, unsigned char byte) {
  const std::uint64_t difference = word ^ (kOnes * byte);
  return (difference - kOnes) & ~difference & kHighBits;
}

// Eight bytes at a time: none is a control character, a quote, a backslash or above ASCII.
bool are_plain(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  const std::uint64_t controls = (word - kOnes * 0x20) & ~word & kHighBits;
  return ((word & kHighBits) | controls | equal_bytes(word, '"') | equal_bytes(word, '\\')) == 0;
}

// The end of what can be written as it is from `at` on: plain ASCII and whole UTF-8 characters.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  while (true) {
    while (at + 8 <= text.size() && are_plain(text.data() + at)) at += 8;
    while (at < text.size() && kPlain[static_cast<unsigned char>(text[at])]) ++at;
    if (at == text.size() || static_cast<unsigned char>(text[at]) < 0x80) return at;
    const std::size_t bytes = character_bytes(text, at);
    if (bytes == 0) return at;
    at += bytes;
  }
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) {
    out += kReplacement;
    return;
  }
  out += "\\u00";
  out += kHex[byte >> 4U];
  out += kHex[byte & 0xFU];
}

// What stands around a text besides its quotes.
struct Around {
  bool comma = false;
  bool colon = false;
};

// Nothing to escape: all of it in one piece.
void append_plain(std::string& out, std::string_view text, Around around) {
  const std::size_t size = out.size();
  const std::size_t most = size + text.size() + 4;
  out.resize_and_overwrite(most, [&](char* start, std::size_t) {
    char* at = start + size;
    if (around.comma) *at++ = ',';
    *at++ = '"';
    at += text.copy(at, text.size());
    *at++ = '"';
    if (around.colon) *at++ = ':';
    return static_cast<std::size_t>(at - start);
  });
}

void append_text(std::string& out, std::string_view text, Around around) {
  std::size_t end = end_of_run(text, 0);
  if (end == text.size()) return append_plain(out, text, around);
  if (around.comma) out += ',';
  out += '"';
  std::size_t at = 0;
  while (true) {
    out.append(text, at, end - at);
    if (end == text.size()) break;
    append_escape(out, text[end]);
    at = end + 1;
    end = end_of_run(text, at);
  }
  out += '"';
  if (around.colon) out += ':';
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  append_text(out_, name, {.comma = comma_, .colon = true});
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  append_text(out_, value, {.comma = comma_, .colon = false});
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::time(Instant at) {
  separate();
  append_time(out_, at);
  return *this;
}

namespace {

// As deep as the document, and that is bounded.
void write_compact(JsonWriter& json, const Document& document, NodeIx node) {
  switch (document.kind(node)) {
    case NodeKind::kNull:
      json.null();
      return;
    case NodeKind::kFalse:
    case NodeKind::kTrue:
      json.boolean(document.kind(node) == NodeKind::kTrue);
      return;
    case NodeKind::kInteger:
    case NodeKind::kDecimal:
      json.raw(document.text(node));
      return;
    case NodeKind::kText:
      json.text(document.text(node));
      return;
    case NodeKind::kArray:
      json.begin_array();
      document.each_item(node, [&](NodeIx item) { write_compact(json, document, item); });
      json.end_array();
      return;
    case NodeKind::kObject:
      json.begin_object();
      document.each_member(node, [&](NodeIx key, NodeIx value) {
        json.key(document.text(key));
        write_compact(json, document, value);
      });
      json.end_object();
      return;
  }
}

void check_names(Reading& in, NodeIx node) {
  if (in.document().kind(node) == NodeKind::kArray) {
    in.document().each_item(node, [&](NodeIx item) { check_names(in, item); });
  } else if (in.document().kind(node) == NodeKind::kObject) {
    is_object_of_names(in, node);
    in.document().each_member(node, [&](NodeIx, NodeIx value) { check_names(in, value); });
  }
}

}  // namespace

Decoded<std::string> compact_object(std::string_view json) {
  Document document;
  if (auto fault = document.parse(json, kPassedDepthMax)) {
    return std::unexpected(Problems{*std::move(fault)});
  }
  Reading in(document, UnknownKeys::kIgnored);
  if (is_object(in, 0)) check_names(in, 0);
  if (!in.fine()) return std::unexpected(in.take_problems());
  std::string out;
  append_compact(out, document, 0);
  return out;
}

void append_compact(std::string& out, const Document& document, NodeIx node) {
  JsonWriter json(out);
  write_compact(json, document, node);
}

}  // namespace vortex::codec
