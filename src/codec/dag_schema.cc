#include "codec/dag_schema.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/dag_read.h"
#include "codec/dag_schedule.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

struct Key {
  std::string_view name;
  std::string schema;  // without the description
  std::string_view about;
};

// ---- Values ----

constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kPlain = R"({"type":["string","number","boolean"]})";
constexpr std::string_view kFlag = R"({"type":"boolean"})";
constexpr std::string_view kTexts = R"({"type":"array","items":{"type":"string"}})";
constexpr std::string_view kPairs = R"({"type":"object","additionalProperties":{"type":"string"}})";
constexpr std::string_view kDuration =
    R"({"type":"string","pattern":"^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h|d)$"})";
constexpr std::string_view kSize =
    R"({"type":"string","pattern":"^[0-9]+(\\.[0-9]+)?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$"})";
constexpr std::string_view kNamePattern = R"("pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]*$")";

std::string name() {
  return fmt::format(R"({{"type":"string","maxLength":{},{}}})", kNameBytesMax, kNamePattern);
}

std::string names_of_members() {
  return fmt::format(R"("propertyNames":{{"maxLength":{},{}}})", kNameBytesMax, kNamePattern);
}

std::string whole(std::int64_t low, std::int64_t high) {
  return fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", low, high);
}

template <class Enum, std::size_t N>
std::string words(const std::array<Word<Enum>, N>& table) {
  std::string out = R"({"enum":[)";
  for (std::size_t i = 0; i < N; ++i) {
    out += fmt::format("{}\"{}\"", i == 0 ? "" : ",", table[i].first);
  }
  return out + "]}";
}

std::string with_about(std::string_view schema, std::string_view about) {
  VX_ASSERT(schema.starts_with('{'));
  std::string out = "{\"description\":";
  JsonWriter(out).text(about);
  if (schema != "{}") out += ',';
  return out.append(schema, 1);
}

// An object with these keys and no others.
std::string object(std::span<const Key> keys, std::string_view more = {}) {
  std::string out = R"({"type":"object","additionalProperties":false)";
  if (!more.empty()) out.append(",").append(more);
  out += R"(,"properties":{)";
  for (const Key& key : keys) {
    if (&key != keys.data()) out += ',';
    out += fmt::format("\"{}\":{}", key.name, with_about(key.schema, key.about));
  }
  return out + "}}";
}

std::string text(std::string_view schema) { return std::string(schema); }

// ---- Parts ----

std::string retry() {
  const std::array<Key, 8> keys{{
      {"max", whole(0, kRetriesMax), "Number of retries after the first try; 0: none."},
      {"backoff", words(kBackoffKinds), "How the delay grows from retry to retry."},
      {"delay", text(kDuration), "The first delay."},
      {"max_delay", text(kDuration), "The maximum delay."},
      {"jitter", R"({"type":"number","minimum":0,"maximum":1})", "The random part of each delay."},
      {"unless_exit", R"({"type":"array","items":{"type":"integer","minimum":1,"maximum":255}})",
       "Exit codes that are not worth a retry."},
      {"only_exit", R"({"type":"array","items":{"type":"integer","minimum":1,"maximum":255}})",
       "The only exit codes that are worth a retry."},
      {"on", fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", words(kRetryCauses)),
       "Which kinds of failure are retried; all by default."},
  }};
  return object(keys, R"("not":{"required":["only_exit","unless_exit"]})");
}

std::string resources() {
  const std::array<Key, 3> keys{{
      {"cpu", R"({"type":"number","minimum":0})", "CPU cores, such as 1.5."},
      {"memory", text(kSize), "Memory, such as 512MiB."},
      {"named",
       fmt::format(R"({{"type":"object","additionalProperties":{}}})", whole(0, kAmountMax)),
       "Amounts of custom resources that workers offer."},
  }};
  return object(keys);
}

std::string map() {
  const std::array<Key, 3> range{{
      {"from", R"({"type":"integer"})", "The first number."},
      {"to", R"({"type":"integer"})", "The last number."},
      {"step", R"({"type":"integer","not":{"const":0}})",
       "The step between numbers; 1 by default."},
  }};
  const std::array<Key, 1> over{{
      {"range", object(range, R"("required":["from","to"])"),
       "A range of numbers instead of a list."},
  }};
  const std::array<Key, 4> keys{{
      {"over",
       fmt::format(R"({{"oneOf":[{{"type":"array","minItems":1,"items":{}}},{},{}]}})", kPlain,
                   object(over, R"("required":["range"])"),
                   R"({"type":"string","pattern":"^\\$\\{\\{.*\\}\\}$"})"),
       "The items; one task is created for each. A list, a range, or one expression such as "
       "${{ tasks.list.outputs.files }}, whose items are known only while a run goes on."},
      {"as",
       fmt::format(R"({{"type":"string","maxLength":{},{},"not":{{"const":"index"}}}})",
                   kNameBytesMax, kNamePattern),
       "Name of the item in expressions: map.NAME; 'item' by default."},
      {"max_parallel", whole(0, kParallelMax),
       "Maximum number of tasks that run at once; 0: no limit."},
      {"max_failures", whole(0, 4'294'967'295),
       "More failed tasks than this stop the remaining ones."},
  }};
  return object(keys, R"("required":["over"])");
}

std::string wait() {
  constexpr std::string_view kTime =
      R"({"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].+(Z|[+-][0-9]{2}:[0-9]{2})$"})";
  const std::array<Key, 6> keys{{
      {"for", text(kDuration), "Ends this long after the tasks it needs."},
      {"until", text(kTime), "Ends at this time, such as 2026-12-01T02:00:00Z."},
      {"signal", name(), "Ends when a signal of this name is sent to the run."},
      {"approval",
       fmt::format(R"({{"type":"string","pattern":".","maxLength":{}}})", kQuestionBytesMax),
       "Ends when somebody approves, and fails when somebody rejects; the question that is asked."},
      {"by",
       R"({"type":"array","minItems":1,"uniqueItems":true,)"
       R"("items":{"enum":["submitter","operator","admin"]}})",
       "Roles that may answer, besides admins; operator by default."},
      {"timeout", text(kDuration), "Fails when nobody has answered by then."},
  }};
  return object(keys,
                R"("oneOf":[{"required":["for"]},{"required":["until"]},)"
                R"({"required":["signal"]},{"required":["approval"]}],)"
                R"("allOf":[{"not":{"required":["timeout","for"]}},)"
                R"({"not":{"required":["timeout","until"]}},{"not":{"required":["by","for"]}},)"
                R"({"not":{"required":["by","until"]}},{"not":{"required":["by","signal"]}}])");
}

std::string matrix() {
  return R"({"type":"object","minProperties":1,"additionalProperties":{"type":"array",)"
         R"("minItems":1,"items":)" +
         text(kPlain) + "}}";
}

std::string secrets() {
  const std::string reference =
      R"({"type":"string","pattern":"^[a-z0-9][a-z0-9._/-]*(@[1-9][0-9]*)?$"})";
  return fmt::format(R"({{"type":"object","properties":{{"files":{{"type":"object",{},)"
                     R"("additionalProperties":{}}}}},"additionalProperties":{}}})",
                     names_of_members(), reference, reference);
}

std::vector<Key> shared_keys() {
  return {
      {"shell", text(kTexts), "The command that runs a script, such as [bash, -euc]."},
      {"env", text(kPairs), "Environment variables; expressions are allowed."},
      {"secrets", secrets(),
       "Secrets as environment variables, and with files: as files in $VORTEX_SECRETS; NAME@3 is "
       "version 3."},
      {"workdir", text(kText), "Working directory of the command; expressions are allowed."},
      {"retry", retry(), "How often and when to retry after a failure."},
      {"retries", whole(0, kRetriesMax), "Short form of retry: {max: N}."},
      {"queue", name(), "The queue to wait in; 'default' by default."},
      {"priority", whole(-kPriorityMax, kPriorityMax), "-100 to 100, higher first; 0 by default."},
      {"labels", text(kPairs), "Labels that the worker must have."},
      {"runtime", text(kText), "The runtime that the worker must offer."},
      {"resources", resources(), "Resources that the worker must have available."},
      {"user", name(), "The user that it runs as; the worker must allow it."},
      {"limits",
       fmt::format(R"({{"type":"array","maxItems":{},"uniqueItems":true,"items":{}}})",
                   kLimitsOfTaskMax, name()),
       "Named limits, as set with `vortex limits set`, that the task holds while it runs."},
      {"exclusive", text(kFlag), "Never run two copies at once, at the price of slower recovery."},
      {"timeout", text(kDuration), "Maximum duration of one attempt."},
      {"scheduled_timeout", text(kDuration),
       "Maximum time between assignment to a worker and the start."},
      {"stale_after", text(kDuration),
       "An attempt without a sign of life for this long counts as stuck."},
      {"stale_counts",
       fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", words(kStaleSigns)),
       "What counts as a sign of life: progress (the default), output, or both."},
  };
}

std::string task() {
  std::vector<Key> keys{
      {"needs", fmt::format(R"({{"oneOf":[{},{}]}})", kText, kTexts),
       "The task or tasks that must end first."},
      {"trigger_rule", words(kTriggerRules),
       "When to start, depending on how the needed tasks ended."},
      {"if", R"({"type":["string","boolean"]})",
       "Skip the task unless this condition is true, such as params.env == 'prod'."},
      {"continue_on_error", text(kFlag),
       "Treat a failure as a success, for the run and for the tasks that need it."},
      {"run",
       fmt::format(R"({{"oneOf":[{},{{"type":"array","minItems":1,"items":{}}}]}})", kText, kText),
       "The command as a list of arguments, or a script together with a shell."},
      {"wait", wait(),
       "Instead of a command: what the task waits for, without a worker. Nothing about a command "
       "can stand beside it."},
      {"dag", R"({"type":"string","pattern":"."})",
       "Instead of a command: a DAG that runs as a child of this task, by its name or as a file "
       "beside this one, such as ./cleanup.yaml."},
      {"params", fmt::format(R"({{"type":"object",{}}})", names_of_members()),
       "Params of the sub-DAG; a value that is one expression keeps its type."},
      {"worker", text(kText), "The only worker it may run on."},
      {"map", map(), "Creates many tasks from one definition."},
      {"matrix", matrix(),
       "Creates a task for every combination of the lists; the values are matrix.KEY."},
      {"inputs", fmt::format(R"({{"type":"array","maxItems":{},"items":{}}})", kListMax, kText),
       "Outputs of earlier tasks, such as ${{ tasks.resize.outputs.size }}, that the task reads "
       "from the JSON file $VORTEX_INPUTS."},
      {"outputs",
       fmt::format(R"({{"type":"array","maxItems":{},"uniqueItems":true,"items":{}}})", kListMax,
                   name()),
       "Names of the values that the task writes to $VORTEX_OUTPUTS."},
  };
  for (Key& key : shared_keys()) keys.push_back(std::move(key));
  return object(keys,
                R"("oneOf":[{"required":["run"]},{"required":["wait"]},{"required":["dag"]}],)"
                R"("allOf":[{"not":{"required":["map","matrix"]}},)"
                R"({"not":{"required":["retry","retries"]}},)"
                R"({"not":{"required":["wait","map"]}},{"not":{"required":["wait","matrix"]}},)"
                R"({"not":{"required":["wait","retry"]}},)"
                R"({"not":{"required":["wait","retries"]}},)"
                R"({"not":{"required":["wait","shell"]}},{"not":{"required":["wait","env"]}},)"
                R"({"not":{"required":["wait","secrets"]}},)"
                R"({"not":{"required":["wait","timeout"]}},)"
                R"({"not":{"required":["wait","resources"]}},)"
                R"({"not":{"required":["params"],"not":{"required":["dag"]}}},)"
                R"({"not":{"required":["dag","shell"]}},{"not":{"required":["dag","env"]}},)"
                R"({"not":{"required":["dag","secrets"]}},{"not":{"required":["dag","outputs"]}},)"
                R"({"not":{"required":["dag","inputs"]}},)"
                R"({"not":{"required":["dag","resources"]}}])");
}

// A default has the type of its param.
std::string param() {
  struct TypeName {
    ParamType type;
    std::string_view json;
  };
  constexpr std::array<TypeName, 5> kTypes{{{ParamType::kString, "string"},
                                            {ParamType::kNumber, "number"},
                                            {ParamType::kBoolean, "boolean"},
                                            {ParamType::kList, "array"},
                                            {ParamType::kObject, "object"}}};
  const std::array<Key, 3> keys{{
      {"type", words(kParamTypes), "Type of the param; 'string' by default."},
      {"default", "{}", "The value if a run does not give one; without a default, every run must."},
      {"help", fmt::format(R"({{"type":"string","maxLength":{}}})", kHelpBytesMax),
       "A one-line description."},
  }};
  std::string all = R"("allOf":[)";
  for (const TypeName& type : kTypes) {
    const bool usual = type.type == ParamType::kString;
    all += fmt::format(R"({}{{"if":{{{}"properties":{{"type":{{"const":"{}"}}}}}},)"
                       R"("then":{{"properties":{{"default":{{"type":"{}"}}}}}}}})",
                       usual ? "" : ",", usual ? "" : R"("required":["type"],)",
                       word_for(kParamTypes, type.type), type.json);
  }
  return object(keys, all + "]");
}

template <HasWords Enum>
std::string all_words() {
  std::string out = R"({"enum":[)";
  for (const std::string_view word : words_of<Enum>()) {
    if (!out.ends_with('[')) out += ',';
    out += fmt::format("\"{}\"", word);
  }
  return out + "]}";
}

std::string schedule() {
  const std::array<Key, 2> catchup{{
      {"window", text(kDuration), "How far back missed times are made up for."},
      {"limit", whole(1, kCatchUpMax), "The newest so many of them; 1 by default."},
  }};
  const std::array<Key, 9> keys{{
      {"cron", text(kText),
       "Minute, hour, day of the month, month and day of the week, such as \"30 2 * * MON\", or "
       "@daily and the like."},
      {"every", text(kDuration), "A fixed interval instead of cron, such as 15m."},
      {"timezone", text(kText), "IANA time zone, such as Europe/Berlin; UTC by default."},
      {"overlap", all_words<Overlap>(),
       "What happens when the previous run has not ended; 'skip' by default."},
      {"catchup", object(catchup, R"("required":["window"])"),
       "Makes up for times that passed while no controller was running."},
      {"jitter", text(kDuration), "Starts each run up to this much later."},
      {"from", text(kText), "No run before this date or time."},
      {"until", text(kText), "No run after this date or time."},
      {"pause_on_failure", text(kFlag), "Pause the schedule when one of its runs fails."},
  }};
  return object(keys, R"("oneOf":[{"required":["cron"]},{"required":["every"]}])");
}

std::string concurrency() {
  const std::array<Key, 3> keys{{
      {"key", text(kText),
       "Runs with the same key form a group, such as ${{ params.customer }}; without a key, all "
       "runs of the DAG do."},
      {"limit", whole(1, kGroupLimitMax),
       "Maximum number of runs of a group at once; 1 by default."},
      {"on_full", all_words<OnFull>(),
       "What happens to a new run of a full group; 'queue' by default."},
  }};
  return object(keys);
}

std::string whole_file() {
  const std::array<Key, 13> keys{{
      {"vortex", fmt::format(R"({{"const":{}}})", kDagVersion), "Version of the format."},
      {"name", name(), "Name of the DAG."},
      {"timeout", text(kDuration), "Maximum duration of a run."},
      {"barrier", words(kBarriers),
       "levels: a level starts only when the previous one is complete."},
      {"params",
       fmt::format(R"({{"type":"object",{},"maxProperties":{},"additionalProperties":{}}})",
                   names_of_members(), kListMax, param()),
       "Values passed to each run."},
      {"schedule", schedule(), "When runs start by themselves."},
      {"concurrency", concurrency(), "How many runs go on at once, in all or by a key."},
      {"defaults", object(shared_keys(), R"("not":{"required":["retry","retries"]})"),
       "Default values for all tasks."},
      {"tasks",
       fmt::format(R"({{"type":"object","minProperties":1,{},"additionalProperties":{}}})",
                   names_of_members(), task()),
       "The tasks, by name."},
      {"finally",
       fmt::format(R"({{"type":"object","minProperties":1,{},"additionalProperties":{}}})",
                   names_of_members(), task()),
       "Tasks that run when all others have ended, however the run ended."},
      {"finally_timeout", text(kDuration),
       "Maximum duration of all tasks in finally together; 1h by default."},
      {"outputs",
       fmt::format(R"({{"type":"object",{},"maxProperties":{},"additionalProperties":{}}})",
                   names_of_members(), kListMax, kText),
       "What a run of this DAG gives the task that it is a sub-DAG of, such as "
       "${{ tasks.count.outputs.rows }}."},
      {"dags", R"({"type":"array","maxItems":100,"items":{"type":"object","required":["name"]}})",
       "DAGs that tasks refer to by name, each a whole DAG; others are found among the stored "
       "ones."},
  }};
  return object(keys, R"("$schema":"http://json-schema.org/draft-07/schema#",)"
                      R"("title":"vortex DAG file","required":["name","tasks"])");
}

// ---- For people ----

class Indenter {
 public:
  Indenter(const Document& document, std::string& out) : document_(document), out_(out) {}

  void write(NodeIx node) {
    const NodeKind kind = document_.kind(node);
    if (kind != NodeKind::kObject && kind != NodeKind::kArray) return write_plain(node);
    const bool object = kind == NodeKind::kObject;
    out_ += object ? '{' : '[';
    ++depth_;
    bool first = true;
    const auto next_line = [&] {
      if (!std::exchange(first, false)) out_ += ',';
      out_.append("\n").append(2 * depth_, ' ');
    };
    if (object) {
      document_.each_member(node, [&](NodeIx key, NodeIx value) {
        next_line();
        write_plain(key);
        out_ += ": ";
        write(value);
      });
    } else {
      document_.each_item(node, [&](NodeIx item) {
        next_line();
        write(item);
      });
    }
    --depth_;
    if (!first) out_.append("\n").append(2 * depth_, ' ');
    out_ += object ? '}' : ']';
  }

 private:
  void write_plain(NodeIx node) {
    JsonWriter json(out_);
    switch (document_.kind(node)) {
      case NodeKind::kText:
        json.text(document_.text(node));
        return;
      case NodeKind::kFalse:
      case NodeKind::kTrue:
        json.boolean(document_.kind(node) == NodeKind::kTrue);
        return;
      default:
        json.raw(document_.text(node));
    }
  }

  const Document& document_;
  std::string& out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string dag_schema() {
  const std::string compact = whole_file();
  Document document;
  const auto fault = document.parse(compact);
  VX_ASSERT(!fault);
  std::string out;
  Indenter(document, out).write(0);
  return out + "\n";
}

}  // namespace vortex::codec
