#include "net/target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace vortex::net {
namespace {

enum class Plus { kStays, kIsSpace };

// Undoes percent-encoding; the text says what is wrong, null: nothing.
const char* decode(std::string_view text, Plus plus, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return "a % without two hex digits";
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kIsSpace) {
      c = ' ';
    }
    if (c == '\0') return "a NUL character";
    out.push_back(c);
  }
  return is_utf8(out) ? nullptr : "bytes that are not UTF-8";
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

const char* read_segment(std::string_view raw, std::string& out) {
  if (raw.empty()) return "an empty segment in the path";
  if (const char* fault = decode(raw, Plus::kStays, out)) return fault;
  if (out == "." || out == "..") return "a . or .. segment in the path";
  return has_control(out) ? "a control character in the path" : nullptr;
}

// `path` without its first slash; one slash at the end means nothing.
const char* read_path(std::string_view path, std::vector<std::string>& segments) {
  if (path.ends_with('/')) {
    path.remove_suffix(1);
    if (path.empty()) return "an empty segment in the path";
  }
  while (!path.empty()) {
    if (segments.size() == kSegmentsMax) return "more than 32 segments in the path";
    const std::size_t slash = path.find('/');
    if (const char* fault = read_segment(path.substr(0, slash), segments.emplace_back())) {
      return fault;
    }
    if (slash == path.npos) break;
    path.remove_prefix(slash + 1);
    if (path.empty()) return "an empty segment in the path";
  }
  return nullptr;
}

const char* read_query(std::string_view text, Query& query) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    auto& [name, value] = query.items.emplace_back();
    if (const char* fault = decode(item.substr(0, equals), Plus::kIsSpace, name)) return fault;
    if (equals == item.size()) continue;
    if (const char* fault = decode(item.substr(equals + 1), Plus::kIsSpace, value)) return fault;
  }
  return nullptr;
}

}  // namespace

std::optional<Refusal> read_target(std::string_view target, Request& request) {
  request.segments.clear();
  request.query.items.clear();
  if (target.size() > kTargetBytesMax) {
    return Refusal{414, fmt::format("the target is longer than {} bytes", kTargetBytesMax)};
  }
  request.target = target;
  if (!target.starts_with('/')) {
    return Refusal{400, "the target must be a path that starts with /"};
  }
  if (target.find('#') != target.npos) return Refusal{400, "a # in the target"};
  const std::size_t mark = std::min(target.find('?'), target.size());
  const char* fault = read_path(target.substr(1, mark - 1), request.segments);
  if (fault == nullptr && mark < target.size()) {
    fault = read_query(target.substr(mark + 1), request.query);
  }
  if (fault == nullptr) return std::nullopt;
  return Refusal{400, fmt::format("the target has {}", fault)};
}

}  // namespace vortex::net
