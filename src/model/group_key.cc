#include "model/group_key.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/check.h"

namespace vortex {
namespace {

using Kind = Expression::Kind;

struct KeyPart {
  Value value;
  std::string shown;  // where it is from
};

KeyPart constant(Value::Kind kind, const std::string& text) { return {{kind, text}, text}; }

KeyPart find_value(const Expression& expression,
                   const std::function<Value(const Path&)>& value_of) {
  switch (expression.kind) {
    case Kind::kText:
      return constant(Value::Kind::kText, expression.text);
    case Kind::kNumber:
      return constant(Value::Kind::kNumber, expression.text);
    case Kind::kBoolean:
      return constant(Value::Kind::kBoolean, expression.text);
    case Kind::kPath:
      return {value_of(expression.path), expression.path.shown};
    case Kind::kDefault: {
      KeyPart last;
      for (const Expression& part : expression.parts) {
        last = find_value(part, value_of);
        if (last.value.is_there()) break;
      }
      return last;
    }
    case Kind::kNull:
    case Kind::kJson:
    case Kind::kJoin:
      break;
  }
  return {{Value::Kind::kNull, "null"}, "null"};
}

std::string why_no_key(const KeyPart& found) {
  switch (found.value.kind) {
    case Value::Kind::kMissing:
      return fmt::format("has no value: there is no {}; add a default with ??", found.shown);
    case Value::Kind::kNull:
      return fmt::format("has no value: {} is null; add a default with ??", found.shown);
    case Value::Kind::kTooLarge:
      return fmt::format("is too long: {} has more than {} bytes", found.shown, kValueBytesMax);
    case Value::Kind::kList:
    case Value::Kind::kObject:
      return fmt::format("must be a string, a number or a boolean: {} is {}", found.shown,
                         kind_text(found.value.kind));
    default:
      return {};
  }
}

std::optional<std::string> find_bad_kind(const Expression& expression) {
  if (expression.kind == Kind::kJson) return "json() cannot be used in a key";
  if (expression.kind == Kind::kJoin) return "join() cannot be used in a key";
  for (const Expression& part : expression.parts) {
    if (auto bad = find_bad_kind(part)) return bad;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TemplateFault> find_bad_part(const Template& key) {
  for (const Expression& expression : key.expressions) {
    if (auto bad = find_bad_kind(expression)) {
      return TemplateFault{0, *std::move(bad), "use a string, a number or a boolean"};
    }
  }
  return std::nullopt;
}

std::expected<std::string, std::string> evaluate_key(
    const Template& key, const std::function<Value(const Path&)>& value_of) {
  std::string out = key.texts.empty() ? std::string() : key.texts.front();
  for (std::size_t i = 0; i < key.expressions.size(); ++i) {
    const KeyPart found = find_value(key.expressions[i], value_of);
    if (std::string why = why_no_key(found); !why.empty()) return std::unexpected(std::move(why));
    out += found.value.text;
    out += key.texts[i + 1];
  }
  if (out.size() > kGroupKeyBytesMax) {
    return std::unexpected(
        fmt::format("has {} bytes; at most {} are allowed", out.size(), kGroupKeyBytesMax));
  }
  if (auto complaint = complain_of_line("key", out, {0, kGroupKeyBytesMax})) {
    return std::unexpected(fmt::format("must be one line of text: {}", *complaint));
  }
  return out;
}

std::expected<std::string, std::string> key_of_run(const Template& key, std::string_view dag,
                                                   std::string_view params) {
  if (key.expressions.empty()) return key.texts.empty() ? std::string() : key.texts.front();
  std::map<Steps, Value> values;
  for (const Path* path : references(key)) {
    if (path->root != PathRoot::kParam) continue;
    Steps steps{path->name};
    steps.insert(steps.end(), path->steps.begin(), path->steps.end());
    values.emplace(std::move(steps), Value{});
  }
  std::vector<const Steps*> paths;
  for (const auto& [steps, value] : values) paths.push_back(&steps);
  if (!paths.empty() && !params.empty()) {
    auto picked = pick_values(params, paths);
    if (!picked) return std::unexpected("cannot be read from the params: " + picked.error());
    std::size_t next = 0;
    for (auto& [steps, value] : values) value = std::move((*picked)[next++]);
  }
  return evaluate_key(key, [&](const Path& path) {
    if (path.root == PathRoot::kDagName) return Value{Value::Kind::kText, std::string(dag)};
    Steps steps{path.name};
    steps.insert(steps.end(), path.steps.begin(), path.steps.end());
    return values.at(steps);
  });
}

}  // namespace vortex
