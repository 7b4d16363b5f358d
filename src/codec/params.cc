#include "codec/params.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

void unknown_param(Reading& in, NodeIx key, const DagSpec& spec) {
  if (in.full()) return;
  std::vector<std::string_view> names;
  names.reserve(spec.params.size());
  for (const ParamSpec& param : spec.params) names.push_back(param.name);
  const std::string_view name = in.document().text(key);
  const std::string_view near = nearest_name(name, names);
  in.problem(key, fmt::format("the DAG {} has no param {}", in_quotes(spec.name), in_quotes(name)),
             near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near)));
}

// The node of each declared param; 0: not given.
std::vector<NodeIx> find_given(Reading& in, const DagSpec& spec) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < spec.params.size(); ++i) places.emplace(spec.params[i].name, i);
  std::vector<NodeIx> given(spec.params.size(), 0);
  in.document().each_member(0, [&](NodeIx key, NodeIx value) {
    const auto place = places.find(in.document().text(key));
    if (place == places.end()) return unknown_param(in, key, spec);
    given[place->second] = value;
    const ParamType type = spec.params[place->second].type;
    if (!has_type(in.document(), value, type)) in.wrong_type(value, shown_type(type));
  });
  return given;
}

}  // namespace

bool has_type(const Document& document, NodeIx node, ParamType type) {
  const NodeKind kind = document.kind(node);
  switch (type) {
    case ParamType::kString:
      return kind == NodeKind::kText;
    case ParamType::kNumber:
      return kind == NodeKind::kInteger || kind == NodeKind::kDecimal;
    case ParamType::kBoolean:
      return kind == NodeKind::kTrue || kind == NodeKind::kFalse;
    case ParamType::kList:
      return kind == NodeKind::kArray;
    case ParamType::kObject:
      return kind == NodeKind::kObject;
  }
  VX_ASSERT(false && "a value outside ParamType");
}

std::string_view shown_type(ParamType type) {
  switch (type) {
    case ParamType::kString:
      return "a string";
    case ParamType::kNumber:
      return "a number";
    case ParamType::kBoolean:
      return "true or false";
    case ParamType::kList:
      return "a list";
    case ParamType::kObject:
      return "an object";
  }
  VX_ASSERT(false && "a value outside ParamType");
}

Decoded<std::string> check_params(const DagSpec& spec, std::string_view json) {
  if (json.empty()) json = "{}";
  auto compact = compact_object(json);
  if (!compact || spec.params.empty()) return compact;
  Document document;
  const auto fault = document.parse(json);
  VX_ASSERT(!fault);
  Reading in(document, UnknownKeys::kRefused);
  const std::vector<NodeIx> given = find_given(in, spec);
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ParamSpec& param = spec.params[i];
    if (given[i] != 0) {
      std::string value;
      append_compact(value, document, given[i]);
      writer.key(param.name).raw(value);
    } else if (param.fallback) {
      writer.key(param.name).raw(*param.fallback);
    } else if (!in.full()) {
      in.problem(0, fmt::format("the param {} is missing", in_quotes(param.name)),
                 param.help.empty() ? "" : in_quotes(param.name) + ": " + param.help);
    }
  }
  writer.end_object();
  if (!in.fine()) return std::unexpected(in.take_problems());
  return out;
}

std::expected<std::string, std::string> param_from_text(ParamType type, std::string_view text) {
  std::string out;
  if (type == ParamType::kString) {
    JsonWriter(out).text(text);
    return out;
  }
  Document document;
  const auto fault = document.parse(text, kPassedDepthMax);
  if (fault || !has_type(document, 0, type)) {
    return std::unexpected(
        fmt::format("{} is not {}{}", in_quotes(text), shown_type(type),
                    type == ParamType::kList || type == ParamType::kObject ? " in JSON" : ""));
  }
  append_compact(out, document, 0);
  return out;
}

}  // namespace vortex::codec
