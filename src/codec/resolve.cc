#include "codec/resolve.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/json_writer.h"
#include "codec/render.h"
#include "model/command_check.h"
#include "model/expression.h"
#include "model/ids.h"

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

  // The controller refuses scripts with expressions; this worker may be newer or older than it.
  static Done unescape(std::string& script) {
    if (!has_expression_mark(script)) return {};
    const auto parsed = parse_template(script);
    if (!parsed || !parsed->expressions.empty()) {
      return std::unexpected(std::string("run: an expression in a shell script is refused"));
    }
    script = parsed->texts.front();
    return {};
  }

  Values& values_;
};

}  // namespace

std::expected<CommandLine, std::string> resolve_command(const WorkOrder& order,
                                                        std::uint32_t attempt) {
  CommandLine command = order.command;
  if (!has_marks(command)) return command;
  const auto task = parse_task_id(order.task_text);
  const std::string run = task ? to_text(task->run) : std::string();
  Values values({.params = order.params,
                 .inputs = order.inputs,
                 .map = order.map ? &*order.map : nullptr,
                 .run_id = run,
                 .dag = order.dag,
                 .task = order.task,
                 .attempt = attempt});
  if (const Done done = Resolver(values).resolve(command); !done) {
    return std::unexpected(done.error());
  }
  // Values may hold what no argument can, and be too much together.
  if (auto complaint = complain_of_command(command)) return std::unexpected(*std::move(complaint));
  return command;
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
