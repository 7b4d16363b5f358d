#include "cli/address.h"

#include <fmt/format.h>

namespace vortex::cli {
namespace {

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    is_plain(c) ? out += c : out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  // A segment of dots alone would be taken for a way up.
  if (out == "." || out == "..") out = out == "." ? "%2E" : "%2E%2E";
  return out;
}

std::string with_query(std::string_view path, const QueryItems& items) {
  std::string out(path);
  char separator = path.contains('?') ? '&' : '?';
  for (const auto& [name, value] : items) {
    if (value.empty()) continue;
    out += fmt::format("{}{}={}", separator, name, escaped(value));
    separator = '&';
  }
  return out;
}

}  // namespace vortex::cli
