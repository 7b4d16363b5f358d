#include "model/passing/evaluate.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "model/check.h"

namespace vortex {
namespace {

using ValueKind = Value::Kind;
using Evaluated = std::expected<Found, std::string>;

Found text_found(std::string text) { return {{ValueKind::kText, std::move(text)}}; }

std::string plain_text(const Value& value) {
  return value.kind == ValueKind::kText ? value.text : json_of(value);
}

class Evaluator {
 public:
  explicit Evaluator(const FindValue& find) : find_(find) {}

  std::expected<Value, std::string> usable(const Expression& expression) {
    Evaluated found = evaluate(expression);
    if (!found) return std::unexpected(std::move(found).error());
    if (found->value.kind == ValueKind::kMissing) return std::unexpected(std::move(found->why));
    if (found->value.kind == ValueKind::kNull) {
      return std::unexpected(std::string("the value is null; add a default with ??"));
    }
    return std::move(found->value);
  }

 private:
  // By depth of the expression, which is bounded.
  Evaluated evaluate(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::kText:
        return text_found(expression.text);
      case Expression::Kind::kNumber:
        return Found{{ValueKind::kNumber, expression.text}};
      case Expression::Kind::kBoolean:
        return Found{{ValueKind::kBoolean, expression.text}};
      case Expression::Kind::kNull:
        return Found{{ValueKind::kNull, "null"}};
      case Expression::Kind::kPath:
        return path_value(expression.path);
      case Expression::Kind::kDefault:
        return first_there(expression);
      case Expression::Kind::kJson:
        return as_json(expression);
      case Expression::Kind::kJoin:
        return joined(expression);
    }
    VX_ASSERT(false && "a value outside Expression::Kind");
  }

  Evaluated path_value(const Path& path) {
    Found found = find_(path);
    if (found.value.kind == ValueKind::kTooLarge) {
      return std::unexpected(fmt::format("{}: the value is too large", path.shown));
    }
    if (found.value.kind == ValueKind::kMissing) {
      found.why = fmt::format("{}: {}", path.shown, found.why);
    }
    return found;
  }

  Evaluated first_there(const Expression& expression) {
    Evaluated found = Found{};
    for (const Expression& part : expression.parts) {
      found = evaluate(part);
      if (!found || found->value.is_there()) break;
    }
    return found;
  }

  Evaluated as_json(const Expression& expression) {
    Evaluated found = evaluate(expression.parts.front());
    if (!found || found->value.kind == ValueKind::kMissing) return found;
    return text_found(json_of(found->value));
  }

  Evaluated joined(const Expression& expression) {
    const auto list = usable(expression.parts[0]);
    if (!list) return std::unexpected(list.error());
    if (list->kind != ValueKind::kList) return std::unexpected(std::string("join expects a list"));
    const auto between = usable(expression.parts[1]);
    if (!between) return std::unexpected(between.error());
    std::string out;
    bool first = true;
    for (const Value& item : items_of(*list, list->text.size())) {
      if (!std::exchange(first, false)) out += plain_text(*between);
      if (out.size() <= kArgumentBytesMax) out += plain_text(item);
    }
    return text_found(std::move(out));
  }

  const FindValue& find_;
};

}  // namespace

std::expected<Value, std::string> evaluate(const Expression& expression, const FindValue& find) {
  return Evaluator(find).usable(expression);
}

std::expected<std::string, std::string> render(const Template& tmpl, const FindValue& find) {
  std::string out;
  for (std::size_t i = 0; i < tmpl.texts.size(); ++i) {
    out += tmpl.texts[i];
    if (i < tmpl.expressions.size()) {
      const auto value = evaluate(tmpl.expressions[i], find);
      if (!value) return std::unexpected(value.error());
      out += plain_text(*value);
    }
    if (out.size() > kArgumentBytesMax) {
      return std::unexpected(fmt::format("the result exceeds {} bytes", kArgumentBytesMax));
    }
  }
  return out;
}

std::expected<Value, std::string> render_typed(const Template& tmpl, const FindValue& find) {
  const bool alone =
      tmpl.expressions.size() == 1 && tmpl.texts.front().empty() && tmpl.texts.back().empty();
  if (alone) return evaluate(tmpl.expressions.front(), find);
  auto text = render(tmpl, find);
  if (!text) return std::unexpected(std::move(text).error());
  return Value{ValueKind::kText, *std::move(text)};
}

}  // namespace vortex
