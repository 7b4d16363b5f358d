// One task of a DAG, in either syntax: the tables of its members.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/dag_read.h"
#include "codec/json_writer.h"
#include "codec/mistakes.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/units.h"
#include "model/check.h"
#include "model/expression.h"

namespace vortex::codec {
namespace {

using enum Presence;

void read_delay(Reading& in, NodeIx node, Duration& out) {
  read_duration(in, node, out, Duration{}, kDelayMax);
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

void read_exit_codes(Reading& in, NodeIx node, std::vector<std::int32_t>& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_number(in, item, out.emplace_back(), 1, 255);
  });
}

void read_causes(Reading& in, NodeIx node, RetryDraft& out) {
  if (!is_array(in, node)) return;
  in.document().each_item(node, [&](NodeIx item) {
    if (!in.full()) read_word(in, item, kRetryCauses, out.retry.on.emplace_back());
  });
  if (in.document().count(node) > 0 || in.full()) return;
  in.problem(node, "the list is empty, so nothing would be retried", "write retries: 0 for that");
}

void read_max_retries(Reading& in, NodeIx node, RetryDraft& out) {
  read_number(in, node, out.retry.max_retries, 0, kRetriesMax);
}

constexpr Field<RetryDraft> kRetryFields[] = {
    {"max", read_max_retries},
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
    {"unless_exit", [](Reading& in, NodeIx node,
                       RetryDraft& out) { read_exit_codes(in, node, out.retry.unless_exit); }},
    {"only_exit", [](Reading& in, NodeIx node,
                     RetryDraft& out) { read_exit_codes(in, node, out.retry.only_exit); }},
    {"on", read_causes},
};

// The former name of `max`: databases still hold it.
constexpr Field<RetryDraft> kFormerRetryFields[] = {{"attempts", read_max_retries}};
constexpr auto kStoredRetryFields = joined(kRetryFields, kFormerRetryFields);

void read_retry(Reading& in, NodeIx node, TaskDraft& out) {
  out.retry = node;
  if (in.document().kind(node) == NodeKind::kInteger) {
    return in.wrong_type(node, "a map", retry_form(in.document(), node));
  }
  RetryDraft draft;
  if (in.written_by() == WrittenBy::kController) {
    read_object(in, node, "", kStoredRetryFields.fields, draft);
  } else {
    read_object(in, node, "", kRetryFields, draft);
  }
  Backoff& backoff = draft.retry.backoff;
  if (!draft.has_max_delay) backoff.max_delay = std::max(backoff.max_delay, backoff.delay);
  out.spec.retry = std::move(draft.retry);
}

// The short form of `retry: {max: N}`.
void read_retries(Reading& in, NodeIx node, TaskDraft& out) {
  out.retries = node;
  RetryDraft draft;
  read_max_retries(in, node, draft);
  out.spec.retry = std::move(draft.retry);
}

void refuse_both_retries(Reading& in, const TaskDraft& draft) {
  if (draft.retry == 0 || draft.retries == 0 || in.full()) return;
  in.problem(draft.retries - 1, "'retry' and 'retries' are both given; use only one of them",
             both_retries_form(in.document(), draft.retries));
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

// As in a matrix: numbers, true and false stand for themselves, as they are written.
void read_items(Reading& in, NodeIx node, std::vector<std::string>& out) {
  out.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    const NodeKind kind = in.document().kind(item);
    if (kind == NodeKind::kNull || kind > NodeKind::kText) {
      return in.wrong_type(item, "a string, a number, true or false");
    }
    const bool flag = kind == NodeKind::kTrue || kind == NodeKind::kFalse;
    out.push_back(flag ? in.shown(item) : std::string(in.document().text(item)));
  });
}

void read_over(Reading& in, NodeIx node, MapSpec& out) {
  const NodeKind kind = in.document().kind(node);
  if (kind == NodeKind::kObject) return read_object(in, node, "", kOverFields, out);
  if (kind == NodeKind::kArray) {
    return read_items(in, node, out.over.emplace<std::vector<std::string>>());
  }
  if (kind == NodeKind::kText && has_expression_mark(in.document().text(node))) {
    out.over = MapOver{std::string(in.document().text(node))};
    return;
  }
  in.wrong_type(node, "a list, a range or an expression",
                R"(a range is {"range": {"from": 1, "to": 10}})");
}

constexpr Field<MapSpec> kMapFields[] = {
    {"over", read_over, kRequired},
    {"as", [](Reading& in, NodeIx node, MapSpec& out) { read_text(in, node, out.as); }},
    {"max_parallel",
     [](Reading& in, NodeIx node, MapSpec& out) {
       read_number(in, node, out.max_parallel, 0, kParallelMax);
     }},
    {"max_failures", [](Reading& in, NodeIx node,
                        MapSpec& out) { read_number(in, node, out.max_failures.emplace()); }},
};

// ---- members that have no default of the file ----

// In YAML one text is a list of one.
void read_needs(Reading& in, NodeIx node, TaskDraft& out) {
  const bool yaml = in.document().syntax() == Syntax::kYaml;
  if (!yaml || in.document().kind(node) != NodeKind::kText) {
    return read_texts(in, node, out.spec.needs);
  }
  out.spec.needs.assign(1, std::string(in.document().text(node)));
}

// YAML reads a bare true as a boolean.
void read_condition(Reading& in, NodeIx node, TaskDraft& out) {
  const NodeKind kind = in.document().kind(node);
  if (kind == NodeKind::kTrue || kind == NodeKind::kFalse) {
    out.spec.condition = in.shown(node);
    return;
  }
  if (kind != NodeKind::kText) {
    return in.wrong_type(node, "a string", "write a condition such as params.env == \"prod\"");
  }
  out.spec.condition = in.document().text(node);
  if (out.spec.condition.empty() && !in.full()) {
    in.problem(node, "the condition is empty", "write one such as params.env == \"prod\"");
  }
}

constexpr Field<TaskDraft> kOwnFields[] = {
    {"needs", read_needs},
    {"if", read_condition},
    {"continue_on_error", [](Reading& in, NodeIx node,
                             TaskDraft& out) { read_flag(in, node, out.spec.continue_on_error); }},
    {"trigger_rule", [](Reading& in, NodeIx node,
                        TaskDraft& out) { read_word(in, node, kTriggerRules, out.spec.trigger); }},
    {"run", [](Reading& in, NodeIx node, TaskDraft& out) { read_run(in, node, out.command); }},
    {"wait", read_wait},
    {"dag", read_child_dag},
    {"params", read_child_params},
    {"worker", [](Reading& in, NodeIx node,
                  TaskDraft& out) { read_text(in, node, out.spec.requirements.worker.text); }},
    {"map",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       out.map = node;
       read_object(in, node, "", kMapFields, out.spec.map.emplace());
     }},
    {"inputs",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_texts(in, node, out.spec.inputs); }},
    {"outputs",
     [](Reading& in, NodeIx node, TaskDraft& out) { read_texts(in, node, out.spec.outputs); }},
};

// ---- members that `defaults` of a YAML file may have too ----

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The newer value of a name wins, in the place of the older one. Names come from strangers and are
// many: they are looked up by hash, and positions are kept because growth moves the strings.
void merge_pairs(Pairs& out, Pairs newer) {
  std::unordered_map<std::string, std::size_t> places;
  places.reserve(out.size() + newer.size());
  for (std::size_t i = 0; i < out.size(); ++i) places.emplace(out[i].first, i);
  for (auto& [name, value] : newer) {
    const auto [place, added] = places.emplace(name, out.size());
    if (added) {
      out.emplace_back(std::move(name), std::move(value));
    } else {
      out[place->second].second = std::move(value);
    }
  }
}

void read_more_env(Reading& in, NodeIx node, TaskDraft& out) {
  if (in.document().kind(node) == NodeKind::kArray) {
    return in.wrong_type(node, "a map", env_form(in.document(), node));
  }
  Pairs newer;
  read_env(in, node, newer);
  std::erase_if(newer, [](const auto& pair) {
    return complain_of_variable(pair.first, pair.second).has_value();
  });
  if (in.document().kind(node) != NodeKind::kObject) return;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    if (in.full() || in.document().kind(value) != NodeKind::kText) return;
    const auto wrong = complain_of_variable(in.document().text(key), in.document().text(value));
    if (wrong) in.problem(key, *wrong);
  });
  merge_pairs(out.command.command.env, std::move(newer));
}

void read_more_labels(Reading& in, NodeIx node, TaskDraft& out) {
  Pairs newer;
  read_labels(in, node, newer);
  merge_pairs(out.spec.requirements.labels, std::move(newer));
  std::ranges::sort(out.spec.requirements.labels);
}

void read_user(Reading& in, NodeIx node, TaskDraft& out) {
  std::string& user = out.spec.requirements.user;
  read_text(in, node, user);
  if (in.document().kind(node) != NodeKind::kText || in.full()) return;
  if (auto wrong = complain_of_name("user", user)) in.problem(node, *std::move(wrong));
}

void read_stale_counts(Reading& in, NodeIx node, TaskDraft& out) {
  if (!is_array(in, node)) return;
  StaleCounts counts{.progress = false, .output = false};
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    StaleSign sign{};
    read_word(in, item, kStaleSigns, sign);
    (sign == StaleSign::kOutput ? counts.output : counts.progress) = true;
  });
  if (in.document().count(node) == 0) {
    return in.problem(node, "stale_counts is empty, so nothing would count as a sign of life",
                      "list progress, output or both");
  }
  out.spec.stale_counts = counts;
}

void read_shell(Reading& in, NodeIx node, TaskDraft& out) {
  out.shell = node;
  if (in.document().kind(node) == NodeKind::kText) {
    // Given in spirit, so that its script is not refused for having no shell as well.
    out.command.command.shell.assign(1, std::string(in.document().text(node)));
    return in.wrong_type(node, "a list", shell_form(in.document(), node));
  }
  read_texts(in, node, out.command.command.shell);
}

// ---- secrets ----

constexpr std::string_view kFilesKey = "files";

std::string secret_help(std::string_view text) {
  SecretUse use;
  const std::string lower = lower_case(text);
  if (lower == text || read_secret_reference(lower, use)) return {};
  return fmt::format("did you mean '{}'?", lower);
}

struct SecretList {
  std::vector<SecretUse> uses;
  bool files = false;
};

void read_secret(Reading& in, NodeIx key, NodeIx value, SecretList& out) {
  if (in.full()) return;
  const auto text = text_of(in, value);
  if (!text) return;
  SecretUse use;
  use.as = in.document().text(key);
  use.file = out.files;
  if (const auto wrong = read_secret_reference(*text, use)) {
    return in.problem(value, *wrong, secret_help(*text));
  }
  const auto wrong =
      use.file ? complain_of_name("file of a secret", use.as) : complain_of_variable(use.as, {});
  if (wrong) return in.problem(key, *wrong);
  out.uses.push_back(std::move(use));
}

void read_secret_files(Reading& in, NodeIx node, SecretList& out) {
  constexpr std::string_view kHelp = "write files: {tls.key: tls/key}";
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, object_word(in.document().syntax()), std::string(kHelp));
  }
  if (!is_object_of_names(in, node)) return;
  out.files = true;
  in.document().each_member(node,
                            [&](NodeIx key, NodeIx value) { read_secret(in, key, value, out); });
  out.files = false;
}

// The newer use of a variable or file wins, in the place of the older one.
void merge_secrets(std::vector<SecretUse>& out, std::vector<SecretUse> newer) {
  std::map<std::pair<bool, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < out.size(); ++i) places.emplace(std::pair(out[i].file, out[i].as), i);
  for (SecretUse& use : newer) {
    const auto [place, added] = places.emplace(std::pair(use.file, use.as), out.size());
    if (added) {
      out.push_back(std::move(use));
    } else {
      out[place->second] = std::move(use);
    }
  }
}

void read_more_secrets(Reading& in, NodeIx node, TaskDraft& out) {
  if (in.document().kind(node) != NodeKind::kObject) {
    return in.wrong_type(node, object_word(in.document().syntax()),
                         "write secrets: {DB_PASSWORD: db/password}");
  }
  if (!is_object_of_names(in, node)) return;
  SecretList list;
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    const std::string_view name = in.document().text(key);
    if (name == kFilesKey) return read_secret_files(in, value, list);
    const std::string_view near = nearest_name(name, std::span(&kFilesKey, 1));
    if (in.document().kind(value) == NodeKind::kObject && !near.empty() && !in.full()) {
      return in.problem(key, fmt::format("unknown key {} in 'secrets'", in_quotes(name)),
                        "did you mean 'files'?");
    }
    read_secret(in, key, value, list);
  });
  merge_secrets(out.spec.secrets, std::move(list.uses));
}

// A task's own limits come instead of the defaults.
void read_limits(Reading& in, NodeIx node, TaskDraft& out) {
  if (in.document().kind(node) == NodeKind::kText && !in.full()) {
    return in.wrong_type(node, "a list",
                         fmt::format("write limits: [{}]", in.document().text(node)));
  }
  out.spec.limits.clear();
  read_texts(in, node, out.spec.limits);
}

constexpr Field<TaskDraft> kSharedFields[] = {
    {"shell", read_shell},
    {"env", read_more_env},
    {"secrets", read_more_secrets},
    {"workdir", [](Reading& in, NodeIx node,
                   TaskDraft& out) { read_text(in, node, out.command.command.workdir); }},
    {"retry", read_retry},
    {"retries", read_retries},
    {"queue", [](Reading& in, NodeIx node,
                 TaskDraft& out) { read_text(in, node, out.spec.requirements.queue); }},
    {"priority",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       read_number(in, node, out.spec.priority, -kPriorityMax, kPriorityMax);
     }},
    {"labels", read_more_labels},
    {"runtime", [](Reading& in, NodeIx node,
                   TaskDraft& out) { read_text(in, node, out.spec.requirements.runtime); }},
    {"resources",
     [](Reading& in, NodeIx node, TaskDraft& out) {
       read_resources(in, node, out.spec.requirements.resources);
     }},
    {"user", read_user},
    {"limits", read_limits},
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
    {"stale_counts", read_stale_counts},
};

// ---- members of YAML only ----

constexpr Field<TaskDraft> kYamlFields[] = {
    {"matrix", keep_node<&TaskDraft::matrix, TaskDraft>},
    {"call", not_yet<TaskDraft>},
    {"concurrency", not_yet<TaskDraft>},
    {"hooks", not_yet<TaskDraft>},
};

constexpr auto kTaskFields = joined(kOwnFields, kSharedFields);
constexpr auto kYamlTaskFields = joined(kTaskFields.fields, kYamlFields);

// A default shell is for scripts: a list of words means the same with and without it.
void drop_foreign_shell(const Reading& in, TaskDraft& draft) {
  if (draft.shell != 0) return;
  const bool script =
      draft.command.run != 0 && in.document().kind(draft.command.run) == NodeKind::kText;
  if (!script) draft.command.command.shell.clear();
}

}  // namespace

std::vector<std::string_view> task_keys() { return keys_of(kYamlTaskFields.fields); }
std::vector<std::string_view> default_keys() { return keys_of(kSharedFields); }
std::vector<std::string_view> retry_keys() { return keys_of(kRetryFields); }
std::vector<std::string_view> map_keys() { return keys_of(kMapFields); }
std::vector<std::string_view> range_keys() { return keys_of(kRangeFields); }

void read_timeout(Reading& in, NodeIx node, std::optional<Duration>& out) {
  Duration timeout{};
  read_duration(in, node, timeout, micros(1), kForever);
  out = timeout;
}

void read_defaults(Reading& in, NodeIx node, TaskDraft& out) {
  read_object(in, node, "", kSharedFields, out);
  refuse_both_retries(in, out);
}

namespace {

bool has_key(const Document& document, NodeIx task, std::string_view wanted) {
  bool found = false;
  if (document.kind(task) != NodeKind::kObject) return found;
  document.each_member(task, [&](NodeIx key, NodeIx) {
    if (document.text(key) == wanted) found = true;
  });
  return found;
}

}  // namespace

NodeSpec read_task(Reading& in, const TaskNodes& at, const TaskDraft& defaults) {
  // These run no command, so the defaults are not about them.
  const bool waits = has_key(in.document(), at.value, "wait");
  const bool no_command = waits || has_key(in.document(), at.value, "dag");
  TaskDraft draft = no_command ? TaskDraft{} : defaults;
  draft.shell = 0;
  draft.retry = 0;
  draft.retries = 0;
  draft.spec.name = in.document().text(at.key);
  const bool yaml = in.document().syntax() == Syntax::kYaml;
  if (!yaml) {
    read_object(in, at.value, "task", kTaskFields.fields, draft);
  } else {
    read_object(in, at.value, "task", kYamlTaskFields.fields, draft);
    drop_foreign_shell(in, draft);
    if (draft.matrix != 0) read_matrix(in, draft);
    const bool object = in.document().kind(at.value) == NodeKind::kObject;
    if (object && draft.command.run == 0 && !no_command) in.missing_key(at.value, "run");
  }
  refuse_both_retries(in, draft);
  if (waits) {
    refuse_beside_wait(in, at.value);
  } else if (draft.dag != 0 || draft.params != 0) {
    refuse_beside_dag(in, draft, at.value);
  }
  finish_command(in, draft.command);
  draft.spec.command = std::move(draft.command.command);
  return std::move(draft.spec);
}

// The matrix of a task, written out as a map over all combinations.

namespace {

// Written out in the specification, so fewer than a range may have.
constexpr std::size_t kCombinationsMax = 10'000;

struct Axis {
  std::string key;
  std::vector<std::string> values;  // as JSON
};

bool is_plain(NodeKind kind) { return kind != NodeKind::kNull && kind <= NodeKind::kText; }

void read_axis(Reading& in, NodeIx key, NodeIx list, std::vector<Axis>& out) {
  if (in.full() || !is_array(in, list)) return;
  Axis axis{.key = std::string(in.document().text(key)), .values = {}};
  in.document().each_item(list, [&](NodeIx item) {
    if (in.full()) return;
    if (!is_plain(in.document().kind(item))) {
      return in.wrong_type(item, "a string, a number, true or false");
    }
    append_compact(axis.values.emplace_back(), in.document(), item);
  });
  if (axis.values.empty() && in.fine())
    in.problem(list, "every list in a matrix needs at least one item");
  out.push_back(std::move(axis));
}

std::string combination(const std::vector<Axis>& axes, std::size_t number) {
  std::vector<std::size_t> at(axes.size());
  for (std::size_t i = axes.size(); i > 0; --i) {  // the last changes fastest
    at[i - 1] = number % axes[i - 1].values.size();
    number /= axes[i - 1].values.size();
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (std::size_t i = 0; i < axes.size(); ++i) json.key(axes[i].key).raw(axes[i].values[at[i]]);
  json.end_object();
  return out;
}

}  // namespace

void read_matrix(Reading& in, TaskDraft& draft) {
  if (draft.map != 0) {
    return in.problem(draft.matrix - 1, "a task can have a map or a matrix, not both");
  }
  std::vector<Axis> axes;
  if (!is_object_of_names(in, draft.matrix)) return;
  in.document().each_member(draft.matrix,
                            [&](NodeIx key, NodeIx list) { read_axis(in, key, list, axes); });
  if (axes.empty() && in.fine()) in.problem(draft.matrix, "a matrix needs at least one list");
  std::size_t combinations = 1;
  for (const Axis& axis : axes) {
    combinations *= axis.values.size();
    if (combinations <= kCombinationsMax) continue;
    return in.problem(draft.matrix,
                      fmt::format("the matrix has more than {} combinations", kCombinationsMax),
                      "use a map over a range");
  }
  if (!in.fine()) return;
  MapSpec& map = draft.spec.map.emplace();
  map.as = "matrix";
  auto& items = map.over.emplace<std::vector<std::string>>();
  for (std::size_t i = 0; i < combinations; ++i) items.push_back(combination(axes, i));
}

}  // namespace vortex::codec
