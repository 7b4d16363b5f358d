#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "codec/dag_json.h"
#include "codec/dag_read.h"
#include "codec/dag_schedule.h"
#include "codec/json_writer.h"
#include "codec/parts.h"
#include "codec/units.h"

namespace vortex::codec {
namespace {

void write_duration(JsonWriter& json, std::string_view name, Duration duration) {
  json.field(name, std::string_view(duration_text(duration)));
}

void write_timeout(JsonWriter& json, std::string_view name,
                   const std::optional<Duration>& timeout) {
  if (timeout) write_duration(json, name, *timeout);
}

void write_retry(JsonWriter& json, const RetryPolicy& retry) {
  json.key("retry").begin_object().field("max", std::uint32_t{retry.max_retries});
  json.field("backoff", word_for(kBackoffKinds, retry.backoff.kind));
  write_duration(json, "delay", retry.backoff.delay);
  write_duration(json, "max_delay", retry.backoff.max_delay);
  json.key("jitter").raw(thousandths_text(retry.backoff.jitter_permille));
  if (!retry.unless_exit.empty()) {
    json.key("unless_exit").begin_array();
    for (const std::int32_t code : retry.unless_exit) json.number(std::int64_t{code});
    json.end_array();
  }
  if (!retry.only_exit.empty()) {
    json.key("only_exit").begin_array();
    for (const std::int32_t code : retry.only_exit) json.number(std::int64_t{code});
    json.end_array();
  }
  if (!retry.on.empty()) {
    json.key("on").begin_array();
    for (const RetryCause cause : retry.on) json.text(word_for(kRetryCauses, cause));
    json.end_array();
  }
  json.end_object();
}

void write_over(JsonWriter& json, const MapRange& range) {
  json.begin_object().key("range").begin_object();
  json.field("from", range.first).field("to", range.last);
  if (range.step != 1) json.field("step", range.step);
  json.end_object().end_object();
}

void write_over(JsonWriter& json, const std::vector<std::string>& items) {
  json.begin_array();
  for (const std::string& item : items) json.text(item);
  json.end_array();
}

void write_over(JsonWriter& json, const MapOver& over) { json.text(over.text); }

void write_map(JsonWriter& json, const MapSpec& map) {
  json.key("map").begin_object().key("over");
  std::visit([&](const auto& over) { write_over(json, over); }, map.over);
  if (map.as != MapSpec{}.as) json.field("as", std::string_view(map.as));
  if (map.max_parallel != 0) json.field("max_parallel", map.max_parallel);
  if (map.max_failures) json.field("max_failures", *map.max_failures);
  json.end_object();
}

void write_requirements(JsonWriter& json, const NodeSpec& node) {
  const Requirements& wanted = node.requirements;
  if (wanted.queue != Requirements{}.queue) json.field("queue", std::string_view(wanted.queue));
  if (node.priority != 0) json.field("priority", std::int64_t{node.priority});
  write_pairs(json, "labels", wanted.labels);
  if (!wanted.runtime.empty()) json.field("runtime", std::string_view(wanted.runtime));
  if (!wanted.worker.empty()) json.field("worker", std::string_view(wanted.worker.text));
  write_resources(json, wanted.resources);
  if (!wanted.user.empty()) json.field("user", std::string_view(wanted.user));
}

void write_stale_counts(JsonWriter& json, StaleCounts counts) {
  if (counts == StaleCounts{}) return;
  json.key("stale_counts").begin_array();
  if (counts.progress) json.text(word_for(kStaleSigns, StaleSign::kProgress));
  if (counts.output) json.text(word_for(kStaleSigns, StaleSign::kOutput));
  json.end_array();
}

void write_secret(JsonWriter& json, const SecretUse& use) {
  std::string reference = use.secret;
  if (use.version != 0) reference += "@" + std::to_string(use.version);
  json.field(use.as, std::string_view(reference));
}

void write_secrets(JsonWriter& json, const std::vector<SecretUse>& secrets) {
  if (secrets.empty()) return;
  json.key("secrets").begin_object();
  for (const SecretUse& use : secrets) {
    if (!use.file) write_secret(json, use);
  }
  if (std::ranges::any_of(secrets, &SecretUse::file)) {
    json.key("files").begin_object();
    for (const SecretUse& use : secrets) {
      if (use.file) write_secret(json, use);
    }
    json.end_object();
  }
  json.end_object();
}

void write_task(JsonWriter& json, const NodeSpec& node) {
  json.key(node.name).begin_object();
  write_texts(json, "needs", node.needs);
  if (node.trigger != TriggerRule::kAllSuccess) {
    json.field("trigger_rule", word_for(kTriggerRules, node.trigger));
  }
  if (!node.condition.empty()) json.field("if", std::string_view(node.condition));
  if (node.continue_on_error) json.field("continue_on_error", true);
  if (node.wait) write_wait(json, *node.wait);
  if (node.child) write_child(json, *node.child);
  write_command(json, node.command);
  write_secrets(json, node.secrets);
  if (node.retry) write_retry(json, *node.retry);
  write_requirements(json, node);
  write_texts(json, "limits", node.limits);
  if (node.exclusive) json.field("exclusive", true);
  write_timeout(json, "timeout", node.execution_timeout);
  write_timeout(json, "scheduled_timeout", node.scheduled_timeout);
  write_timeout(json, "stale_after", node.stale_after);
  write_stale_counts(json, node.stale_counts);
  if (node.map) write_map(json, *node.map);
  write_texts(json, "inputs", node.inputs);
  write_texts(json, "outputs", node.outputs);
  json.end_object();
}

void write_params(JsonWriter& json, const std::vector<ParamSpec>& params) {
  if (params.empty()) return;
  json.key("params").begin_object();
  for (const ParamSpec& param : params) {
    json.key(param.name).begin_object();
    if (param.type != ParamType::kString) json.field("type", word_for(kParamTypes, param.type));
    if (param.fallback) json.key("default").raw(*param.fallback);
    if (!param.help.empty()) json.field("help", std::string_view(param.help));
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string write_dag(const DagSpec& spec) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("vortex", kDagVersion).field("name", std::string_view(spec.name));
  write_timeout(json, "timeout", spec.run_timeout);
  if (spec.barrier_levels) json.field("barrier", word_for(kBarriers, true));
  write_params(json, spec.params);
  write_schedule(json, spec.schedule);
  write_concurrency(json, spec.concurrency);
  write_timeout(json, "finally_timeout", spec.finally_timeout);
  write_dag_outputs(json, spec);
  bool ends = false;
  json.key("tasks").begin_object();
  for (const NodeSpec& node : spec.nodes) {
    if (!node.finally) write_task(json, node);
    ends = ends || node.finally;
  }
  json.end_object();
  if (ends) {
    json.key("finally").begin_object();
    for (const NodeSpec& node : spec.nodes) {
      if (node.finally) write_task(json, node);
    }
    json.end_object();
  }
  write_carried_dags(json, spec);
  json.end_object();
  return out;
}

}  // namespace vortex::codec
