#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/dag_json.h"
#include "codec/document.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

using Kind = DagError::Kind;

// What the error is about when no task is named.
std::string_view member_of_dag(Kind kind) {
  switch (kind) {
    case Kind::kBadValue:
      return "/timeout";  // the one value that a DAG has of its own
    case Kind::kBadName:
    case Kind::kEmpty:
    case Kind::kDuplicateName:
    case Kind::kUnknownNeed:
    case Kind::kSelfNeed:
    case Kind::kDuplicateNeed:
    case Kind::kCycle:
    case Kind::kTooManyNodes:
    case Kind::kTooManyTasks:
    case Kind::kTooManyNeeds:
    case Kind::kTooDeep:
      return "/tasks";
  }
  VX_ASSERT(false && "a value outside DagError::Kind");
}

std::string_view member_of_task(Kind kind) {
  switch (kind) {
    case Kind::kUnknownNeed:
    case Kind::kSelfNeed:
    case Kind::kDuplicateNeed:
    case Kind::kCycle:
    case Kind::kTooDeep:
      return "/needs";
    case Kind::kTooManyTasks:
      return "/map";
    case Kind::kEmpty:
    case Kind::kBadName:
    case Kind::kDuplicateName:
    case Kind::kTooManyNodes:
    case Kind::kTooManyNeeds:
    case Kind::kBadValue:
      return "";
  }
  VX_ASSERT(false && "a value outside DagError::Kind");
}

std::string pointer_of(const DagError& error) {
  if (error.node.empty()) {
    if (!error.member.empty()) {
      std::string pointer;
      for (const std::string& token : error.member) append_pointer(pointer, token);
      return pointer;
    }
    // Names of tasks are told by their number where they cannot be shown; the DAG's own is not.
    const bool own = error.kind == Kind::kBadName && !error.detail.starts_with("node ");
    return std::string(own ? "/name" : member_of_dag(error.kind));
  }
  std::string pointer = "/tasks";
  append_pointer(pointer, error.node);
  if (error.member.empty()) pointer += member_of_task(error.kind);
  for (const std::string& token : error.member) append_pointer(pointer, token);
  return pointer;
}

}  // namespace

Problem explain_dag_error(const DagError& error) {
  constexpr std::string_view kHint = "; did you mean ";
  Problem problem;
  problem.pointer = pointer_of(error);
  problem.help = error.help;
  std::string_view detail = error.detail;
  if (const std::size_t hint = detail.rfind(kHint); hint != detail.npos) {
    problem.help = detail.substr(hint + 2);
    detail = detail.substr(0, hint);
  }
  problem.message = error.node.empty() ? std::string(detail)
                                       : fmt::format("task {}: {}", in_quotes(error.node), detail);
  return problem;
}

}  // namespace vortex::codec
