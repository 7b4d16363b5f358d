#include "codec/yaml/yaml_document.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/json_writer.h"
#include "codec/yaml/yaml_tree.h"
#include "model/check.h"

namespace vortex::codec {

// What a plain scalar means: the small part on which all readers of YAML agree.

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count])) ++count;
  return count;
}

// A number of JSON.
bool is_plain_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t decimals = digits_at(text, at + 1);
    if (decimals == 0) return false;
    at += 1 + decimals;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = digits_at(text, at);
    if (exponent == 0 || exponent > 2) return false;
    at += exponent;
  }
  return at == text.size();
}

// 0644, 0x1F, 0o17, 0b1, +5, .5, 5., 1_000, 1e1000, .inf, .nan
bool is_odd_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.empty()) return false;
  const std::string lower = lower_case(text);
  if (lower == ".inf" || lower == ".nan") return true;
  const bool based = lower.starts_with("0x") || lower.starts_with("0o") || lower.starts_with("0b");
  if (based) {
    return lower.size() > 2 && lower.find_first_not_of("0123456789abcdef_", 2) == lower.npos;
  }
  if (!is_digit(lower.front()) && lower.front() != '.') return false;
  if (lower.find_first_of("0123456789") == lower.npos) return false;
  if (std::ranges::count(lower, '.') > 1) return false;  // 10.0.0.1
  const std::size_t rest = lower.find_first_not_of("0123456789._");
  if (rest == lower.npos) return true;
  if (lower[rest] != 'e') return false;
  const std::size_t exponent = lower.find_first_not_of("+-", rest + 1);
  return exponent != lower.npos && lower.find_first_not_of("0123456789_", exponent) == lower.npos;
}

}  // namespace

ScalarKind scalar_kind(std::string_view plain) {
  constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 16> kDisputed{
      "True", "TRUE", "False", "FALSE", "yes", "Yes", "YES", "no",
      "No",   "NO",   "on",    "On",    "ON",  "off", "Off", "OFF"};
  if (std::ranges::find(kNulls, plain) != kNulls.end()) return ScalarKind::kNull;
  if (plain == "true" || plain == "false") return ScalarKind::kBoolean;
  if (std::ranges::find(kDisputed, plain) != kDisputed.end()) return ScalarKind::kAmbiguous;
  if (is_plain_number(plain)) return ScalarKind::kNumber;
  return is_odd_number(plain) ? ScalarKind::kAmbiguous : ScalarKind::kText;
}

namespace {

using Kind = YamlNode::Kind;

// Aliases make a few lines mean millions; what they may come to.
constexpr std::size_t kWrittenNodesMax = 2'000'000;
constexpr std::size_t kWrittenBytesMax = 64 * 1024 * 1024;

struct Member {
  YamlIx key = 0;
  YamlIx value = 0;
};

using Names = std::unordered_set<std::string_view>;

class Writer {
 public:
  Writer(const YamlTree& tree, YamlDocument& out) : tree_(tree), out_(out), json_(out.json) {}

  void write(YamlIx at) {
    const YamlNode& node = followed(at);
    if (!may_go_on(node)) {
      mark(node.at);
      json_.null();
      return;
    }
    switch (node.kind) {
      case Kind::kNull:
        mark(node.at);
        json_.null();
        return;
      case Kind::kPlain:
        return write_plain(node);
      case Kind::kQuoted:
      case Kind::kAlias:
        mark(node.at);
        json_.text(node.text);
        return;
      case Kind::kList:
        return write_list(node);
      case Kind::kMap:
        return write_map(node);
    }
  }

 private:
  const YamlNode& followed(YamlIx at) const {
    const YamlNode* node = &tree_.nodes[at];
    // An alias refers to something before it, so this ends.
    while (node->kind == Kind::kAlias) node = &tree_.nodes[node->target];
    return *node;
  }

  void mark(Position at) { out_.marks.push_back(at); }

  void problem(Position at, std::string message, std::string help = {}) {
    if (out_.problems.size() >= kProblemsMax) return;
    out_.problems.push_back({.pointer = pointer_,
                             .message = std::move(message),
                             .help = std::move(help),
                             .line = at.line,
                             .column = at.column});
  }

  bool may_go_on(const YamlNode& node) {
    const bool too_much =
        out_.marks.size() >= kWrittenNodesMax || out_.json.size() >= kWrittenBytesMax;
    const bool opens = node.kind == Kind::kList || node.kind == Kind::kMap;
    const bool too_deep = opens && depth_ >= kYamlDepthMax;
    if ((too_much || too_deep) && !std::exchange(given_up_, true)) {
      problem(node.at, too_deep ? "aliases make this too deeply nested"
                                : "aliases make this document too large");
    }
    return !given_up_;
  }

  void write_plain(const YamlNode& node) {
    mark(node.at);
    switch (scalar_kind(node.text)) {
      case ScalarKind::kNull:
        json_.null();
        return;
      case ScalarKind::kBoolean:
        json_.boolean(node.text == "true");
        return;
      case ScalarKind::kNumber:
        json_.raw(node.text);
        return;
      case ScalarKind::kAmbiguous:
        ambiguous(node);
        [[fallthrough]];
      case ScalarKind::kText:
        json_.text(node.text);
        return;
    }
  }

  void ambiguous(const YamlNode& node) {
    const bool number = node.text.find_first_of("0123456789.") != node.text.npos;
    problem(node.at,
            fmt::format("{} is {} to some YAML parsers and a string to others",
                        in_quotes(node.text), number ? "a number" : "true or false"),
            fmt::format("put it in quotes: \"{}\", or write {}", node.text,
                        number ? "a plain number" : "true or false"));
  }

  void write_list(const YamlNode& node) {
    mark(node.at);
    json_.begin_array();
    const std::size_t length = pointer_.size();
    ++depth_;
    for (std::size_t i = 0; i < node.children.size() && !given_up_; ++i) {
      append_pointer(pointer_, fmt::to_string(i));
      write(node.children[i]);
      pointer_.resize(length);
    }
    --depth_;
    json_.end_array();
  }

  void write_map(const YamlNode& node) {
    mark(node.at);
    json_.begin_object();
    const std::size_t length = pointer_.size();
    ++depth_;
    for (const Member& member : members_of(node)) {
      if (given_up_) break;
      const YamlNode& key = followed(member.key);
      append_pointer(pointer_, key.text);
      check_key(key);
      mark(tree_.nodes[member.key].at);
      json_.key(key.text);
      write_value(member);
      pointer_.resize(length);
    }
    --depth_;
    json_.end_object();
  }

  // What is not there has no place of its own: it is missing where its key is.
  void write_value(const Member& member) {
    if (followed(member.value).kind != Kind::kNull) return write(member.value);
    mark(tree_.nodes[member.key].at);
    json_.null();
  }

  void check_key(const YamlNode& key) {
    // A word of DAG files: `retry: {on: [failed]}`. Keys are texts here whatever YAML 1.1 made of
    // it.
    if (key.kind == Kind::kQuoted || key.text == "on") return;
    if (key.kind != Kind::kPlain) {
      return problem(key.at, "a key must be a string", "");
    }
    const ScalarKind kind = scalar_kind(key.text);
    if (kind == ScalarKind::kText || kind == ScalarKind::kNumber) return;
    problem(key.at,
            fmt::format("the key {} is not a string to all YAML parsers", in_quotes(key.text)),
            fmt::format("put it in quotes: \"{}\"", key.text));
  }

  bool is_merge(YamlIx key) const {
    return tree_.nodes[key].kind == Kind::kPlain && tree_.nodes[key].text == "<<";
  }

  // The map's own members in their order, then those it takes over and has not itself.
  std::vector<Member> members_of(const YamlNode& map) {
    std::vector<Member> members;
    std::vector<YamlIx> sources;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      if (!is_merge(map.children[i])) {
        members.push_back({map.children[i], map.children[i + 1]});
      } else {
        find_sources(map.children[i + 1], sources);
      }
    }
    if (sources.empty()) return members;
    Names names;
    for (const Member& own : members) names.insert(followed(own.key).text);
    for (const YamlIx source : sources) take_over(followed(source), names, members);
    return members;
  }

  void find_sources(YamlIx value, std::vector<YamlIx>& out) {
    const YamlNode& node = followed(value);
    if (node.kind == Kind::kMap) return out.push_back(value);
    const bool maps = node.kind == Kind::kList && std::ranges::all_of(node.children, [&](YamlIx c) {
                        return followed(c).kind == Kind::kMap;
                      });
    if (!maps) {
      return problem(tree_.nodes[value].at, "<< expects a map or a list of maps", "");
    }
    out.insert(out.end(), node.children.begin(), node.children.end());
  }

  void take_over(const YamlNode& source, Names& names, std::vector<Member>& members) {
    taken_over_ += 1 + source.children.size();
    if (taken_over_ > kWrittenNodesMax && !std::exchange(given_up_, true)) {
      problem(source.at, "<< makes this document too large");
    }
    if (given_up_) return;
    for (const Member& theirs : members_of(source)) {
      if (names.insert(followed(theirs.key).text).second) members.push_back(theirs);
    }
  }

  const YamlTree& tree_;
  YamlDocument& out_;
  JsonWriter json_;
  std::string pointer_;
  std::size_t depth_ = 0;
  std::size_t taken_over_ = 0;
  bool given_up_ = false;
};

}  // namespace

Decoded<YamlDocument> load_yaml(std::string_view text) {
  auto tree = parse_yaml(text);
  if (!tree) return std::unexpected(std::move(tree).error());
  YamlDocument out;
  out.problems = std::move(tree->problems);
  Writer(*tree, out).write(tree->root);
  return out;
}

}  // namespace vortex::codec
