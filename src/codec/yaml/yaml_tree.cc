#include "codec/yaml/yaml_tree.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/node/node.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"
#include "codec/mistakes.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

using Kind = YamlNode::Kind;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kTextTag = "tag:yaml.org,2002:str";

Position place(const YAML::Mark& mark) {
  return {.line = static_cast<std::uint32_t>(mark.line + 1),
          .column = static_cast<std::uint32_t>(mark.column + 1)};
}

Problem problem_at(Position at, std::string message, std::string help = {}) {
  return {.pointer = {},
          .message = std::move(message),
          .help = std::move(help),
          .line = at.line,
          .column = at.column};
}

std::size_t offset_of(const YAML::Mark& mark) { return static_cast<std::size_t>(mark.pos); }

// The library takes the end of the file for the end of a quoted text.
bool is_closed(std::string_view scalar) {
  while (scalar.starts_with('&') || scalar.starts_with('!')) {  // an anchor, a tag
    const std::size_t end = std::min(scalar.find_first_of(" \t\r\n"), scalar.size());
    scalar.remove_prefix(std::min(scalar.find_first_not_of(" \t\r\n", end), scalar.size()));
  }
  if (!scalar.starts_with('"') && !scalar.starts_with('\'')) return true;
  const char quote = scalar.front();
  for (std::size_t at = 1; at < scalar.size(); ++at) {
    if (scalar[at] == quote) return true;  // two single quotes are one that closes and one more
    if (quote == '"' && scalar[at] == '\\') ++at;
  }
  return false;
}

// Thrown through the parser, which has no other way to be stopped, and caught beside it.
struct Stopped {};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(YamlTree& tree, std::string_view text) : tree_(tree), text_(text) {}

  // The tree is not whole; the last problem says why.
  bool stopped() const { return stopped_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    stop(place(mark), "a second document starts here", "a file contains one DAG: split it");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Kind::kNull, place(mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const YamlIx target = anchors_.at(anchor);
    if (std::ranges::find(open_, target) != open_.end()) {
      stop(place(mark), "this alias refers to something that contains it", "");
    }
    const YamlIx node = add(Kind::kAlias, place(mark), 0);
    tree_.nodes[node].target = target;
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // The library's marks for "no tag": ? in front of plain scalars, ! in front of all others.
    const bool plain = tag == "?" || tag.empty();
    if (!plain && tag != "!" && tag != kTextTag) refuse_tag(mark, tag);
    if (!plain && !is_closed(text_.substr(std::min(offset_of(mark), text_.size())))) {
      stop(place(mark), "a quote is never closed", "");
    }
    const YamlIx node = add(plain ? Kind::kPlain : Kind::kQuoted, place(mark), anchor);
    tree_.nodes[node].text = value;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  [[noreturn]] void stop(Position at, std::string message, std::string help) {
    tree_.problems.push_back(problem_at(at, std::move(message), std::move(help)));
    stopped_ = true;
    throw Stopped{};
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tree_.problems.size() >= kProblemsMax) return;
    tree_.problems.push_back(problem_at(place(mark),
                                        fmt::format("the tag {} is not supported", in_quotes(tag)),
                                        "remove it; quotes turn a number into a string"));
  }

  YamlIx add(Kind kind, Position at, YAML::anchor_t anchor) {
    const auto node = static_cast<YamlIx>(tree_.nodes.size());
    tree_.nodes.push_back({.kind = kind, .at = at, .text = {}, .children = {}, .target = 0});
    if (open_.empty()) {
      tree_.root = node;
    } else {
      tree_.nodes[open_.back()].children.push_back(node);
    }
    if (anchor != 0) anchors_[anchor] = node;
    return node;
  }

  void open(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse_tag(mark, tag);
    if (open_.size() == kYamlDepthMax) {
      stop(place(mark), fmt::format("lists and objects are nested deeper than {}", kYamlDepthMax),
           "");
    }
    open_.push_back(add(kind, place(mark), anchor));
  }

  YamlTree& tree_;
  std::string_view text_;
  std::map<YAML::anchor_t, YamlIx> anchors_;
  std::vector<YamlIx> open_;
  std::size_t documents_ = 0;
  bool stopped_ = false;
};

std::optional<Problem> find_unreadable(std::string_view text) {
  if (text.size() > kYamlBytesMax) {
    return problem_at({1, 1}, fmt::format("the file has {} bytes; at most {} are allowed",
                                          text.size(), kYamlBytesMax));
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    const bool control = bytes == 1 && static_cast<unsigned char>(text[at]) < 0x20 &&
                         !std::string_view("\t\r\n").contains(text[at]);
    if (bytes == 0 || control) {
      const auto byte = static_cast<unsigned char>(text[at]);
      return control ? problem_at(position_at(text, at),
                                  fmt::format("unexpected control character \\x{:02x}", byte))
                     : problem_at(position_at(text, at),
                                  fmt::format("byte \\x{:02x} is not UTF-8", byte),
                                  "save the file as UTF-8");
    }
    at += bytes;
  }
  return std::nullopt;
}

std::optional<Problem> run_parser(std::string_view text, TreeBuilder& builder) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stopped&) {
    return std::nullopt;  // already told
  } catch (const YAML::Exception& fault) {
    const bool known = !fault.mark.is_null();
    return yaml_fault(text, known ? place(fault.mark) : Position{1, 1}, fault.msg);
  } catch (const std::exception& fault) {
    return problem_at({1, 1}, fmt::format("cannot read the file: {}", fault.what()));
  }
  return std::nullopt;
}

}  // namespace

Decoded<YamlTree> parse_yaml(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto fault = find_unreadable(text)) return std::unexpected(Problems{*std::move(fault)});
  YamlTree tree;
  TreeBuilder builder(tree, text);
  if (auto fault = run_parser(text, builder)) {
    tree.problems.push_back(*std::move(fault));
    return std::unexpected(std::move(tree.problems));
  }
  const bool nothing = tree.nodes.empty() || tree.nodes[tree.root].kind == Kind::kNull;
  if (nothing && tree.problems.empty()) {
    return std::unexpected(Problems{problem_at({1, 1}, "the document is empty")});
  }
  if (tree.nodes.empty() || builder.stopped()) return std::unexpected(std::move(tree.problems));
  return tree;
}

}  // namespace vortex::codec
