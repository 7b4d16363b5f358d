#include "codec/right_form.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/json_text.h"

namespace vortex::codec {
namespace {

constexpr std::size_t kFormBytes = 300;
constexpr std::size_t kTasksShown = 4;
constexpr std::size_t kTaskBytes = 100;

// `filled_in`, or `example` where that would break a line or flood the message.
std::string form(std::string filled_in, std::string_view example) {
  const auto breaks = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  const bool fits = filled_in.size() <= kFormBytes && std::ranges::none_of(filled_in, breaks);
  return fits ? std::move(filled_in) : std::string(example);
}

// In the syntax of the file.
std::string key(const Document& document, std::string_view name) {
  return document.syntax() == Syntax::kYaml ? std::string(name) : fmt::format("\"{}\"", name);
}

// One item of a list of tasks as the member of a map that it means; empty: it has no name.
std::string as_member(const Document& document, NodeIx item) {
  if (document.kind(item) == NodeKind::kText) {
    return fmt::format("{}: {{run: [...]}}", key(document, document.text(item)));
  }
  if (document.kind(item) != NodeKind::kObject) return {};
  std::string name;
  std::string rest;
  document.each_member(item, [&](NodeIx member, NodeIx value) {
    const std::string_view word = document.text(member);
    if (name.empty() && (word == "name" || word == "id")) {
      name = document.text(value);
      return;
    }
    rest += fmt::format("{}{}: ", rest.empty() ? "" : ", ", key(document, word));
    append_compact(rest, document, value);
  });
  // - build: {run: [make]}
  if (name.empty()) return document.count(item) == 1 ? rest : "";
  std::string member = fmt::format("{}: {{{}}}", key(document, name), rest);
  return member.size() <= kTaskBytes ? member : fmt::format("{}: {{...}}", key(document, name));
}

}  // namespace

std::string retry_form(const Document& document, NodeIx number) {
  const std::string_view value = document.text(number);
  return form(fmt::format("write {}: {}, or {}: {{{}: {}}}", key(document, "retries"), value,
                          key(document, "retry"), key(document, "max"), value),
              "write retries: 3, or retry: {max: 3}");
}

std::string both_retries_form(const Document& document, NodeIx number) {
  return form(fmt::format("write {}: {{{}: {}, ...}}", key(document, "retry"), key(document, "max"),
                          document.text(number)),
              "write retry: {max: 3, ...}");
}

std::string env_form(const Document& document, NodeIx list) {
  constexpr std::string_view kExample = "write env: {NAME: value}";
  std::string pairs;
  bool fits = document.count(list) > 0;
  document.each_item(list, [&](NodeIx item) {
    const std::string_view text = document.text(item);
    const std::size_t mark = text.find('=');
    fits = fits && mark != text.npos && mark > 0 && pairs.size() < kFormBytes &&
           !text.contains('"') && !text.contains('\\');
    if (!fits) return;
    pairs += fmt::format("{}{}: \"{}\"", pairs.empty() ? "" : ", ",
                         key(document, text.substr(0, mark)), text.substr(mark + 1));
  });
  if (!fits) return std::string(kExample);
  return form(fmt::format("write {}: {{{}}}", key(document, "env"), pairs), kExample);
}

std::string shell_form(const Document& document, NodeIx text) {
  constexpr std::string_view kExample = "write shell: [bash, -euc]";
  std::string words(document.text(text));
  if (words.empty() || words.size() > kFormBytes) return std::string(kExample);
  // Alone, a shell reads a script from its input: the options make it take the next word, and stop
  // at the first error.
  const bool alone = !words.contains(' ');
  if (alone) words += words.contains("python") ? " -c" : " -euc";
  std::string list;
  for (const char c : words) {
    if (c == ' ') {
      list += document.syntax() == Syntax::kYaml ? ", " : "\", \"";
    } else {
      list += c;
    }
  }
  return form(fmt::format("write {}: [{}]", key(document, "shell"), key(document, list)), kExample);
}

std::string tasks_form(const Document& document, NodeIx list) {
  std::string members;
  std::size_t shown = 0;
  document.each_item(list, [&](NodeIx item) {
    if (shown == kTasksShown) return;
    const std::string member = as_member(document, item);
    if (member.empty()) return;
    members += fmt::format("{}{}", shown == 0 ? "" : ", ", member);
    ++shown;
  });
  if (shown == 0) members = "build: {run: [make]}";
  if (shown < document.count(list)) members += ", ...";
  return form(fmt::format("write a map of names to tasks: {{{}}}", members),
              "write a map of names to tasks: {build: {run: [make]}, ...}");
}

}  // namespace vortex::codec
