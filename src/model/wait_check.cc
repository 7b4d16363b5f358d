// What tasks that wait may say: they have no command, so nothing that is about one.

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/check.h"
#include "model/expression.h"

namespace vortex {
namespace {

// What is about a command, and which of it the task has; empty: nothing.
std::string_view foreign_member(const NodeSpec& node) {
  const CommandLine& command = node.command;
  const std::pair<std::string_view, bool> members[] = {
      {"run", !command.argv.empty()},
      {"shell", !command.shell.empty()},
      {"env", !command.env.empty()},
      {"workdir", !command.workdir.empty()},
      {"map", node.map.has_value()},
      {"retry", node.retry.has_value()},
      {"secrets", !node.secrets.empty()},
      {"priority", node.priority != 0},
      {"exclusive", node.exclusive},
      {"timeout", node.execution_timeout.has_value()},
      {"scheduled_timeout", node.scheduled_timeout.has_value()},
      {"stale_after", node.stale_after.has_value()},
  };
  for (const auto& [name, given] : members) {
    if (given) return name;
  }
  if (node.requirements != Requirements{}) return "requirements of a worker";
  return {};
}

Complaint complain_of_length(std::string_view what, Duration length) {
  if (length > Duration{} && length <= kWaitMax) return std::nullopt;
  return fmt::format("{} is {}; it must be more than 0 and at most {}", what, to_text(length),
                     to_text(kWaitMax));
}

Complaint complain_of_approval(const WaitSpec& wait) {
  const LineRule rule{.bytes_min = 1, .bytes_max = kQuestionBytesMax};
  if (auto c = complain_of_line("the question of the approval", wait.text, rule)) return c;
  if (has_expression_mark(wait.text)) {
    return "an expression in the question of an approval is not supported yet";
  }
  for (const Role role : wait.by) {
    if (role == Role::kSubmitter || role == Role::kOperator || role == Role::kAdmin) continue;
    return fmt::format("{} in 'by' cannot answer approvals: only submitter, operator and admin can",
                       in_quotes(to_text(role)));
  }
  const bool ordered = std::ranges::is_sorted(wait.by, std::less_equal<>{});
  if (!wait.by.empty() && ordered) return std::nullopt;
  return wait.by.empty() ? "'by' is empty, so nobody could answer" : "'by' names a role twice";
}

}  // namespace

Complaint complain_of_wait(const NodeSpec& node) {
  if (!node.wait) return std::nullopt;
  if (const std::string_view foreign = foreign_member(node); !foreign.empty()) {
    return fmt::format("a task that waits runs no command, so it cannot have {}", foreign);
  }
  const WaitSpec& wait = *node.wait;
  if (wait.timeout) {
    if (!wait.asks()) return "only a wait for a signal or an approval has a timeout";
    if (auto c = complain_of_length("the timeout of the wait", *wait.timeout)) return c;
  }
  switch (wait.kind) {
    case WaitKind::kFor:
      return complain_of_length("'for'", wait.length);
    case WaitKind::kUntil:
      if (!wait.until.local) return std::nullopt;
      return fmt::format("{} is not a time with an offset, such as 2026-03-01T02:30:00Z",
                         in_quotes(wait.until.text));
    case WaitKind::kSignal:
      return complain_of_name("the signal", wait.text);
    case WaitKind::kApproval:
      return complain_of_approval(wait);
  }
  return std::nullopt;
}

}  // namespace vortex
