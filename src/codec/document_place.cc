// Where a node stands in the text, and what to call it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "codec/document.h"
#include "model/check.h"

namespace vortex::codec {
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

}  // namespace vortex::codec
