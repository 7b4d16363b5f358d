#include "codec/document.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "codec/mistakes.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

namespace json = boost::json;

// Enough for a message with thousands of reports; more is not worth holding on to.
constexpr std::size_t kKeptNodes = 64 * 1024;

std::vector<Node>& kept_nodes() {
  thread_local std::vector<Node> kept;
  return kept;
}

bool looks_whole(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos;
}

}  // namespace

// Receives what the parser finds. The parser sees the whole text at once, so numbers and texts
// without escapes come in one piece that is part of the text.
class Document::Builder {
 public:
  static constexpr std::size_t max_object_size = kNodesMax;  // NOLINT: names that Boost asks for
  static constexpr std::size_t max_array_size = kNodesMax;   // NOLINT
  static constexpr std::size_t max_key_size = 1U << 30U;     // NOLINT
  static constexpr std::size_t max_string_size = 1U << 30U;  // NOLINT

  explicit Builder(Document& document) : document_(document), nodes_(document.nodes_) {}

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code& error) { return open(NodeKind::kObject, error); }
  bool on_object_end(std::size_t members, json::error_code&) { return close(members); }
  bool on_array_begin(json::error_code& error) { return open(NodeKind::kArray, error); }
  bool on_array_end(std::size_t items, json::error_code&) { return close(items); }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return hold(part); }
  bool on_key(json::string_view rest, std::size_t size, json::error_code& error) {
    return add_text(rest, size, error);
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return hold(part); }
  bool on_string(json::string_view rest, std::size_t size, json::error_code& error) {
    return add_text(rest, size, error);
  }

  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view text, json::error_code& error) {
    return add(NodeKind::kInteger, {text.data(), text.size()}, error);
  }
  bool on_uint64(std::uint64_t, json::string_view text, json::error_code& error) {
    return add(NodeKind::kInteger, {text.data(), text.size()}, error);
  }
  bool on_double(double, json::string_view text, json::error_code& error) {
    const std::string_view number(text.data(), text.size());
    return add(looks_whole(number) ? NodeKind::kInteger : NodeKind::kDecimal, number, error);
  }
  bool on_bool(bool value, json::error_code& error) {
    return add(value ? NodeKind::kTrue : NodeKind::kFalse, {}, error);
  }
  bool on_null(json::error_code& error) { return add(NodeKind::kNull, {}, error); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool add(NodeKind kind, std::string_view text, json::error_code& error) {
    if (nodes_.size() >= kNodesMax) {
      error = json::error::array_too_large;
      return false;
    }
    const auto next = static_cast<NodeIx>(nodes_.size() + 1);
    nodes_.push_back({text.data(), static_cast<std::uint32_t>(text.size()), next, kind});
    return true;
  }

  bool open(NodeKind kind, json::error_code& error) {
    open_[depth_++] = static_cast<NodeIx>(nodes_.size());
    return add(kind, {}, error);
  }

  bool close(std::size_t size) {
    Node& node = nodes_[open_[--depth_]];
    node.size = static_cast<std::uint32_t>(size);
    node.next = static_cast<NodeIx>(nodes_.size());
    return true;
  }

  bool is_in_place(json::string_view text) const {
    const std::less_equal<const char*> before;
    const std::string_view all = document_.json_;
    return before(all.data(), text.data()) && before(text.data(), all.data() + all.size());
  }

  bool hold(json::string_view part) {
    parts_.append(part.data(), part.size());
    return true;
  }

  bool add_text(json::string_view rest, std::size_t size, json::error_code& error) {
    // An empty text still needs an address: none would mean "no text".
    if (size == 0) return add(NodeKind::kText, "", error);
    // A text with escapes comes from the parser's own buffer, even when it comes in one piece.
    if (rest.size() == size && is_in_place(rest)) {
      return add(NodeKind::kText, {rest.data(), size}, error);
    }
    parts_.append(rest.data(), rest.size());
    auto* kept = static_cast<char*>(document_.unescaped_.allocate(parts_.size(), 1));
    std::memcpy(kept, parts_.data(), parts_.size());
    const bool added = add(NodeKind::kText, {kept, parts_.size()}, error);
    parts_.clear();
    return added;
  }

  Document& document_;
  std::vector<Node>& nodes_;
  std::string parts_;  // of the text that is being unescaped
  std::array<NodeIx, kDepthMax + 1> open_{};
  std::size_t depth_ = 0;
};

Document::Document() {
  nodes_.swap(kept_nodes());
  nodes_.clear();
}

Document::~Document() {
  if (nodes_.capacity() > kKeptNodes || nodes_.capacity() <= kept_nodes().capacity()) return;
  nodes_.swap(kept_nodes());
}

std::optional<Problem> Document::parse(std::string_view json, std::size_t depth_max) {
  json_ = json;
  if (json.size() > Builder::max_string_size) {
    return Problem{.pointer = {},
                   .message = fmt::format("the document has {} bytes; at most {} are allowed",
                                          json.size(), Builder::max_string_size),
                   .help = {},
                   .line = 0,
                   .column = 0};
  }
  json::parse_options options;
  options.max_depth = std::min(depth_max, kDepthMax);
  json::basic_parser<Builder> parser(options, *this);
  json::error_code error;
  const std::size_t used = parser.write_some(false, json.data(), json.size(), error);
  if (!error && used == json.size()) return std::nullopt;
  nodes_.clear();
  return syntax_fault(json, used, error);
}

// The nodes from below the root down to `node`, keys left out.
std::vector<NodeIx> Document::path_to(NodeIx node) const {
  std::vector<NodeIx> path;
  NodeIx at = 0;
  while (at != node) {
    const bool keyed = kind(at) == NodeKind::kObject;
    NodeIx child = keyed ? at + 2 : at + 1;
    while (nodes_[child].next <= node) child = nodes_[child].next + (keyed ? 1 : 0);
    path.push_back(child);
    if (keyed && node + 1 == child) break;
    at = child;
  }
  return path;
}

std::string Document::pointer_to(NodeIx node) const {
  std::string pointer;
  NodeIx parent = 0;
  for (const NodeIx child : path_to(node)) {
    if (kind(parent) == NodeKind::kObject) {
      append_pointer(pointer, text(child - 1));
    } else {
      std::uint32_t index = 0;
      each_item(parent, [&](NodeIx item) { index += item < child ? 1 : 0; });
      append_pointer(pointer, fmt::to_string(index));
    }
    parent = child;
  }
  return pointer;
}

Position position_at(std::string_view text, std::size_t offset) {
  Position position{.line = 1, .column = 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++position.line;
      position.column = 1;
    } else {
      ++position.column;
    }
  }
  return position;
}

void append_pointer(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

// Where a node stands in the text, and what to call it.

namespace {

std::size_t end_of_text(std::string_view json, std::size_t quote) {
  std::size_t at = quote + 1;
  while (json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at + 1;
}

// Every node is one token, in the order of the text. Precondition: the text is valid JSON and has
// that many tokens.
std::size_t offset_of_token(std::string_view json, std::size_t token) {
  constexpr std::string_view kBetween = " \t\r\n,:]}";
  std::size_t at = json.find_first_not_of(kBetween);
  for (; token > 0; --token) {
    if (json[at] == '"') {
      at = end_of_text(json, at);
    } else if (json[at] == '{' || json[at] == '[') {
      ++at;
    } else {
      at = json.find_first_of(kBetween, at);
    }
    at = json.find_first_not_of(kBetween, at);
  }
  return at;
}

}  // namespace

Position Document::position_of(NodeIx node) const {
  if (marks_ != nullptr) return (*marks_)[node];
  return position_at(json_, offset_of_token(json_, node));
}

std::optional<NodeIx> Document::find(std::string_view pointer) const {
  NodeIx at = 0;
  while (!pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string_view token = pointer.substr(0, end);
    pointer.remove_prefix(end);
    std::optional<NodeIx> next;
    const auto meet = [&](std::string_view name, NodeIx value) {
      std::string step;
      append_pointer(step, name);
      if (step == token && !next) next = value;
    };
    if (kind(at) == NodeKind::kObject) {
      each_member(at, [&](NodeIx key, NodeIx value) { meet(text(key), value); });
    } else if (kind(at) == NodeKind::kArray) {
      std::uint32_t index = 0;
      each_item(at, [&](NodeIx item) { meet(fmt::to_string(index++), item); });
    }
    if (!next) return std::nullopt;
    at = *next;
  }
  return at;
}

std::string Document::name_of(NodeIx node) const {
  const auto path = path_to(node);
  std::string name = "the document";
  NodeIx parent = 0;
  for (const NodeIx child : path) {
    if (kind(parent) == NodeKind::kObject) {
      name = in_quotes(text(child - 1));
    } else {
      std::uint32_t number = 0;
      each_item(parent, [&](NodeIx item) { number += item <= child ? 1 : 0; });
      name = fmt::format("item {} of {}", number, name);
    }
    parent = child;
  }
  return name;
}

std::string Document::owner_of(NodeIx node) const {
  const auto path = path_to(node);
  return name_of(path.size() < 2 ? 0 : path[path.size() - 2]);
}

std::string_view object_at(std::string_view json, Position at) {
  for (std::uint32_t line = 1; line < at.line; ++line) json.remove_prefix(json.find('\n') + 1);
  json.remove_prefix(at.column - 1);
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']') && --depth == 0)
      return json.substr(0, i + 1);
  }
  return json;
}

}  // namespace vortex::codec
