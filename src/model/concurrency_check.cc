#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/check.h"
#include "model/expression.h"
#include "model/group_key.h"
#include "model/plan.h"

namespace vortex {
namespace {

DagError bad_concurrency(std::string_view member, std::string detail, std::string help) {
  return {DagError::Kind::kBadValue,
          "",
          std::move(detail),
          {"concurrency", std::string(member)},
          0,
          std::move(help)};
}

DagError bad_key(const TemplateFault& fault) {
  DagError error = bad_concurrency("key", fault.message, fault.help);
  error.offset = fault.offset;
  return error;
}

std::optional<DagError> find_bad_path(const DagSpec& spec, const Path& path) {
  if (path.root == PathRoot::kDagName) return std::nullopt;
  if (path.root != PathRoot::kParam) {
    return bad_key({path.offset, fmt::format("{} is not known when a run is submitted", path.shown),
                    "the key of a DAG is made of params, such as ${{ params.customer }}"});
  }
  if (spec.params.empty()) return std::nullopt;
  std::vector<std::string_view> names;
  for (const ParamSpec& param : spec.params) {
    if (param.name == path.name) {
      const bool plain = param.type != ParamType::kList && param.type != ParamType::kObject;
      if (plain != path.steps.empty()) {
        return bad_key({path.offset,
                        plain ? fmt::format("param {} has no parts", in_quotes(path.name))
                              : fmt::format("param {} is a list or an object, which is no key",
                                            in_quotes(path.name)),
                        plain ? "" : "name a part of it, or another param"});
      }
      return std::nullopt;
    }
    names.push_back(param.name);
  }
  const std::string_view near = nearest_name(path.name, names);
  return bad_key({path.offset, fmt::format("unknown param {}", in_quotes(path.name)),
                  near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near))});
}

}  // namespace

Complaint complain_of_limits(const NodeSpec& node) {
  if (node.limits.empty()) return std::nullopt;
  if (node.wait) return "a task that waits holds no limits, because no worker runs it";
  if (node.limits.size() > kLimitsOfTaskMax) {
    return fmt::format("{} limits are too many; at most {} are allowed", node.limits.size(),
                       kLimitsOfTaskMax);
  }
  for (const std::string& name : node.limits) {
    if (auto complaint = complain_of_name("limit", name)) return complaint;
  }
  return complain_of_twice("limit", {node.limits.begin(), node.limits.end()});
}

std::optional<DagError> find_bad_concurrency(const DagSpec& spec) {
  if (!spec.concurrency) return std::nullopt;
  const ConcurrencySpec& concurrency = *spec.concurrency;
  if (concurrency.limit == 0 || concurrency.limit > kGroupLimitMax) {
    return bad_concurrency(
        "limit",
        fmt::format("limit is {}; it must be between 1 and {}", concurrency.limit, kGroupLimitMax),
        "");
  }
  const auto key = parse_template(concurrency.key);
  if (!key) return bad_key(key.error());
  if (auto fault = find_bad_part(*key)) return bad_key(*fault);
  for (const Path* path : references(*key)) {
    if (auto fault = find_bad_path(spec, *path)) return fault;
  }
  return std::nullopt;
}

}  // namespace vortex
