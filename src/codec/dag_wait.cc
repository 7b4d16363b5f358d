// Tasks that wait: what for, and what cannot stand beside it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/dag_read.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/units.h"
#include "model/check.h"
#include "model/expression.h"

namespace vortex::codec {
namespace {

constexpr std::string_view kUntilHelp = "write a time with an offset: 2026-12-01T02:00:00Z";

struct WaitDraft {
  WaitSpec spec;
  NodeIx kinds[4] = {};  // by WaitKind; 0: not given
  NodeIx by = 0;
  NodeIx timeout = 0;
};

NodeIx& place_of(WaitDraft& draft, WaitKind kind) {
  draft.spec.kind = kind;
  return draft.kinds[static_cast<std::size_t>(kind)];
}

void read_for(Reading& in, NodeIx node, WaitDraft& out) {
  place_of(out, WaitKind::kFor) = node;
  read_duration(in, node, out.spec.length, micros(1), kWaitMax);
}

void read_until(Reading& in, NodeIx node, WaitDraft& out) {
  place_of(out, WaitKind::kUntil) = node;
  const auto text = text_of(in, node);
  if (!text || in.full()) return;
  if (has_expression_mark(*text)) {
    return in.problem(node, "an expression in 'until' is not supported yet",
                      std::string(kUntilHelp));
  }
  const auto time = parse_written_time(*text, DayEnd::kFirst);
  if (!time) {
    return in.problem(node, fmt::format("'until' is {}, which is not a time", in.shown(node)),
                      std::string(kUntilHelp));
  }
  if (time->local) {
    return in.problem(node, fmt::format("'until' is {}, which has no offset", in.shown(node)),
                      std::string(kUntilHelp));
  }
  out.spec.until = *time;
}

void read_signal(Reading& in, NodeIx node, WaitDraft& out) {
  place_of(out, WaitKind::kSignal) = node;
  read_text(in, node, out.spec.text);
  if (in.document().kind(node) != NodeKind::kText || in.full()) return;
  if (auto wrong = complain_of_name("the signal", out.spec.text)) {
    in.problem(node, *std::move(wrong));
  }
}

void read_approval(Reading& in, NodeIx node, WaitDraft& out) {
  place_of(out, WaitKind::kApproval) = node;
  read_text(in, node, out.spec.text);
  if (in.document().kind(node) != NodeKind::kText || in.full()) return;
  if (has_expression_mark(out.spec.text)) {
    return in.problem(node, "an expression in the question of an approval is not supported yet",
                      "write the question as plain text");
  }
  const LineRule rule{.bytes_min = 1, .bytes_max = kQuestionBytesMax};
  if (auto wrong = complain_of_line("the question of the approval", out.spec.text, rule)) {
    in.problem(node, *std::move(wrong), "write it as one line, such as \"Deploy to production?\"");
  }
}

constexpr std::array<Word<Role>, 3> kAnswering{{
    {"submitter", Role::kSubmitter},
    {"operator", Role::kOperator},
    {"admin", Role::kAdmin},
}};

void read_by(Reading& in, NodeIx node, WaitDraft& out) {
  out.by = node;
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    Role role{};
    if (in.full() || !read_word(in, item, kAnswering, role)) return;
    if (std::ranges::find(out.spec.by, role) != out.spec.by.end()) {
      return in.problem(item, fmt::format("{} is listed twice", in.shown(item)));
    }
    out.spec.by.push_back(role);
  });
  if (in.document().count(node) > 0 || in.full()) return;
  in.problem(node, "the list is empty, so nobody could answer", "write by: [operator]");
}

void read_wait_timeout(Reading& in, NodeIx node, WaitDraft& out) {
  out.timeout = node;
  read_duration(in, node, out.spec.timeout.emplace(), micros(1), kWaitMax);
}

constexpr Field<WaitDraft> kWaitFields[] = {
    {"for", read_for},           {"until", read_until}, {"signal", read_signal},
    {"approval", read_approval}, {"by", read_by},       {"timeout", read_wait_timeout},
};

void judge_wait(Reading& in, NodeIx node, WaitDraft& draft) {
  if (in.full()) return;
  NodeIx first = 0;
  for (const NodeIx kind : draft.kinds) {
    if (kind == 0) continue;
    if (first != 0) {
      return in.problem(std::max(first, kind) - 1,
                        "'wait' has more than one of for, until, signal and approval",
                        "use one task for each, and needs between them");
    }
    first = kind;
  }
  if (first == 0) {
    if (!in.fine()) return;  // a wrong key was probably meant as one of these
    return in.problem(
        node, "'wait' has none of for, until, signal and approval",
        "write wait: {for: 1h}, {until: ...}, {signal: NAME} or {approval: \"...?\"}");
  }
  if (draft.by != 0 && draft.spec.kind != WaitKind::kApproval) {
    in.problem(draft.by - 1, "'by' is only for approvals", "remove it");
  }
  if (draft.timeout != 0 && !draft.spec.asks()) {
    in.problem(draft.timeout - 1, "'timeout' is only for signals and approvals",
               "the wait ends by itself; remove the timeout");
  }
}

// What a task that waits may say of itself.
constexpr std::array<std::string_view, 6> kBesideWait{"needs",        "if",   "continue_on_error",
                                                      "trigger_rule", "wait", "outputs"};

}  // namespace

void read_wait(Reading& in, NodeIx node, TaskDraft& out) {
  out.wait = node;
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, object_word(in.document().syntax()), "write wait: {for: 1h}");
  }
  WaitDraft draft;
  read_object(in, node, "", kWaitFields, draft);
  judge_wait(in, node, draft);
  if (draft.spec.kind == WaitKind::kApproval && draft.by == 0) {
    draft.spec.by = {Role::kOperator, Role::kAdmin};
  }
  std::ranges::sort(draft.spec.by);
  out.spec.wait = std::move(draft.spec);
}

void refuse_beside_wait(Reading& in, NodeIx task) {
  in.document().each_member(task, [&](NodeIx key, NodeIx) {
    const std::string_view name = in.document().text(key);
    if (in.full() || std::ranges::find(kBesideWait, name) != kBesideWait.end()) return;
    const auto known = task_keys();
    if (std::ranges::find(known, name) == known.end()) return;  // told already
    in.problem(key, fmt::format("'{}' cannot stand beside 'wait'", name),
               "remove it: a task that waits runs no command and needs no worker");
  });
}

void write_wait(JsonWriter& json, const WaitSpec& wait) {
  const auto text = [&](std::string_view name, std::string_view value) { json.field(name, value); };
  json.key("wait").begin_object();
  switch (wait.kind) {
    case WaitKind::kFor:
      text("for", duration_text(wait.length));
      break;
    case WaitKind::kUntil:
      text("until", wait.until.text);
      break;
    case WaitKind::kSignal:
    case WaitKind::kApproval:
      text(to_text(wait.kind), wait.text);
      break;
  }
  if (wait.kind == WaitKind::kApproval) {
    json.key("by").begin_array();
    for (const Role role : wait.by) json.text(to_text(role));
    json.end_array();
  }
  if (wait.timeout) text("timeout", duration_text(*wait.timeout));
  json.end_object();
}

std::vector<std::string_view> wait_keys() { return keys_of(kWaitFields); }

}  // namespace vortex::codec
