#include "model/expression_check.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/check.h"
#include "model/condition.h"
#include "model/expression.h"
#include "model/passing/children.h"

namespace vortex {
namespace {

struct Words {
  std::string message;
  std::string help;
};

std::string meant(std::string_view wanted, std::span<const std::string_view> known) {
  const std::string_view near = nearest_name(wanted, known);
  return near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near));
}

class Scanner {
 public:
  Scanner(const DagSpec& spec, std::size_t faults_max) : spec_(spec), faults_max_(faults_max) {}

  ExpressionScan run() {
    for (; node_ < spec_.nodes.size() && !full(); ++node_) check_node(spec_.nodes[node_]);
    if (!full()) check_results();
    return std::move(out_);
  }

 private:
  using Member = std::vector<std::string>;
  using Names = std::unordered_set<std::string_view>;

  bool full() const { return out_.faults.size() >= faults_max_; }

  void fault(Member member, std::size_t offset, Words words) {
    if (full()) return;
    out_.faults.push_back(
        {node_, std::move(member), offset, std::move(words.message), std::move(words.help)});
  }

  void check_node(const NodeSpec& node) {
    const CommandLine& command = node.command;
    const bool scripted = !command.shell.empty();
    for (std::size_t i = 0; i < command.argv.size(); ++i) {
      if (!has_expression_mark(command.argv[i])) continue;
      // With a shell the first is its script: one that stands alone is not written as a list.
      const bool alone = scripted && command.argv.size() == 1;
      Member member = alone ? Member{"run"} : Member{"run", fmt::to_string(i)};
      check_text(node, command.argv[i], std::move(member), scripted && i == 0);
    }
    for (std::size_t i = 0; i < command.shell.size(); ++i) {
      if (!has_expression_mark(command.shell[i])) continue;
      fault({"shell", fmt::to_string(i)}, command.shell[i].find(kExpressionOpen),
            {"expressions are not allowed in 'shell'", "write the shell command literally"});
    }
    for (const auto& [name, value] : command.env) {
      if (has_expression_mark(value)) check_text(node, value, {"env", name}, false);
    }
    if (has_expression_mark(command.workdir)) {
      check_text(node, command.workdir, {"workdir"}, false);
    }
    if (!node.condition.empty()) check_condition(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) check_input(node, i);
    if (node.map && is_late(*node.map)) check_map(node, std::get<MapOver>(node.map->over).text);
    if (node.child) check_child(node);
  }

  void check_child(const NodeSpec& node) {
    for (const auto& [name, json] : node.child->params) {
      if (!has_expression_mark(json)) continue;
      const Value value = value_of_json(json);
      if (value.kind == Value::Kind::kText) {
        check_passed(node, value.text, {"params", name});
      } else {
        fault({"params", name}, 0,
              {"expressions inside a list or an object are not supported",
               "make the whole value one expression, such as ${{ params.files }}"});
      }
    }
  }

  // What the core resolves: for a child, or as an output of the DAG.
  void check_passed(const NodeSpec& node, std::string_view text, const Member& member) {
    const auto parsed = parse_template(text);
    if (!parsed) {
      const TemplateFault& wrong = parsed.error();
      return fault(member, wrong.offset, {wrong.message, wrong.help});
    }
    for (const Path* path : references(*parsed)) {
      const bool outputs = path->root == PathRoot::kOutputs;
      auto words = outputs ? check_outputs(node, *path, Reads::kPassed) : check_path(node, *path);
      if (words) {
        fault(member, path->offset, *std::move(words));
      } else if (outputs && node_ < spec_.nodes.size()) {
        out_.uses.push_back({node_, *task_named(path->name), member, path->offset, true});
      }
    }
  }

  // All tasks have ended by then, so they may read any of them.
  void check_results() {
    NodeSpec whole;
    whole.finally = true;
    for (const auto& [name, text] : spec_.outputs) {
      const Member member{"outputs", name};
      if (!has_expression_mark(text)) continue;
      const auto parsed = parse_template(text);
      for (const Path* path : parsed ? references(*parsed) : std::vector<const Path*>{}) {
        if (path->root != PathRoot::kTaskName && path->root != PathRoot::kAttempt) continue;
        fault(member, path->offset,
              {fmt::format("{} is of a task; this is an output of the DAG", path->shown), ""});
      }
      check_passed(whole, text, member);
    }
  }

  void check_input(const NodeSpec& node, std::size_t i) {
    const Member member{"inputs", fmt::to_string(i)};
    const auto path = path_of_map(node.inputs[i]);
    if (path && path->root == PathRoot::kOutputs) {
      return check_text(node, node.inputs[i], member, false);
    }
    fault(member, 0,
          {"an input is one expression that names outputs of an earlier task",
           "write one such as ${{ tasks.resize.outputs.size }}"});
  }

  void check_map(const NodeSpec& node, std::string_view text) {
    const Member member{"map", "over"};
    const auto path = path_of_map(text);
    if (!path) {
      const TemplateFault& wrong = path.error();
      return fault(member, wrong.offset, {wrong.message, wrong.help});
    }
    if (auto words = check_source(node, *path))
      return fault(member, path->offset, *std::move(words));
    if (path->root != PathRoot::kOutputs) return;
    out_.uses.push_back({node_, *task_named(path->name), member, path->offset, true});
  }

  std::optional<Words> check_source(const NodeSpec& node, const Path& path) {
    if (path.root == PathRoot::kOutputs) {
      if (auto words = check_outputs(node, path, Reads::kPlain)) return words;
      if (!path.steps.empty()) return std::nullopt;
      return Words{fmt::format("a map cannot go over all outputs of task {}", in_quotes(path.name)),
                   fmt::format("name one: ${{{{ tasks.{}.outputs.NAME }}}}", path.name)};
    }
    if (auto words = check_param(path)) return words;
    Path whole;
    whole.name = path.name;
    const Value::Kind type = type_of(whole);
    if (type == Value::Kind::kMissing || type == Value::Kind::kList ||
        type == Value::Kind::kObject) {
      return std::nullopt;
    }
    return Words{fmt::format("param {} is {}; a map needs a list or an object",
                             in_quotes(path.name), kind_text(type)),
                 "declare it with type: list"};
  }

  void check_condition(const NodeSpec& node) {
    auto parsed = parse_condition(node.condition);
    if (!parsed) return tell(parsed.error());
    bool fine = true;
    for (const Condition* read : reads_of(*parsed)) {
      if (auto words = check_read(node, *read)) {
        fine = false;
        fault({"if"}, read->path.offset, *std::move(words));
      } else if (read->path.root == PathRoot::kOutputs) {
        const auto from = task_named(read->path.name);
        out_.uses.push_back({node_, *from, {"if"}, read->path.offset, true});
      }
    }
    if (!fine) return;
    const auto wrong = find_wrong_type(*parsed, [this](const Path& path) { return type_of(path); });
    if (wrong) tell(*wrong);
  }

  void tell(const TemplateFault& wrong) {
    fault({"if"}, wrong.offset, {wrong.message, wrong.help});
  }

  std::optional<Words> check_read(const NodeSpec& node, const Condition& read) {
    const Path& path = read.path;
    if (path.root == PathRoot::kParam) {
      if (auto words = check_param(path)) return words;
      Path whole;
      whole.name = path.name;
      const Value::Kind type = type_of(whole);
      if (path.steps.empty() || type == Value::Kind::kMissing || type == Value::Kind::kList ||
          type == Value::Kind::kObject) {
        return std::nullopt;
      }
      return Words{fmt::format("param {} is {}; nothing can follow it", in_quotes(path.name),
                               kind_text(type)),
                   ""};
    }
    if (path.root == PathRoot::kRunResult) return check_result(node);
    if (path.root != PathRoot::kOutputs) {
      return Words{fmt::format("{} cannot be read in a condition", path.shown),
                   "a condition is decided once for all tasks of the node, before they are made; "
                   "use params, outputs of earlier tasks, or succeeded(task)"};
    }
    if (!is_ending(read.kind)) return check_outputs(node, path, Reads::kPlain);
    const auto at = task_named(path.name);
    if (!at) {
      return Words{fmt::format("unknown task {}", in_quotes(path.name)),
                   meant(path.name, others_than(node.name))};
    }
    if (*at == node_) return Words{"a task cannot ask how it ended itself", ""};
    return std::nullopt;
  }

  // What a param is declared to be; kMissing: not known.
  Value::Kind type_of(const Path& path) {
    if (path.root != PathRoot::kParam || !path.steps.empty()) return Value::Kind::kMissing;
    if (param_types_.empty()) {
      for (const ParamSpec& param : spec_.params) param_types_.emplace(param.name, param.type);
    }
    const auto at = param_types_.find(path.name);
    if (at == param_types_.end()) return Value::Kind::kMissing;
    switch (at->second) {
      case ParamType::kString:
        return Value::Kind::kText;
      case ParamType::kNumber:
        return Value::Kind::kNumber;
      case ParamType::kBoolean:
        return Value::Kind::kBoolean;
      case ParamType::kList:
        return Value::Kind::kList;
      case ParamType::kObject:
        return Value::Kind::kObject;
    }
    return Value::Kind::kMissing;
  }

  void check_text(const NodeSpec& node, std::string_view text, Member member, bool script) {
    const auto parsed = parse_template(text);
    if (!parsed) {
      const TemplateFault& wrong = parsed.error();
      return fault(std::move(member), wrong.offset, {wrong.message, wrong.help});
    }
    if (script && !parsed->expressions.empty()) return in_script(*parsed, text, std::move(member));
    for (const Path* path : references(*parsed)) {
      if (auto words = check_path(node, *path)) fault(member, path->offset, *std::move(words));
      if (path->root != PathRoot::kOutputs) continue;
      if (const auto from = task_named(path->name)) {
        out_.uses.push_back({node_, *from, member, path->offset, false});
      }
    }
  }

  // The place of the first expression that is one: an escaped mark may stand before it.
  void in_script(const Template& parsed, std::string_view text, Member member) {
    std::size_t at = text.find(kExpressionOpen);
    while (at > 0 && at != std::string_view::npos && text[at - 1] == '$') {
      at = text.find(kExpressionOpen, at + 1);
    }
    const auto paths = references(parsed);
    const std::string shown = paths.empty() ? "..." : paths.front()->shown;
    fault(std::move(member), at,
          {"an expression in a shell script would be read as code",
           fmt::format("pass it through env: {{VALUE: \"${{{{ {} }}}}\"}} and write \"$VALUE\" in "
                       "the script",
                       shown)});
  }

  std::optional<Words> check_path(const NodeSpec& node, const Path& path) {
    switch (path.root) {
      case PathRoot::kParam:
        return check_param(path);
      case PathRoot::kItem:
      case PathRoot::kIndex:
        return check_item(node, path);
      case PathRoot::kOutputs:
        return check_outputs(node, path, Reads::kAny);
      case PathRoot::kRunId:
      case PathRoot::kRunSlot:
      case PathRoot::kRunSlotEnd:
      case PathRoot::kDagName:
      case PathRoot::kTaskName:
      case PathRoot::kAttempt:
        return std::nullopt;
      case PathRoot::kRunResult:
        return check_result(node);
    }
    return std::nullopt;
  }

  static std::optional<Words> check_result(const NodeSpec& node) {
    if (node.finally) return std::nullopt;
    return Words{"run.result is known only when all tasks have ended",
                 "move the task to 'finally'"};
  }

  std::optional<Words> check_param(const Path& path) {
    // A DAG that declares none takes any, and each run may have its own.
    if (spec_.params.empty()) return std::nullopt;
    if (params_.empty()) {
      for (const ParamSpec& param : spec_.params) params_.insert(param.name);
    }
    if (params_.contains(path.name)) return std::nullopt;
    std::vector<std::string_view> names;
    for (const ParamSpec& param : spec_.params) names.push_back(param.name);
    return Words{fmt::format("unknown param {}", in_quotes(path.name)), meant(path.name, names)};
  }

  static std::optional<Words> check_item(const NodeSpec& node, const Path& path) {
    if (!node.map) {
      return Words{fmt::format("{} is used, but the task has no map", path.shown),
                   "add a map to the task, or use params"};
    }
    if (path.root == PathRoot::kIndex || path.name == node.map->as) return std::nullopt;
    const std::string own =
        node.map->as == "matrix" ? "matrix.KEY" : fmt::format("map.{}", node.map->as);
    return Words{fmt::format("this map has no {}", in_quotes(path.name)),
                 fmt::format("the item is {}, its number is map.index", own)};
  }

  // Whether the outputs of all items of a map may be read.
  enum class Reads : std::uint8_t { kPlain, kPassed, kAny };

  std::optional<Words> check_outputs(const NodeSpec& node, const Path& path, Reads reads) {
    const auto at = task_named(path.name);
    if (!at) {
      return Words{fmt::format("unknown task {}", in_quotes(path.name)),
                   meant(path.name, others_than(node.name))};
    }
    if (*at == node_) return Words{"a task cannot read its own outputs", ""};
    const NodeSpec& from = spec_.nodes[*at];
    if (from.map) {
      if (auto words = check_reduce(node, path, reads)) return words;
    }
    const auto* key = path.steps.empty() ? nullptr : std::get_if<std::string>(&path.steps.front());
    if (from.child && key != nullptr) return check_child_output(from, *key);
    if (from.outputs.empty() || key == nullptr) return std::nullopt;
    Names& outputs = outputs_[*at];
    if (outputs.empty()) outputs.insert(from.outputs.begin(), from.outputs.end());
    if (outputs.contains(*key)) return std::nullopt;
    const std::vector<std::string_view> known(from.outputs.begin(), from.outputs.end());
    return Words{
        fmt::format("task {} declares no output {}", in_quotes(path.name), in_quotes(*key)),
        meant(*key, known)};
  }

  // A sub-DAG has the outputs that its DAG declares, if that is known.
  std::optional<Words> check_child_output(const NodeSpec& from, const std::string& key) const {
    const DagSpec* dag = find_dag(spec_, from.child->dag);
    if (dag == nullptr) return std::nullopt;
    std::vector<std::string_view> known;
    for (const auto& [name, text] : dag->outputs) {
      if (name == key) return std::nullopt;
      known.emplace_back(name);
    }
    const std::string words =
        fmt::format("task {} has no output {}: sub-DAG {}", in_quotes(from.name), in_quotes(key),
                    in_quotes(dag->name));
    if (known.empty()) {
      return Words{
          words + " declares no outputs",
          fmt::format("declare it there: outputs: {{{}: \"${{{{ tasks.TASK.outputs.{} }}}}\"}}",
                      key, key)};
    }
    return Words{words + " does not declare it", meant(key, known)};
  }

  // The outputs of all items are as many as the items: each item of another map would be sent them.
  static std::optional<Words> check_reduce(const NodeSpec& node, const Path& path, Reads reads) {
    const std::string name = in_quotes(path.name);
    if (reads == Reads::kPassed) {
      return Words{fmt::format("{} is a map; its outputs cannot be passed on yet", name),
                   "let a task that is no map collect them, and pass its output"};
    }
    if (reads == Reads::kPlain) {
      return Words{
          fmt::format("{} is a map; conditions and maps cannot read its outputs yet", name),
          "let a task that is no map collect them, and read its outputs"};
    }
    if (node.map) {
      return Words{
          fmt::format("{} is a map; each item of this map would read the outputs of all of "
                      "its items",
                      name),
          "let a task that is no map collect them, and read its outputs"};
    }
    if (!path.steps.empty() && std::holds_alternative<std::string>(path.steps.front())) {
      return std::nullopt;
    }
    return Words{fmt::format("{} is a map; name the output whose values are wanted", name),
                 fmt::format("write ${{{{ tasks.{}.outputs.NAME }}}}: a list of one value for each "
                             "item",
                             path.name)};
  }

  std::optional<std::uint32_t> task_named(const std::string& name) {
    if (tasks_.empty()) {
      for (std::uint32_t i = 0; i < spec_.nodes.size(); ++i) tasks_.emplace(spec_.nodes[i].name, i);
    }
    const auto at = tasks_.find(name);
    if (at == tasks_.end()) return std::nullopt;
    return at->second;
  }

  std::vector<std::string_view> others_than(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const NodeSpec& node : spec_.nodes) {
      if (node.name != name) names.push_back(node.name);
    }
    return names;
  }

  const DagSpec& spec_;
  std::size_t faults_max_;
  std::uint32_t node_ = 0;
  // Each is filled at the first question: a document may have thousands of names and of uses of
  // them.
  std::unordered_map<std::string_view, std::uint32_t> tasks_;
  Names params_;
  std::unordered_map<std::string_view, ParamType> param_types_;
  std::unordered_map<std::uint32_t, Names> outputs_;  // by task
  ExpressionScan out_;
};

// ---- Needs through others ----

// So many targets at a time are followed down the levels, one bit each.
constexpr std::size_t kTargetsAtOnce = 64;
constexpr std::size_t kFarTargetsMax = 16 * kTargetsAtOnce;

// The uses of tasks that are not among the direct needs. Uses come node by node, so the needs of a
// node are marked once for all of its uses.
std::vector<OutputUse> far_uses(const PlanBase& plan, const std::vector<OutputUse>& uses) {
  constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> needed_by(plan.nodes.size(), kNobody);
  std::uint32_t marked = kNobody;
  std::vector<OutputUse> far;
  for (const OutputUse& use : uses) {
    if (use.node != marked) {
      marked = use.node;
      for (const std::uint32_t need : plan.nodes[marked].needs) needed_by[need] = marked;
    }
    // What runs last comes after all the others anyway.
    if (plan.spec.nodes[use.node].finally && !plan.spec.nodes[use.from].finally) continue;
    if (needed_by[use.from] != use.node) far.push_back(use);
  }
  return far;
}

ExpressionFault unneeded(const PlanBase& plan, const OutputUse& use, std::string_view why) {
  const NodeSpec& from = plan.spec.nodes[use.from];
  const std::string name = in_quotes(from.name);
  if (from.finally && !plan.spec.nodes[use.node].finally) {
    return {use.node, use.member, use.offset,
            fmt::format("task {} is in 'finally' and runs after this task", name), ""};
  }
  return {use.node, use.member, use.offset, fmt::format("task {} {}", name, why),
          fmt::format("add {} to the task's needs", name)};
}

// For each node, which of the targets it needs, directly or not.
std::vector<std::uint64_t> reached_from(const PlanBase& plan,
                                        std::span<const std::uint32_t> targets) {
  std::vector<std::uint64_t> own(plan.nodes.size(), 0);
  for (std::size_t i = 0; i < targets.size(); ++i) own[targets[i]] = std::uint64_t{1} << i;
  std::vector<std::uint64_t> reached(plan.nodes.size(), 0);
  for (const auto& level : plan.nodes_by_level) {
    for (const std::uint32_t node : level) {
      for (const std::uint32_t need : plan.nodes[node].needs) {
        reached[node] |= reached[need] | own[need];
      }
    }
  }
  return reached;
}

}  // namespace

ExpressionScan scan_expressions(const DagSpec& spec, std::size_t faults_max) {
  return Scanner(spec, faults_max).run();
}

std::vector<ExpressionFault> find_unneeded(const PlanBase& plan, const std::vector<OutputUse>& uses,
                                           std::size_t faults_max) {
  std::vector<ExpressionFault> faults;
  std::vector<OutputUse> far = far_uses(plan, uses);
  std::ranges::sort(
      far, {}, [](const OutputUse& use) { return std::tuple(use.from, use.node, use.offset); });
  std::vector<std::uint32_t> targets;
  for (const OutputUse& use : far) {
    if (targets.empty() || targets.back() != use.from) targets.push_back(use.from);
  }
  auto use = far.begin();
  for (std::size_t first = 0; first < targets.size(); first += kTargetsAtOnce) {
    if (first == kFarTargetsMax) {
      faults.push_back(unneeded(plan, *use, "is too far away to be checked"));
      break;
    }
    const auto some =
        std::span(targets).subspan(first).first(std::min(kTargetsAtOnce, targets.size() - first));
    const auto reached = reached_from(plan, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      for (; use != far.end() && use->from == some[i]; ++use) {
        if ((reached[use->node] >> i & 1U) != 0) continue;
        faults.push_back(unneeded(plan, *use, "is not one of its needs, so it may not have ended"));
      }
    }
  }
  std::ranges::sort(
      faults, {}, [](const ExpressionFault& fault) { return std::pair(fault.node, fault.offset); });
  if (faults.size() > faults_max) faults.resize(faults_max);
  return faults;
}

DagError to_dag_error(const DagSpec& spec, ExpressionFault fault) {
  return {DagError::Kind::kBadValue,
          fault.node < spec.nodes.size() ? spec.nodes[fault.node].name : std::string(),
          std::move(fault.message),
          std::move(fault.member),
          fault.offset,
          std::move(fault.help)};
}

}  // namespace vortex
