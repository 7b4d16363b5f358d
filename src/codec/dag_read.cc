#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codec/dag_json.h"
#include "codec/dag_words.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/units.h"
#include "model/node_check.h"

namespace vortex::codec {
namespace {

using enum Presence;

void read_delay(Reading& in, NodeIx node, Duration& out) {
  read_duration(in, node, out, Duration{}, kDelayMax);
}

void read_timeout(Reading& in, NodeIx node, std::optional<Duration>& out) {
  Duration timeout{};
  read_duration(in, node, timeout, micros(1), kForever);
  out = timeout;
}

// ---- retry ----

struct RetryDraft {
  RetryPolicy retry;
  bool has_max_delay = false;
};

void read_jitter(Reading& in, NodeIx node, RetryDraft& out) {
  const NodeKind kind = in.document().kind(node);
  const bool number = kind == NodeKind::kInteger || kind == NodeKind::kDecimal;
  const auto permille = parse_thousandths(number ? in.document().text(node) : "");
  if (!permille || *permille > kJitterPermilleMax) {
    return in.wrong_type(node, "a number from 0 to 1 with at most three decimals");
  }
  out.retry.backoff.jitter_permille = static_cast<std::uint16_t>(*permille);
}

void read_unless_exit(Reading& in, NodeIx node, RetryDraft& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_number(in, item, out.retry.unless_exit.emplace_back(), 1, 255);
  });
}

constexpr Field<RetryDraft> kRetryFields[] = {
    {"attempts",
     [](Reading& in, NodeIx node, RetryDraft& out) {
       read_number(in, node, out.retry.max_retries, 0, kRetriesMax);
     }},
    {"backoff",
     [](Reading& in, NodeIx node, RetryDraft& out) {
       read_word(in, node, kBackoffKinds, out.retry.backoff.kind);
     }},
    {"delay", [](Reading& in, NodeIx node,
                 RetryDraft& out) { read_delay(in, node, out.retry.backoff.delay); }},
    {"max_delay",
     [](Reading& in, NodeIx node, RetryDraft& out) {
       read_delay(in, node, out.retry.backoff.max_delay);
       out.has_max_delay = true;
     }},
    {"jitter", read_jitter},
    {"unless_exit", read_unless_exit},
};

void read_retry(Reading& in, NodeIx node, std::optional<RetryPolicy>& out) {
  RetryDraft draft;
  read_object(in, node, "", kRetryFields, draft);
  Backoff& backoff = draft.retry.backoff;
  if (!draft.has_max_delay) backoff.max_delay = std::max(backoff.max_delay, backoff.delay);
  out = std::move(draft.retry);
}

// ---- map ----

constexpr Field<MapRange> kRangeFields[] = {
    {"from", [](Reading& in, NodeIx node, MapRange& out) { read_number(in, node, out.first); },
     kRequired},
    {"to", [](Reading& in, NodeIx node, MapRange& out) { read_number(in, node, out.last); },
     kRequired},
    {"step", [](Reading& in, NodeIx node, MapRange& out) { read_number(in, node, out.step); }},
};

constexpr Field<MapSpec> kOverFields[] = {
    {"range",
     [](Reading& in, NodeIx node, MapSpec& out) {
       read_object(in, node, "", kRangeFields, out.over.emplace<MapRange>());
     },
     kRequired},
};

void read_over(Reading& in, NodeIx node, MapSpec& out) {
  const NodeKind kind = in.document().kind(node);
  if (kind == NodeKind::kObject) return read_object(in, node, "", kOverFields, out);
  if (kind == NodeKind::kArray) {
    return read_texts(in, node, out.over.emplace<std::vector<std::string>>());
  }
  in.wrong_type(node, "a list of texts or a range",
                R"(a range is {"range": {"from": 1, "to": 10}})");
}

constexpr Field<MapSpec> kMapFields[] = {
    {"over", read_over, kRequired},
    {"max_parallel",
     [](Reading& in, NodeIx node, MapSpec& out) {
       read_number(in, node, out.max_parallel, 0, kParallelMax);
     }},
    {"max_failures", [](Reading& in, NodeIx node,
                        MapSpec& out) { read_number(in, node, out.max_failures.emplace()); }},
};

// ---- task ----

struct TaskDraft {
  NodeSpec spec;
  CommandDraft command;
};

constexpr Field<TaskDraft> kTaskFields[] = {
    {"needs",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_texts(in, node, out.spec.needs); }},
    {"trigger_rule", [](Reading& in, NodeIx node,
                        TaskDraft& out) { read_word(in, node, kTriggerRules, out.spec.trigger); }},
    {"run", [](Reading& in, NodeIx node, TaskDraft& out) { read_run(in, node, out.command); }},
    {"shell", [](Reading& in, NodeIx node,
                 TaskDraft& out) { read_texts(in, node, out.command.command.shell); }},
    {"env",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_env(in, node, out.command.command.env); }},
    {"workdir", [](Reading& in, NodeIx node,
                   TaskDraft& out) { read_text(in, node, out.command.command.workdir); }},
    {"retry",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_retry(in, node, out.spec.retry); }},
    {"queue", [](Reading& in, NodeIx node,
                 TaskDraft& out) { read_text(in, node, out.spec.requirements.queue); }},
    {"priority",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       read_number(in, node, out.spec.priority, -kPriorityMax, kPriorityMax);
     }},
    {"labels", [](Reading& in, NodeIx node,
                  TaskDraft& out) { read_labels(in, node, out.spec.requirements.labels); }},
    {"runtime", [](Reading& in, NodeIx node,
                   TaskDraft& out) { read_text(in, node, out.spec.requirements.runtime); }},
    {"worker", [](Reading& in, NodeIx node,
                  TaskDraft& out) { read_text(in, node, out.spec.requirements.worker.text); }},
    {"resources",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       read_resources(in, node, out.spec.requirements.resources);
     }},
    {"exclusive",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_flag(in, node, out.spec.exclusive); }},
    {"timeout", [](Reading& in, NodeIx node,
                   TaskDraft& out) { read_timeout(in, node, out.spec.execution_timeout); }},
    {"scheduled_timeout",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       read_timeout(in, node, out.spec.scheduled_timeout);
     }},
    {"stale_after", [](Reading& in, NodeIx node,
                       TaskDraft& out) { read_timeout(in, node, out.spec.stale_after); }},
    {"map", [](Reading& in, NodeIx node,
               TaskDraft& out) { read_object(in, node, "", kMapFields, out.spec.map.emplace()); }},
    {"outputs",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_texts(in, node, out.spec.outputs); }},
};

// ---- the whole ----

void read_tasks(Reading& in, NodeIx node, DagSpec& out) {
  if (!is_object_of_names(in, node)) return;
  out.nodes.reserve(in.document().count(node));
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    if (in.full()) return;
    TaskDraft draft;
    draft.spec.name = in.document().text(key);
    read_object(in, value, "task", kTaskFields, draft);
    finish_command(in, draft.command);
    draft.spec.command = std::move(draft.command.command);
    out.nodes.push_back(std::move(draft.spec));
  });
}

void read_version(Reading& in, NodeIx node, DagSpec& /*out*/) {
  std::int64_t version = kDagVersion;
  read_number(in, node, version);
  if (version == kDagVersion || in.full()) return;
  in.problem(node,
             fmt::format("'vortex' is {}; this program reads version {}", version, kDagVersion));
}

constexpr Field<DagSpec> kDagFields[] = {
    {"vortex", read_version},
    {"name", [](Reading& in, NodeIx node, DagSpec& out) { read_text(in, node, out.name); },
     kRequired},
    {"timeout",
     [](Reading& in, NodeIx node, DagSpec& out) { read_timeout(in, node, out.run_timeout); }},
    {"barrier", [](Reading& in, NodeIx node,
                   DagSpec& out) { read_word(in, node, kBarriers, out.barrier_levels); }},
    {"tasks", read_tasks, kRequired},
};

}  // namespace

Decoded<DagSpec> read_dag(std::string_view json) {
  return decode<DagSpec>(json, UnknownKeys::kRefused, [](Reading& in, NodeIx root, DagSpec& out) {
    read_object(in, root, "", kDagFields, out);
  });
}

}  // namespace vortex::codec
