// What conditions mean: the types of their operands, and whether they are true.

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "model/check.h"
#include "model/condition.h"

namespace vortex {
namespace {

using ConditionKind = Condition::Kind;
using Type = Value::Kind;

// ---- Types ----

bool is_known(Type type) { return type != Type::kMissing; }
bool is_plain_type(Type type) {
  return type == Type::kBoolean || type == Type::kNumber || type == Type::kText;
}

// What is wrong with values of these types on both sides; empty: nothing. The same words before a
// run and while it runs.
std::string wrong_operands(ConditionKind kind, Type left, Type right) {
  const bool both = is_known(left) && is_known(right);
  const auto is_not = [](Type type, Type wanted) { return is_known(type) && type != wanted; };
  switch (kind) {
    case ConditionKind::kEqual:
    case ConditionKind::kUnequal:
      for (const Type type : {left, right}) {
        if (type == Type::kList || type == Type::kObject) {
          return fmt::format("{} cannot be compared as a whole", kind_text(type));
        }
      }
      if (!both || left == right || left == Type::kNull || right == Type::kNull) return {};
      return fmt::format("{} is compared with {}", kind_text(left), kind_text(right));
    case ConditionKind::kLess:
    case ConditionKind::kLessOrEqual:
    case ConditionKind::kMore:
    case ConditionKind::kMoreOrEqual:
      for (const Type type : {left, right}) {
        if (is_known(type) && type != Type::kNumber && type != Type::kText) {
          return fmt::format("{} has no order; only numbers and strings have", kind_text(type));
        }
      }
      if (!both || left == right) return {};
      return fmt::format("{} is compared with {}", kind_text(left), kind_text(right));
    case ConditionKind::kIn:
      if (is_known(right) && right != Type::kList && right != Type::kObject) {
        return fmt::format("'in' expects a list or an object on its right, not {}",
                           kind_text(right));
      }
      return is_known(left) && !is_plain_type(left)
                 ? fmt::format("'in' cannot look for {}", kind_text(left))
                 : "";
    case ConditionKind::kContains:
      if (is_known(left) && left != Type::kText && left != Type::kList && left != Type::kObject) {
        return fmt::format("contains() expects a list, a string or an object, not {}",
                           kind_text(left));
      }
      if (is_known(right) && !is_plain_type(right)) {
        return fmt::format("contains() cannot look for {}", kind_text(right));
      }
      return left == Type::kText && is_not(right, Type::kText)
                 ? fmt::format("contains() cannot look for {} in a string", kind_text(right))
                 : "";
    case ConditionKind::kStartsWith:
      for (const Type type : {left, right}) {
        if (is_not(type, Type::kText)) {
          return fmt::format("starts_with() expects strings, not {}", kind_text(type));
        }
      }
      return {};
    default:
      return {};
  }
}

class TypeChecker {
 public:
  explicit TypeChecker(const TypeOf& type_of) : type_of_(type_of) {}

  std::optional<TemplateFault> run(const Condition& condition) {
    must_be_true_or_false(condition, type_of(condition));
    return std::move(fault_);
  }

 private:
  void wrong(const Condition& at, std::string message, std::string help = {}) {
    if (!fault_) fault_ = TemplateFault{at.offset, std::move(message), std::move(help)};
  }

  void must_be_true_or_false(const Condition& at, Type type) {
    if (!is_known(type) || type == Type::kBoolean) return;
    wrong(at, fmt::format("{} stands where true or false is expected", kind_text(type)),
          "compare it with a value, for example with == or in");
  }

  Type type_of(const Condition& condition) {
    switch (condition.kind) {
      case ConditionKind::kLiteral:
        return condition.literal.kind;
      case ConditionKind::kPath:
        return type_of_(condition.path);
      case ConditionKind::kRunResult:
        return Type::kText;
      case ConditionKind::kList:
        for (const Condition& part : condition.parts) type_of(part);
        return Type::kList;
      case ConditionKind::kDefault:
        return default_type(condition);
      case ConditionKind::kOr:
      case ConditionKind::kAnd:
      case ConditionKind::kNot:
        for (const Condition& part : condition.parts) must_be_true_or_false(part, type_of(part));
        return Type::kBoolean;
      default:
        break;
    }
    if (!condition.parts.empty()) check_pair(condition);
    return Type::kBoolean;
  }

  Type default_type(const Condition& condition) {
    Type type = Type::kNull;
    for (const Condition& part : condition.parts) {
      const Type own = type_of(part);
      if (part.kind == ConditionKind::kList) {
        wrong(part, "a list cannot be a default", "write it behind 'in', or into contains()");
      }
      if (type == Type::kNull) {
        type = own;
      } else if (own != type && own != Type::kNull) {
        type = Type::kMissing;
      }
    }
    return type;
  }

  void check_pair(const Condition& condition) {
    const Type left = type_of(condition.parts[0]);
    const Type right = type_of(condition.parts[1]);
    std::string message = wrong_operands(condition.kind, left, right);
    if (message.empty()) return;
    const bool text_and_number = (left == Type::kText && right == Type::kNumber) ||
                                 (left == Type::kNumber && right == Type::kText);
    wrong(
        condition, std::move(message),
        text_and_number ? "write numbers without quotes, and declare params of type: number" : "");
  }

  const TypeOf& type_of_;
  std::optional<TemplateFault> fault_;
};

// ---- Decision ----

// A value, not copied because it can be long: read, written in the condition, or true or false.
struct Seen {
  const Value* value;
  const ItemSet* items = nullptr;  // of a list or an object that was read
};
using Decided = std::expected<Seen, std::string>;

Seen truth(bool yes) {
  static const Value yes_value{Type::kBoolean, "true"};
  static const Value no_value{Type::kBoolean, "false"};
  return {yes ? &yes_value : &no_value};
}

bool same_value(const Value& left, const Value& right) {
  if (left.kind != right.kind) return false;
  if (left.kind == Type::kNumber) return compare_numbers(left.text, right.text) == 0;
  return left.text == right.text;
}

// In linear time whatever the strings are, which find() does not promise.
bool has_part(const std::string& text, const std::string& part) {
  return part.empty() || memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

std::strong_ordering order_of(const Value& left, const Value& right) {
  if (left.kind == Type::kNumber) return compare_numbers(left.text, right.text);
  return left.text.compare(right.text) <=> 0;
}

class Decider {
 public:
  explicit Decider(const ConditionFacts& facts) : facts_(facts) {}

  std::expected<bool, std::string> is_true(const Condition& condition) {
    const Decided value = usable(condition);
    if (!value) return std::unexpected(value.error());
    const Value& seen = *value->value;
    if (seen.kind == Type::kBoolean) return seen.text == "true";
    return std::unexpected(
        fmt::format("{} stands where true or false is expected", kind_text(seen.kind)));
  }

 private:
  // A value, or why there is none.
  Decided usable(const Condition& condition) {
    Decided value = evaluate(condition);
    if (!value) return value;
    if (value->value->kind == Type::kMissing) {
      return std::unexpected(
          fmt::format("{} has no value; add a default with ??", shown(condition)));
    }
    if (value->value->kind == Type::kTooLarge) {
      return std::unexpected(fmt::format("{} exceeds {} bytes", shown(condition), kValueBytesMax));
    }
    return value;
  }

  static std::string shown(const Condition& condition) {
    const Condition* at = &condition;
    while (!at->parts.empty()) at = &at->parts.back();
    return at->path.shown.empty() ? "a value" : at->path.shown;
  }

  Decided evaluate(const Condition& condition) {
    switch (condition.kind) {
      case ConditionKind::kLiteral:
        return Seen{&condition.literal};
      case ConditionKind::kPath:
        VX_ASSERT(condition.reads < facts_.values.size());
        return seen(facts_.values[condition.reads]);
      case ConditionKind::kRunResult:
        return seen(facts_.run_result);
      case ConditionKind::kDefault:
        return first_there(condition);
      case ConditionKind::kOr:
      case ConditionKind::kAnd:
        return chained(condition);
      case ConditionKind::kNot: {
        const auto inner = is_true(condition.parts.front());
        if (!inner) return std::unexpected(inner.error());
        return truth(!*inner);
      }
      case ConditionKind::kSucceeded:
        return truth(facts_.ended_as(condition.reads) == TaskEnd::kSucceeded);
      case ConditionKind::kFailed:
        return truth(facts_.ended_as(condition.reads) == TaskEnd::kFailed);
      case ConditionKind::kSkipped:
        return truth(facts_.ended_as(condition.reads) == TaskEnd::kSkipped);
      case ConditionKind::kList:
        return std::unexpected(std::string("a list can only stand behind 'in' or in contains()"));
      default:
        return compared(condition);
    }
  }

  static Seen seen(const ReadValue& read) { return {&read.value, read.items.get()}; }

  // Each part is evaluated once at most, however deep they are nested.
  Decided first_there(const Condition& condition) {
    Decided found = Seen{nullptr};
    for (const Condition& part : condition.parts) {
      found = evaluate(part);
      if (!found || found->value->is_there()) break;
    }
    return found;
  }

  // What stands behind the part that decides is not looked at.
  Decided chained(const Condition& condition) {
    const bool any = condition.kind == ConditionKind::kOr;
    for (const Condition& part : condition.parts) {
      const auto yes = is_true(part);
      if (!yes) return std::unexpected(yes.error());
      if (*yes == any) return truth(any);
    }
    return truth(!any);
  }

  Decided compared(const Condition& condition) {
    const bool in = condition.kind == ConditionKind::kIn;
    const Condition& where = condition.parts[in ? 1 : 0];
    const bool written = where.kind == ConditionKind::kList;
    if (written && (in || condition.kind == ConditionKind::kContains)) {
      return in_written_list(where, condition.parts[in ? 0 : 1]);
    }
    const Decided left = usable(condition.parts[0]);
    if (!left) return left;
    const Decided right = usable(condition.parts[1]);
    if (!right) return right;
    const std::string wrong = wrong_operands(condition.kind, left->value->kind, right->value->kind);
    if (!wrong.empty()) return std::unexpected(wrong);
    if (in) return truth(has_item(*right, *left));
    if (condition.kind == ConditionKind::kContains && left->value->kind != Type::kText) {
      return truth(has_item(*left, *right));
    }
    return truth(holds(condition.kind, *left->value, *right->value));
  }

  // Precondition: a list or an object. One that is written in the condition does not come here.
  static bool has_item(const Seen& where, const Seen& wanted) {
    VX_ASSERT(where.items != nullptr);
    return where.items->contains(*wanted.value);
  }

  Decided in_written_list(const Condition& list, const Condition& what) {
    const Decided wanted = usable(what);
    if (!wanted) return wanted;
    const std::string wrong = wrong_operands(ConditionKind::kIn, wanted->value->kind, Type::kList);
    if (!wrong.empty()) return std::unexpected(wrong);
    bool found = false;
    for (const Condition& part : list.parts) {
      const Decided item = usable(part);
      if (!item) return item;
      found = found || same_value(*item->value, *wanted->value);
    }
    return truth(found);
  }

  static bool holds(ConditionKind kind, const Value& left, const Value& right) {
    switch (kind) {
      case ConditionKind::kEqual:
        return same_value(left, right);
      case ConditionKind::kUnequal:
        return !same_value(left, right);
      case ConditionKind::kLess:
        return order_of(left, right) < 0;
      case ConditionKind::kLessOrEqual:
        return order_of(left, right) <= 0;
      case ConditionKind::kMore:
        return order_of(left, right) > 0;
      case ConditionKind::kMoreOrEqual:
        return order_of(left, right) >= 0;
      case ConditionKind::kContains:
        return has_part(left.text, right.text);
      case ConditionKind::kStartsWith:
        return left.text.starts_with(right.text);
      default:
        return false;
    }
  }

  const ConditionFacts& facts_;
};

std::string_view ending_text(TaskEnd end) {
  constexpr std::array<std::string_view, 3> kTexts{"completed", "failed", "was skipped"};
  return kTexts[static_cast<std::size_t>(end)];
}

}  // namespace

std::optional<TemplateFault> find_wrong_type(const Condition& condition, const TypeOf& type_of) {
  return TypeChecker(type_of).run(condition);
}

ReadValue::ReadValue(Value read) : value(std::move(read)) {
  if (value.kind != Type::kList && value.kind != Type::kObject) return;
  items = std::make_shared<const ItemSet>(value);
}

std::expected<bool, std::string> decide(const Condition& condition, const ConditionFacts& facts) {
  return Decider(facts).is_true(condition);
}

std::vector<std::string> describe(const Condition& condition, const ConditionFacts& facts) {
  constexpr std::size_t kShownMax = 8;
  std::vector<std::string> out;
  Condition copy = condition;
  for (const Condition* read : reads_of(copy)) {
    if (out.size() == kShownMax) break;
    if (is_ending(read->kind)) {
      out.push_back(fmt::format("{} {}", in_quotes(read->path.name),
                                ending_text(facts.ended_as(read->reads))));
      continue;
    }
    const bool result = read->kind == ConditionKind::kRunResult;
    const Value& value = result ? facts.run_result.value : facts.values[read->reads].value;
    const bool quoted = value.kind == Type::kText;
    const bool shown = quoted || value.kind == Type::kNumber || value.kind == Type::kBoolean;
    std::string what = shown && !quoted ? value.text.substr(0, 40) : std::string();
    if (quoted) what = in_quotes(value.text);
    if (!shown) what = kind_text(value.kind);
    out.push_back(fmt::format("{} is {}", read->path.shown, what));
  }
  return out;
}

}  // namespace vortex
