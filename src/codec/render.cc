#include "codec/render.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/assert.h"
#include "codec/json_writer.h"
#include "codec/sync_json.h"
#include "model/check.h"
#include "model/expression.h"
#include "model/ids.h"
#include "model/passing/evaluate.h"
#include "model/rows.h"
#include "model/schedule.h"

namespace vortex::codec {
namespace {

struct Value {
  enum class Kind : std::uint8_t {
    kMissing,  // text: why
    kNull,
    kText,
    kPlain,  // a number, true or false
    kNode,   // a list or an object
  };
  Kind kind = Kind::kMissing;
  std::string text;
  const Document* document = nullptr;
  NodeIx node = 0;
};

using Kind = Value::Kind;

Value text_value(std::string_view text) { return {Kind::kText, std::string(text)}; }
Value missing(std::string why) { return {Kind::kMissing, std::move(why)}; }

Value value_at(const Document& document, NodeIx node) {
  switch (document.kind(node)) {
    case NodeKind::kNull:
      return {Kind::kNull, {}};
    case NodeKind::kFalse:
      return {Kind::kPlain, "false"};
    case NodeKind::kTrue:
      return {Kind::kPlain, "true"};
    case NodeKind::kInteger:
    case NodeKind::kDecimal:
      return {Kind::kPlain, std::string(document.text(node))};
    case NodeKind::kText:
      return text_value(document.text(node));
    case NodeKind::kArray:
    case NodeKind::kObject:
      return {Kind::kNode, {}, &document, node};
  }
  VX_ASSERT(false && "a value outside NodeKind");
}

// 0: not there.
NodeIx member_of(const Document& document, NodeIx object, std::string_view name) {
  NodeIx found = 0;
  if (document.kind(object) != NodeKind::kObject) return found;
  document.each_member(object, [&](NodeIx key, NodeIx value) {
    if (document.text(key) == name) found = value;
  });
  return found;
}

NodeIx item_of(const Document& document, NodeIx array, std::uint32_t index) {
  NodeIx found = 0;
  if (document.kind(array) != NodeKind::kArray) return found;
  document.each_item(array, [&](NodeIx item) {
    if (index-- == 0) found = item;
  });
  return found;
}

std::string shown_step(const PathStep& step) {
  if (const auto* key = std::get_if<std::string>(&step)) return in_quotes(*key);
  return fmt::format("item {}", std::get<std::uint32_t>(step));
}

Value walk(Value value, const std::vector<PathStep>& steps) {
  for (const PathStep& step : steps) {
    NodeIx next = 0;
    if (value.kind == Kind::kNode) {
      const auto* key = std::get_if<std::string>(&step);
      next = key != nullptr ? member_of(*value.document, value.node, *key)
                            : item_of(*value.document, value.node, std::get<std::uint32_t>(step));
    }
    if (next == 0) return missing(fmt::format("there is no {}", shown_step(step)));
    value = value_at(*value.document, next);
  }
  return value;
}

Value member_value(const Document* document, std::string_view name, std::string why) {
  const NodeIx at = document == nullptr ? 0 : member_of(*document, 0, name);
  return at == 0 ? missing(std::move(why)) : value_at(*document, at);
}

// Items are texts; one that is asked for its parts must be JSON.
Value item_value(Values& values, const Path& path) {
  const MapItem* map = values.facts().map;
  if (map == nullptr) return missing("the task is not part of a map");
  if (map->as != path.name) return missing("the item of the map is called " + in_quotes(map->as));
  if (path.steps.empty()) return text_value(map->item);
  const Document* item = values.item();
  if (item == nullptr) return missing(fmt::format("the item {} is not JSON", in_quotes(map->item)));
  return value_at(*item, 0);
}

Value root_value(Values& values, const Path& path) {
  const Values::Facts& facts = values.facts();
  switch (path.root) {
    case PathRoot::kParam:
      return member_value(values.params(), path.name, "the run has no such param");
    case PathRoot::kItem:
      return item_value(values, path);
    case PathRoot::kIndex:
      if (facts.map == nullptr) return missing("the task is not part of a map");
      return {Kind::kPlain, fmt::to_string(facts.map->index)};
    case PathRoot::kOutputs:
      return member_value(values.inputs(), path.name,
                          fmt::format("task {} has no outputs", in_quotes(path.name)));
    case PathRoot::kRunId:
      return text_value(facts.run_id);
    case PathRoot::kRunSlot:
      if (facts.slot == kNever) return missing("the run was not started for a slot of a schedule");
      return text_value(slot_text(facts.slot));
    case PathRoot::kRunSlotEnd:
      if (facts.slot == kNever) return missing("the run was not started for a slot of a schedule");
      if (facts.slot_end == kNever) return missing("no slot comes after that of the run");
      return text_value(slot_text(facts.slot_end));
    case PathRoot::kDagName:
      return text_value(facts.dag);
    case PathRoot::kTaskName:
      return text_value(facts.task);
    case PathRoot::kAttempt:
      return {Kind::kPlain, fmt::to_string(facts.attempt)};
    case PathRoot::kRunResult:
      if (!facts.run_result) return missing("the run has not ended");
      return text_value(to_text(*facts.run_result));
  }
  VX_ASSERT(false && "a value outside PathRoot");
}

// As the evaluation knows it.
Found found_of(const Value& value) {
  using To = vortex::Value::Kind;
  switch (value.kind) {
    case Kind::kMissing:
      return {{}, value.text};
    case Kind::kNull:
      return {{To::kNull, "null"}};
    case Kind::kText:
      return {{To::kText, value.text}};
    case Kind::kPlain:
      return {
          {value.text == "true" || value.text == "false" ? To::kBoolean : To::kNumber, value.text}};
    case Kind::kNode:
      break;
  }
  const bool list = value.document->kind(value.node) == NodeKind::kArray;
  Found out{{list ? To::kList : To::kObject, {}}};
  append_compact(out.value.text, *value.document, value.node);
  return out;
}

}  // namespace

const Document* Values::parsed(Part& part, std::string_view json) {
  if (!std::exchange(part.tried, true) && !json.empty()) {
    auto document = std::make_unique<Document>();
    if (!document->parse(json)) part.document = std::move(document);
  }
  return part.document.get();
}

const Document* Values::item() {
  return facts_.map == nullptr ? nullptr : parsed(item_, facts_.map->item);
}

std::expected<std::string, std::string> render(const Template& tmpl, Values& values) {
  return vortex::render(tmpl, [&values](const Path& path) {
    Value value = root_value(values, path);
    if (value.kind != Kind::kMissing) value = walk(std::move(value), path.steps);
    return found_of(value);
  });
}

namespace {

using Done = std::expected<void, std::string>;

bool has_marks(const CommandLine& command) {
  return std::ranges::any_of(command.argv, has_expression_mark) ||
         std::ranges::any_of(command.env,
                             [](const auto& pair) { return has_expression_mark(pair.second); }) ||
         has_expression_mark(command.workdir);
}

class Resolver {
 public:
  explicit Resolver(Values& values) : values_(values) {}

  Done resolve(CommandLine& command) {
    for (std::size_t i = 0; i < command.argv.size(); ++i) {
      const bool script = i == 0 && !command.shell.empty();
      const Done done =
          script ? unescape(command.argv[i]) : replace(command.argv[i], fmt::format("run[{}]", i));
      if (!done) return done;
    }
    for (auto& [name, value] : command.env) {
      if (const Done done = replace(value, "env." + name); !done) return done;
    }
    return replace(command.workdir, "workdir");
  }

 private:
  Done replace(std::string& text, std::string_view where) {
    if (!has_expression_mark(text)) return {};
    const auto parsed = parse_template(text);
    if (!parsed) return std::unexpected(fmt::format("{}: {}", where, parsed.error().message));
    auto rendered = render(*parsed, values_);
    if (!rendered) return std::unexpected(fmt::format("{}: {}", where, rendered.error()));
    text = *std::move(rendered);
    return {};
  }

  // Refused when the DAG is compiled; a plan in the database may be older than that rule.
  static Done unescape(std::string& script) {
    if (!has_expression_mark(script)) return {};
    const auto parsed = parse_template(script);
    if (!parsed || !parsed->expressions.empty()) {
      return std::unexpected(std::string("run: expressions are not allowed in a shell script"));
    }
    script = parsed->texts.front();
    return {};
  }

  Values& values_;
};

}  // namespace

bool has_expressions(const DagPlan& plan, std::uint32_t node) {
  return has_marks(plan.node_spec(node).command) || !plan.node_spec(node).inputs.empty();
}

Values& CommandResolver::values_for(const PlannedWork& work, const Assignment& assignment,
                                    const OutputsOf& outputs_of) {
  const RunId run = assignment.attempt.task.run;
  const bool same = values_ && plan_ == work.plan && node_ == work.node && run_ == run;
  map_ = map_item_of(work, assignment.attempt.task);
  const MapItem* map = map_ ? &*map_ : nullptr;
  if (same) {
    values_->next_task(map, assignment.number);
    return *values_;
  }
  plan_ = work.plan;
  node_ = work.node;
  run_ = run;
  request_ = work.request;
  run_text_ = to_text(run);
  inputs_ = gather_inputs(*plan_, node_, outputs_of);
  values_.emplace(
      Values::Facts{.params = request_ ? std::string_view(request_->params) : std::string_view{},
                    .inputs = inputs_,
                    .map = map,
                    .run_id = run_text_,
                    .dag = plan_->spec.name,
                    .task = plan_->node_spec(node_).name,
                    .attempt = assignment.number,
                    .run_result = work.run_result,
                    .slot = request_ ? request_->slot : kNever,
                    .slot_end = request_ ? request_->slot_end : kNever});
  return *values_;
}

std::expected<CommandPtr, std::string> CommandResolver::resolve(const Assignment& assignment,
                                                                const OutputsOf& outputs_of) {
  const auto& work = std::get<PlannedWork>(assignment.work);
  const CommandLine& planned = work.plan->node_spec(work.node).command;
  if (!has_expressions(*work.plan, work.node)) return nullptr;
  CommandLine command = planned;
  Done done = Resolver(values_for(work, assignment, outputs_of)).resolve(command);
  // Values may hold what no argument can, and be too much together.
  if (done) {
    if (auto complaint = complain_of_command(command)) done = std::unexpected(*complaint);
  }
  if (!done) return std::unexpected("cannot resolve " + done.error());
  return std::make_shared<const CommandLine>(std::move(command));
}

namespace {

void add_names(std::string_view text, std::string_view task, std::set<std::string>& names) {
  if (!has_expression_mark(text)) return;
  const auto parsed = parse_template(text);
  if (!parsed) return;
  for (const Path* path : references(*parsed)) {
    if (path->root != PathRoot::kOutputs || path->name != task || path->steps.empty()) continue;
    const auto* name = std::get_if<std::string>(&path->steps.front());
    if (name != nullptr) names.insert(*name);
  }
}

}  // namespace

Reduction::Reduction(const DagPlan& plan, std::uint32_t node, std::uint32_t from) {
  const CommandLine& command = plan.node_spec(node).command;
  const std::string& task = plan.node_spec(from).name;
  std::set<std::string> names;
  for (const std::string& text : command.argv) add_names(text, task, names);
  for (const auto& [name, text] : command.env) add_names(text, task, names);
  add_names(command.workdir, task, names);
  for (const std::string& text : plan.node_spec(node).inputs) add_names(text, task, names);
  names_.assign(names.begin(), names.end());
  lists_.resize(names_.size());
}

void Reduction::pad(std::uint32_t items) {
  for (; next_ < items; ++next_) {
    for (std::string& list : lists_) list += next_ == 0 ? "null" : ",null";
  }
}

bool Reduction::add(std::uint32_t position, std::string_view outputs) {
  pad(position);
  Document document;
  const bool readable = !document.parse(outputs);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (position > 0) lists_[i] += ',';
    const NodeIx at = readable ? member_of(document, 0, names_[i]) : 0;
    const std::size_t before = lists_[i].size();
    if (at == 0) {
      lists_[i] += "null";
    } else {
      append_compact(lists_[i], document, at);
    }
    bytes_ += lists_[i].size() - before;
  }
  next_ = position + 1;
  return bytes_ <= kBytesMax;
}

std::string Reduction::take(std::uint32_t items) {
  pad(items);
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (std::size_t i = 0; i < names_.size(); ++i) json.key(names_[i]).raw("[" + lists_[i] + "]");
  json.end_object();
  return out;
}

std::shared_ptr<const std::string> CommandResolver::inputs() const {
  if (!plan_ || plan_->node_spec(node_).inputs.empty()) return nullptr;
  return std::make_shared<const std::string>(inputs_);
}

std::string gather_inputs(const DagPlan& plan, std::uint32_t node, const OutputsOf& outputs_of) {
  std::string out;
  const auto& from = upstream_outputs_needed(plan, node);
  if (from.empty()) return out;
  JsonWriter json(out);
  json.begin_object();
  for (const std::uint32_t upstream : from) {
    const auto outputs = outputs_of(upstream);
    if (outputs && !outputs->empty()) json.key(plan.node_spec(upstream).name).raw(*outputs);
  }
  json.end_object();
  return out;
}

}  // namespace vortex::codec
