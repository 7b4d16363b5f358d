#include "codec/resolve.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/json_writer.h"
#include "codec/render.h"
#include "codec/sync_json.h"
#include "model/check.h"
#include "model/expression.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex::codec {
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
  return has_marks(plan.node_spec(node).command);
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
                    .attempt = assignment.number});
  return *values_;
}

std::expected<CommandPtr, std::string> CommandResolver::resolve(const Assignment& assignment,
                                                                const OutputsOf& outputs_of) {
  const auto& work = std::get<PlannedWork>(assignment.work);
  const CommandLine& planned = work.plan->node_spec(work.node).command;
  if (!has_marks(planned)) return nullptr;
  CommandLine command = planned;
  Done done = Resolver(values_for(work, assignment, outputs_of)).resolve(command);
  // Values may hold what no argument can, and be too much together.
  if (done) {
    if (auto complaint = complain_of_command(command)) done = std::unexpected(*complaint);
  }
  if (!done) return std::unexpected("cannot resolve " + done.error());
  return std::make_shared<const CommandLine>(std::move(command));
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
