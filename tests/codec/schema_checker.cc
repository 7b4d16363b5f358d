#include "tests/codec/schema_checker.h"

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "codec/json_writer.h"

namespace vortex::testing {
namespace {

using codec::Document;
using codec::NodeIx;
using codec::NodeKind;

class Checker {
 public:
  Checker(const Document& schema, const Document& value) : schema_(schema), value_(value) {}

  // Empty: fine.
  std::string check(NodeIx rule, NodeIx value) {
    if (schema_.kind(rule) != NodeKind::kObject) return "a schema must be an object";
    std::string fault;
    schema_.each_member(rule, [&](NodeIx key, NodeIx content) {
      if (fault.empty()) fault = keyword(rule, std::string(schema_.text(key)), content, value);
    });
    return fault;
  }

 private:
  using Rule = std::string (Checker::*)(NodeIx rule, NodeIx content, NodeIx value);

  std::string keyword(NodeIx rule, const std::string& name, NodeIx content, NodeIx value) {
    static const std::map<std::string, Rule> kRules{
        {"type", &Checker::type},
        {"const", &Checker::constant},
        {"enum", &Checker::enumeration},
        {"pattern", &Checker::pattern},
        {"maxLength", &Checker::max_length},
        {"minimum", &Checker::minimum},
        {"maximum", &Checker::maximum},
        {"items", &Checker::items},
        {"minItems", &Checker::min_items},
        {"maxItems", &Checker::max_items},
        {"uniqueItems", &Checker::unique_items},
        {"properties", &Checker::properties},
        {"additionalProperties", &Checker::additional},
        {"required", &Checker::required},
        {"propertyNames", &Checker::property_names},
        {"minProperties", &Checker::min_properties},
        {"maxProperties", &Checker::max_properties},
        {"oneOf", &Checker::one_of},
        {"allOf", &Checker::all_of},
        {"not", &Checker::negation},
        {"if", &Checker::condition},
    };
    static const std::set<std::string> kSilent{"$schema", "title", "description", "then"};
    if (kSilent.contains(name)) return {};
    const auto at = kRules.find(name);
    if (at == kRules.end()) return "the schema has the unknown keyword " + name;
    const std::string fault = (this->*at->second)(rule, content, value);
    if (fault.empty()) return {};
    return fault.starts_with('/') || fault.starts_with("the schema")
               ? fault
               : fmt::format("/{} breaks {}: {}", value_.pointer_to(value), name, fault);
  }

  NodeIx schema_member(NodeIx object, std::string_view name) const {
    NodeIx found = 0;
    schema_.each_member(object, [&](NodeIx key, NodeIx v) {
      if (schema_.text(key) == name) found = v;
    });
    return found;
  }
  bool has(NodeIx object, std::string_view name) const {
    bool found = false;
    value_.each_member(object, [&](NodeIx key, NodeIx) { found |= value_.text(key) == name; });
    return found;
  }
  double number(const Document& document, NodeIx node) const {
    const std::string_view text = document.text(node);
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  static std::string compact(const Document& document, NodeIx node) {
    std::string out;
    codec::append_compact(out, document, node);
    return out;
  }
  bool is(NodeIx value, NodeKind kind) const { return value_.kind(value) == kind; }
  bool is_number(NodeIx value) const {
    return is(value, NodeKind::kInteger) || is(value, NodeKind::kDecimal);
  }

  bool has_type(std::string_view name, NodeIx value) const {
    if (name == "string") return is(value, NodeKind::kText);
    if (name == "integer") return is(value, NodeKind::kInteger);
    if (name == "number") return is_number(value);
    if (name == "boolean") return is(value, NodeKind::kTrue) || is(value, NodeKind::kFalse);
    if (name == "array") return is(value, NodeKind::kArray);
    if (name == "object") return is(value, NodeKind::kObject);
    return name == "null" && is(value, NodeKind::kNull);
  }

  std::string type(NodeIx, NodeIx content, NodeIx value) {
    bool fits = false;
    if (schema_.kind(content) == NodeKind::kText)
      return wrong(has_type(schema_.text(content), value));
    schema_.each_item(content, [&](NodeIx item) { fits |= has_type(schema_.text(item), value); });
    return wrong(fits);
  }
  static std::string wrong(bool fits) { return fits ? "" : "it is not so"; }

  std::string constant(NodeIx, NodeIx content, NodeIx value) {
    return wrong(compact(schema_, content) == compact(value_, value));
  }
  std::string enumeration(NodeIx, NodeIx content, NodeIx value) {
    bool fits = false;
    schema_.each_item(
        content, [&](NodeIx item) { fits |= compact(schema_, item) == compact(value_, value); });
    return wrong(fits);
  }
  std::string pattern(NodeIx, NodeIx content, NodeIx value) {
    if (!is(value, NodeKind::kText)) return {};
    const std::regex regex{std::string(schema_.text(content)), std::regex::ECMAScript};
    return wrong(std::regex_search(std::string(value_.text(value)), regex));
  }
  std::string max_length(NodeIx, NodeIx content, NodeIx value) {
    if (!is(value, NodeKind::kText)) return {};
    return wrong(static_cast<double>(value_.text(value).size()) <= number(schema_, content));
  }
  std::string minimum(NodeIx, NodeIx content, NodeIx value) {
    return wrong(!is_number(value) || number(value_, value) >= number(schema_, content));
  }
  std::string maximum(NodeIx, NodeIx content, NodeIx value) {
    return wrong(!is_number(value) || number(value_, value) <= number(schema_, content));
  }
  std::string items(NodeIx, NodeIx content, NodeIx value) {
    std::string fault;
    if (!is(value, NodeKind::kArray)) return fault;
    value_.each_item(value, [&](NodeIx item) {
      if (fault.empty()) fault = check(content, item);
    });
    return fault;
  }
  std::string count(NodeKind kind, NodeIx content, NodeIx value, bool at_least) {
    if (!is(value, kind)) return {};
    const double have = value_.count(value);
    const double wanted = number(schema_, content);
    return wrong(at_least ? have >= wanted : have <= wanted);
  }
  std::string min_items(NodeIx, NodeIx content, NodeIx value) {
    return count(NodeKind::kArray, content, value, true);
  }
  std::string max_items(NodeIx, NodeIx content, NodeIx value) {
    return count(NodeKind::kArray, content, value, false);
  }
  std::string min_properties(NodeIx, NodeIx content, NodeIx value) {
    return count(NodeKind::kObject, content, value, true);
  }
  std::string max_properties(NodeIx, NodeIx content, NodeIx value) {
    return count(NodeKind::kObject, content, value, false);
  }
  std::string unique_items(NodeIx, NodeIx, NodeIx value) {
    std::set<std::string> seen;
    bool fits = true;
    if (!is(value, NodeKind::kArray)) return {};
    value_.each_item(value,
                     [&](NodeIx item) { fits &= seen.insert(compact(value_, item)).second; });
    return wrong(fits);
  }
  std::string properties(NodeIx, NodeIx content, NodeIx value) {
    std::string fault;
    if (!is(value, NodeKind::kObject)) return fault;
    value_.each_member(value, [&](NodeIx key, NodeIx member) {
      const NodeIx rule = schema_member(content, value_.text(key));
      if (fault.empty() && rule != 0) fault = check(rule, member);
    });
    return fault;
  }
  std::string additional(NodeIx rule, NodeIx content, NodeIx value) {
    std::string fault;
    if (!is(value, NodeKind::kObject)) return fault;
    const NodeIx known = schema_member(rule, "properties");
    value_.each_member(value, [&](NodeIx key, NodeIx member) {
      if (!fault.empty() || (known != 0 && schema_member(known, value_.text(key)) != 0)) return;
      fault = schema_.kind(content) == NodeKind::kFalse
                  ? fmt::format("unknown key {}", value_.text(key))
                  : check(content, member);
    });
    return fault;
  }
  std::string required(NodeIx, NodeIx content, NodeIx value) {
    std::string fault;
    if (!is(value, NodeKind::kObject)) return fault;
    schema_.each_item(content, [&](NodeIx item) {
      if (!has(value, schema_.text(item))) fault = fmt::format("no {}", schema_.text(item));
    });
    return fault;
  }
  std::string property_names(NodeIx, NodeIx content, NodeIx value) {
    std::string fault;
    if (!is(value, NodeKind::kObject)) return fault;
    value_.each_member(value, [&](NodeIx key, NodeIx) {
      if (fault.empty()) fault = check(content, key);
    });
    return fault;
  }
  std::string one_of(NodeIx, NodeIx content, NodeIx value) {
    int fitting = 0;
    std::string faults;
    schema_.each_item(content, [&](NodeIx rule) {
      const std::string fault = check(rule, value);
      fitting += fault.empty() ? 1 : 0;
      faults += fault + "; ";
    });
    return fitting == 1 ? "" : fmt::format("{} fit: {}", fitting, faults);
  }
  std::string all_of(NodeIx, NodeIx content, NodeIx value) {
    std::string fault;
    schema_.each_item(content, [&](NodeIx rule) {
      if (fault.empty()) fault = check(rule, value);
    });
    return fault;
  }
  std::string negation(NodeIx, NodeIx content, NodeIx value) {
    return wrong(!check(content, value).empty());
  }
  std::string condition(NodeIx rule, NodeIx content, NodeIx value) {
    if (!check(content, value).empty()) return {};
    const NodeIx then = schema_member(rule, "then");
    return then == 0 ? "the schema has an if without then" : check(then, value);
  }

  const Document& schema_;
  const Document& value_;
};

}  // namespace

std::string schema_fault(const Document& schema, const Document& value) {
  return Checker(schema, value).check(0, 0);
}

}  // namespace vortex::testing
