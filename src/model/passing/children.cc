#include "model/passing/children.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.h"
#include "base/text.h"
#include "model/expression.h"

namespace vortex {
namespace {

// What is about a command or a worker, and which of it the task has; empty: nothing.
std::string_view foreign_to_child(const NodeSpec& node) {
  const CommandLine& command = node.command;
  const std::pair<std::string_view, bool> members[] = {
      {"run", !command.argv.empty()},
      {"wait", node.wait.has_value()},
      {"shell", !command.shell.empty()},
      {"env", !command.env.empty()},
      {"workdir", !command.workdir.empty()},
      {"secrets", !node.secrets.empty()},
      {"exclusive", node.exclusive},
      {"limits", !node.limits.empty()},
      {"scheduled_timeout", node.scheduled_timeout.has_value()},
      {"stale_after", node.stale_after.has_value()},
      {"inputs", !node.inputs.empty()},
      {"outputs", !node.outputs.empty()},
  };
  for (const auto& [name, given] : members) {
    if (given) return name;
  }
  return node.requirements == Requirements{} ? std::string_view() : "requirements of a worker";
}

}  // namespace

bool is_dag_file(std::string_view reference) {
  constexpr std::array<std::string_view, 3> kEndings{".yaml", ".yml", ".json"};
  return reference.contains('/') || std::ranges::any_of(kEndings, [&](std::string_view ending) {
           return reference.ends_with(ending);
         });
}

Complaint complain_of_child(const NodeSpec& node) {
  if (!node.child) return std::nullopt;
  if (const std::string_view foreign = foreign_to_child(node); !foreign.empty()) {
    return fmt::format("a task with 'dag' runs no command, so it cannot have {}", foreign);
  }
  const ChildSpec& child = *node.child;
  if (is_dag_file(child.dag)) {
    return fmt::format(
        "the DAG file {} was not read: the controller reads no files; submit or "
        "apply the DAG with the vortex command",
        in_quotes(child.dag));
  }
  if (auto c = complain_of_name("the name of the sub-DAG", child.dag)) return c;
  if (child.params.size() > kListMax) {
    return fmt::format("{} params are too many; the limit is {}", child.params.size(), kListMax);
  }
  std::vector<std::string_view> names;
  std::size_t bytes = 0;
  for (const auto& [name, json] : child.params) {
    if (auto c = complain_of_name("the param", name)) return c;
    names.push_back(name);
    bytes += name.size() + json.size();
  }
  if (bytes > kCommandBytesMax) {
    return fmt::format("the params have more than {} bytes", kCommandBytesMax);
  }
  return complain_of_twice("param", std::move(names));
}

const DagSpec* find_dag(const DagSpec& spec, std::string_view name) {
  for (const auto& dag : spec.dags) {
    if (dag->name == name) return dag.get();
  }
  return nullptr;
}

namespace {

using DagNames = std::set<std::string, std::less<>>;

// What the tasks of this one refer to, each once, with the first task that does.
std::vector<std::pair<std::string_view, std::string_view>> children_of(const DagSpec& spec) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  std::set<std::string_view> seen;
  for (const NodeSpec& node : spec.nodes) {
    if (node.child && seen.insert(node.child->dag).second) {
      out.emplace_back(node.child->dag, node.name);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> missing_dags(const DagSpec& spec) {
  DagNames missing;
  const auto look = [&](const DagSpec& one) {
    for (const auto& [name, task] : children_of(one)) {
      if (find_dag(spec, name) == nullptr && name != spec.name) missing.emplace(name);
    }
  };
  look(spec);
  for (const auto& dag : spec.dags) look(*dag);
  return {missing.begin(), missing.end()};
}

// ---- From below ----

namespace {

class DagTree {
 public:
  DagTree(DagSpec& spec, const CompileOne& compile_one) : spec_(spec), compile_one_(compile_one) {}

  std::optional<DagError> check_carried() {
    if (spec_.dags.size() > kChildDagsMax) {
      return about_dags(fmt::format("{} sub-DAGs are too many; the limit is {}", spec_.dags.size(),
                                    kChildDagsMax));
    }
    for (const auto& dag : spec_.dags) {
      if (!dag->dags.empty()) {
        return about_dags(fmt::format("sub-DAG {} has 'dags' of its own; put them beside it",
                                      in_quotes(dag->name)));
      }
      if (!by_name_.emplace(dag->name, dag).second) {
        return about_dags(fmt::format("two DAGs are called {}", in_quotes(dag->name)));
      }
    }
    return std::nullopt;
  }

  // Depth first, each DAG once, and compiled after all that it refers to.
  std::optional<DagError> visit(const DagSpec& dag) {
    way_.push_back(dag.name);
    Below below;
    for (const auto& [name, task] : children_of(dag)) {
      if (way_.size() == 1) first_task_ = task;
      if (std::ranges::find(way_, name) != way_.end()) return cycle(name);
      const auto child = by_name_.find(name);
      if (child == by_name_.end()) continue;  // a stored one, not known yet
      if (!below_.contains(name)) {
        if (auto wrong = visit(*child->second)) return wrong;
      }
      const Below& own = below_.find(name)->second;
      below.names.insert(own.names.begin(), own.names.end());
      below.names.emplace(name);
      if (own.height + 1 > below.height) below.height = own.height + 1, below.deepest = name;
    }
    const bool root = way_.size() == 1;
    way_.pop_back();
    if (!root) {
      if (auto wrong = compile_dag(dag, below.names)) return wrong;
    }
    below_.emplace(dag.name, std::move(below));
    return std::nullopt;
  }

  std::optional<DagError> check_depth() const {
    if (below_.find(spec_.name)->second.height <= kChildDepthMax) return std::nullopt;
    std::vector<std::string> way{spec_.name};
    while (true) {
      const Below& below = below_.find(way.back())->second;
      if (below.height == 0) break;
      way.emplace_back(below.deepest);
    }
    std::string_view task;
    for (const auto& [name, first] : children_of(spec_)) {
      if (name == way[1]) task = first;
    }
    return DagError{DagError::Kind::kTooDeep,
                    std::string(task),
                    fmt::format("sub-DAGs are nested more than {} deep: {}", kChildDepthMax,
                                fmt::join(way, " -> ")),
                    {"dag"},
                    0,
                    "merge some of these DAGs into one"};
  }

  const DagNames& used() const { return below_.find(spec_.name)->second.names; }
  CompiledDags take() { return std::move(compiled_); }

 private:
  static DagError about_dags(std::string detail) {
    return {DagError::Kind::kBadValue, "", std::move(detail), {"dags"}};
  }

  struct Below {
    DagNames names;
    std::size_t height = 0;  // generations
    std::string_view deepest;
  };

  DagError cycle(std::string_view name) const {
    return {DagError::Kind::kCycle,
            std::string(first_task_),
            fmt::format("the DAG would run itself as a sub-DAG: {} -> {}", fmt::join(way_, " -> "),
                        name),
            {"dag"},
            0,
            "remove one of these sub-DAGs"};
  }

  std::optional<DagError> compile_dag(const DagSpec& dag, const DagNames& below) {
    DagSpec spec = dag;
    for (const std::string& name : below) spec.dags.push_back(by_name_.find(name)->second);
    auto plan = compile_one_(std::move(spec), compiled_);
    if (plan) {
      compiled_.emplace(dag.name, *std::move(plan));
      return std::nullopt;
    }
    const auto same = [&](const auto& carried) { return carried->name == dag.name; };
    plan.error().dag = dag.name;
    plan.error().dag_at =
        static_cast<std::size_t>(std::ranges::find_if(spec_.dags, same) - spec_.dags.begin());
    const auto node = std::ranges::find(dag.nodes, plan.error().node, &NodeSpec::name);
    plan.error().in_finally = node != dag.nodes.end() && node->finally;
    return std::move(plan.error());
  }

  DagSpec& spec_;
  const CompileOne& compile_one_;
  std::map<std::string, std::shared_ptr<const DagSpec>, std::less<>> by_name_;
  std::map<std::string, Below, std::less<>> below_;
  std::vector<std::string> way_;
  std::string_view first_task_;
  CompiledDags compiled_;
};

}  // namespace

std::expected<CompiledDags, DagError> compile_dags(DagSpec& spec, const CompileOne& compile_one) {
  DagTree tree(spec, compile_one);
  if (auto wrong = tree.check_carried()) return std::unexpected(*std::move(wrong));
  if (auto wrong = tree.visit(spec)) return std::unexpected(*std::move(wrong));
  if (auto wrong = tree.check_depth()) return std::unexpected(*std::move(wrong));
  std::erase_if(spec.dags, [&](const auto& dag) { return !tree.used().contains(dag->name); });
  std::ranges::sort(spec.dags, {}, [](const auto& dag) -> const std::string& { return dag->name; });
  return tree.take();
}

// ---- Params ----

namespace {

Value::Kind kind_of(ParamType type) {
  switch (type) {
    case ParamType::kString:
      return Value::Kind::kText;
    case ParamType::kNumber:
      return Value::Kind::kNumber;
    case ParamType::kBoolean:
      return Value::Kind::kBoolean;
    case ParamType::kList:
      return Value::Kind::kList;
    case ParamType::kObject:
      break;
  }
  return Value::Kind::kObject;
}

const ParamSpec* find_param(const DagSpec& dag, std::string_view name) {
  const auto at = std::ranges::find(dag.params, name, &ParamSpec::name);
  return at == dag.params.end() ? nullptr : &*at;
}

struct Wrong {
  std::string detail;
  std::string help = {};
};

std::optional<Wrong> unknown_param(const DagSpec& dag, std::string_view name) {
  if (dag.params.empty() || find_param(dag, name) != nullptr) return std::nullopt;
  std::vector<std::string_view> names;
  for (const ParamSpec& param : dag.params) names.push_back(param.name);
  const std::string_view near = nearest_name(name, names);
  return Wrong{fmt::format("sub-DAG {} has no param {}", in_quotes(dag.name), in_quotes(name)),
               near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near))};
}

std::optional<Wrong> wrong_type(const DagSpec& dag, std::string_view name, Value::Kind kind) {
  const ParamSpec* param = find_param(dag, name);
  if (param == nullptr || kind == Value::Kind::kMissing || kind == kind_of(param->type)) {
    return std::nullopt;
  }
  return Wrong{fmt::format("param {} of sub-DAG {} must be {}, not {}", in_quotes(name),
                           in_quotes(dag.name), kind_text(kind_of(param->type)), kind_text(kind))};
}

std::optional<Wrong> missing_param(const DagSpec& dag, const std::set<std::string_view>& given) {
  for (const ParamSpec& param : dag.params) {
    if (param.fallback || given.contains(param.name)) continue;
    return Wrong{fmt::format("param {} of sub-DAG {} is missing", in_quotes(param.name),
                             in_quotes(dag.name)),
                 fmt::format("add it to 'params' of the task: params: {{{}: ...}}", param.name)};
  }
  return std::nullopt;
}

}  // namespace

std::string object_of(const NamedValues& values) {
  std::string out = "{";
  for (const auto& [name, value] : values) {
    out += (out.size() == 1 ? "" : ",") + json_quoted(name) + ":" + json_of(value);
  }
  return out + "}";
}

std::expected<std::string, std::string> params_of(const DagSpec& dag, const NamedValues& given) {
  if (dag.params.empty()) return object_of(given);
  std::set<std::string_view> names;
  for (const auto& [name, value] : given) {
    if (auto wrong = unknown_param(dag, name)) return std::unexpected(std::move(wrong->detail));
    if (auto wrong = wrong_type(dag, name, value.kind)) {
      return std::unexpected(std::move(wrong->detail));
    }
    names.insert(name);
  }
  if (auto wrong = missing_param(dag, names)) return std::unexpected(std::move(wrong->detail));
  NamedValues all;
  for (const ParamSpec& param : dag.params) {
    const auto own = std::ranges::find(given, param.name, &NamedValues::value_type::first);
    if (own != given.end()) {
      all.push_back(*own);
    } else {
      all.emplace_back(param.name, value_of_json(*param.fallback));
    }
  }
  return object_of(all);
}

// ---- Linking ----

namespace {

class ChildLinker {
 public:
  ChildLinker(PlanBase& plan, const CompiledDags& dags) : plan_(plan), dags_(dags) {
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
      names_.emplace(plan.spec.nodes[i].name, i);
    }
  }

  std::optional<DagError> run() {
    std::vector<std::shared_ptr<NodeChild>> children(plan_.nodes.size());
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      const NodeSpec& node = plan_.spec.nodes[i];
      if (!node.child) continue;
      children[i] = child_of(*node.child);
      if (auto wrong = complain(node, *children[i])) return wrong;
    }
    for (const auto& [name, text] : plan_.spec.outputs) {
      plan_.results.push_back({name, template_of(text)});
    }
    for (auto& child : children) {
      if (child) note_all(*child);
    }
    for (RunOutput& output : plan_.results) note(output.text);
    number_reads();
    for (std::uint32_t i = 0; i < children.size(); ++i) {
      if (children[i]) plan_.nodes[i].child = std::move(children[i]);
    }
    return std::nullopt;
  }

 private:
  // It was parsed before, by scan_expressions.
  static Template template_of(std::string_view text) {
    auto parsed = parse_template(text);
    VX_ASSERT(parsed);
    return *std::move(parsed);
  }

  std::shared_ptr<NodeChild> child_of(const ChildSpec& spec) {
    auto child = std::make_shared<NodeChild>();
    const auto plan = dags_.find(spec.dag);
    if (plan != dags_.end()) child->plan = plan->second;
    for (const auto& [name, json] : spec.params) {
      ChildParam param{name, value_of_json(json), std::nullopt};
      if (param.value.kind == Value::Kind::kText && has_expression_mark(param.value.text)) {
        param.text = template_of(param.value.text);
      }
      child->params.push_back(std::move(param));
    }
    return child;
  }

  // What is known of the type of a param before there are values.
  Value::Kind type_of(const ChildParam& param) const {
    if (!param.text) return param.value.kind;
    const Template& text = *param.text;
    const bool alone =
        text.expressions.size() == 1 && text.texts.front().empty() && text.texts.back().empty();
    if (!alone) return Value::Kind::kText;
    const Expression& only = text.expressions.front();
    if (only.kind != Expression::Kind::kPath) return Value::Kind::kMissing;
    if (only.path.root == PathRoot::kItem && only.path.steps.empty()) return Value::Kind::kText;
    if (only.path.root != PathRoot::kParam || !only.path.steps.empty()) {
      return Value::Kind::kMissing;
    }
    const ParamSpec* own = find_param(plan_.spec, only.path.name);
    return own == nullptr ? Value::Kind::kMissing : kind_of(own->type);
  }

  std::optional<DagError> complain(const NodeSpec& node, const NodeChild& child) const {
    if (!child.plan) return std::nullopt;
    const DagSpec& dag = child.plan->spec;
    const auto error = [&](Wrong wrong, std::vector<std::string> member) {
      return DagError{DagError::Kind::kBadValue, node.name, std::move(wrong.detail),
                      std::move(member),         0,         std::move(wrong.help)};
    };
    std::set<std::string_view> given;
    for (const ChildParam& param : child.params) {
      given.insert(param.name);
      auto wrong = unknown_param(dag, param.name);
      if (!wrong) wrong = wrong_type(dag, param.name, type_of(param));
      if (wrong) return error(*std::move(wrong), {"params", param.name});
    }
    if (auto wrong = missing_param(dag, given)) {
      return error(*std::move(wrong), {child.params.empty() ? "dag" : "params"});
    }
    return std::nullopt;
  }

  void note_all(NodeChild& child) {
    for (ChildParam& param : child.params) {
      if (param.text) note(*param.text);
    }
  }

  void note(Template& text) {
    for (Path* path : references(text)) {
      if (path->root != PathRoot::kParam && path->root != PathRoot::kOutputs) continue;
      ValueRead read;
      if (path->root == PathRoot::kParam) {
        read.steps.emplace_back(path->name);
      } else {
        read.node = names_.at(path->name);
      }
      read.steps.insert(read.steps.end(), path->steps.begin(), path->steps.end());
      users_[std::move(read)].push_back(path);
    }
  }

  void number_reads() {
    for (const auto& [read, users] : users_) {
      const auto number = static_cast<std::uint32_t>(plan_.passes.size());
      for (Path* user : users) user->slot = number;
      if (!read.node) {
        ++plan_.param_passes;
      } else if (ReadSpan& span = plan_.nodes[*read.node].passes; span.count++ == 0) {
        span.first = number;
      }
      plan_.passes.push_back(read);
    }
  }

  PlanBase& plan_;
  const CompiledDags& dags_;
  std::unordered_map<std::string_view, std::uint32_t> names_;
  std::map<ValueRead, std::vector<Path*>> users_;
};

}  // namespace

std::optional<DagError> link_children(PlanBase& plan, const CompiledDags& dags) {
  plan.missing = missing_dags(plan.spec);
  const bool any = !plan.spec.outputs.empty() ||
                   std::ranges::any_of(plan.spec.nodes,
                                       [](const NodeSpec& node) { return node.child.has_value(); });
  if (!any) return std::nullopt;
  return ChildLinker(plan, dags).run();
}

}  // namespace vortex
