#include "codec/syntax_fault.h"

#include <string>

#include <boost/json/error.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "codec/document.h"

namespace vortex::codec {
namespace {

using boost::json::error;

struct Words {
  std::string message;
  std::string help;
};

// A quote, a brace or a bracket that opened and never closed is the usual reason for an early end.
Words early_end(std::string_view json) {
  if (json.find_first_not_of(" \t\r\n") == json.npos) return {"the document is empty", ""};
  return {"the document ends too early", "a quote, brace or bracket is never closed"};
}

Words unexpected(std::string_view json, std::size_t offset) {
  const char found = json[offset];
  const auto byte = static_cast<unsigned char>(found);
  if (byte >= 0x80) {
    if (character_bytes(json, offset) != 0) return {"unexpected text outside quotes", ""};
    return {fmt::format("byte \\x{:02x} is not UTF-8", byte), "save the document as UTF-8"};
  }
  if (byte < 0x20 || byte == 0x7f) {
    return {fmt::format("unexpected control character \\x{:02x}", byte),
            "inside quotes, write it as an escape such as \\n"};
  }
  if (found == '\'') return {"unexpected '", "strings need double quotes"};
  if (found == '/' || found == '#') {
    return {fmt::format("unexpected {}", found), "JSON does not allow comments"};
  }
  const bool closes = found == '}' || found == ']';
  return {fmt::format("unexpected {}", found), closes ? "is there an extra comma?" : ""};
}

Words words_of(std::string_view json, std::size_t offset, const boost::system::error_code& code) {
  if (!code) return {"unexpected content after the end of the document", ""};
  if (code == error::too_deep) return {"lists and objects are too deeply nested", ""};
  if (code == error::exponent_overflow) return {"the number is out of range", ""};
  if (code == error::array_too_large || code == error::object_too_large) {
    return {fmt::format("the document has more than {} values", Document::kNodesMax), ""};
  }
  if (code == error::incomplete || offset >= json.size()) return early_end(json);
  if (code == error::syntax) return unexpected(json, offset);
  return {code.message(), ""};
}

}  // namespace

Problem syntax_fault(std::string_view json, std::size_t offset,
                     const boost::system::error_code& error) {
  auto [message, help] = words_of(json, offset, error);
  const Position at = position_at(json, offset);
  return {.pointer = {},
          .message = std::move(message),
          .help = std::move(help),
          .line = at.line,
          .column = at.column};
}

}  // namespace vortex::codec
