#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/client/api_client.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "codec/dag_json.h"
#include "codec/units.h"
#include "model/ids.h"

namespace vortex::cli {

OptionSpec OptionSpec::required() {
  option_->required();
  return *this;
}

OptionSpec OptionSpec::not_empty() {
  option_->check([](const std::string& text) {
    return std::string(text.empty() ? "must not be empty" : "");  // behind the name of the option
  });
  return *this;
}

OptionSpec OptionSpec::between(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

OptionSpec OptionSpec::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

OptionSpec OptionSpec::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

OptionSpec OptionSpec::default_text(const std::string& text) {
  option_->default_str(text);
  return *this;
}

OptionSpec OptionSpec::shows_default() {
  option_->capture_default_str();
  return *this;
}

OptionSpec OptionSpec::environment(const std::string& name) {
  option_->envname(name);
  return *this;
}

OptionSpec OptionSpec::one_word() {
  option_->allow_extra_args(false);
  return *this;
}

OptionSpec OptionSpec::hidden() {
  option_->group("");
  return *this;
}

CommandSpec CommandSpec::command(const std::string& name, const std::string& help) {
  return CommandSpec(*app_->add_subcommand(name, help));
}

CommandSpec CommandSpec::group(const std::string& title) {
  app_->group(title);
  return *this;
}

CommandSpec CommandSpec::needs_command() {
  app_->require_subcommand(1);
  return *this;
}

OptionSpec CommandSpec::option(const std::string& name, std::string& value,
                               const std::string& help) {
  const OptionSpec option(app_->add_option(name, value, help));
  return name.starts_with('-') ? option : OptionSpec(option).not_empty();
}

OptionSpec CommandSpec::option(const std::string& name, std::vector<std::string>& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, int& value, const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint16_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint32_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::uint64_t& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, std::optional<std::uint64_t>& value,
                               const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::option(const std::string& name, double& value, const std::string& help) {
  return OptionSpec(app_->add_option(name, value, help));
}

OptionSpec CommandSpec::flag(const std::string& name, bool& value, const std::string& help) {
  return OptionSpec(app_->add_flag(name, value, help));
}

OptionSpec CommandSpec::duration(const std::string& name, Duration& value,
                                 const std::string& help) {
  const auto take = [&value](const std::string& text) {
    const auto parsed = codec::parse_duration(text);
    if (!parsed) {
      throw CLI::ValidationError(
          fmt::format("'{}' {}: write it like 90s, 5m or 1.5h", text, parsed.error()));
    }
    value = *parsed;
  };
  CLI::Option* option = app_->add_option_function<std::string>(name, take, help);
  option->take_last()->type_name("TIME");
  if (value.us > 0) option->default_str(codec::duration_text(value));
  return OptionSpec(option);
}

void CommandSpec::example(const std::string& lines) {
  std::string text = "Example: ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "         ";
  }
  app_->footer(text);
}

void CommandSpec::on_chosen(Command& chosen, Command act) {
  app_->callback([&chosen, act = std::move(act)] { chosen = act; });
}

namespace {

constexpr std::uint32_t kPrefixSearchMax = 1'000;

Failure not_found(std::string code, std::string what, std::string help) {
  Failure failure;
  failure.exit = ExitCode::kNotFound;
  failure.code = std::move(code);
  failure.what = std::move(what);
  failure.help = std::move(help);
  return failure;
}

std::expected<boost::json::object, Failure> newest_run(ApiClient& api, std::string_view state) {
  auto answer = api.get(with_query("/api/runs", {{"limit", "1"}, {"state", std::string(state)}}));
  if (!answer) return std::unexpected(std::move(answer.error()));
  const auto& runs = list_at(answer->object(), "runs");
  if (!runs.empty() && runs[0].is_object()) return runs[0].get_object();
  return std::unexpected(not_found("VX-RUN-001",
                                   state.empty() ? "there are no runs yet" : "no run has failed",
                                   "`vortex runs list` shows the runs"));
}

// The only one of the newest runs whose id begins so.
std::expected<boost::json::object, Failure> run_by_prefix(ApiClient& api, const std::string& text) {
  auto answer = api.get(with_query("/api/runs", {{"limit", std::to_string(kPrefixSearchMax)}}));
  if (!answer) return std::unexpected(std::move(answer.error()));
  std::vector<const boost::json::object*> found;
  for (const auto& run : list_at(answer->object(), "runs")) {
    if (run.is_object() && text_at(run.get_object(), "id").starts_with(text)) {
      found.push_back(&run.get_object());
    }
  }
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    return std::unexpected(not_found("VX-RUN-001", fmt::format("no such run: '{}'", text),
                                     "`vortex runs list` shows them; a run id looks like r42"));
  }
  return std::unexpected(
      not_found("VX-RUN-001",
                fmt::format("{} runs start with '{}': {}, {}, ...", found.size(), text,
                            text_at(*found[0], "id"), text_at(*found[1], "id")),
                "write the full id"));
}

Failure no_such_node(const DagPlan& plan, const TaskPath& path) {
  std::vector<std::string_view> names;
  names.reserve(plan.spec.nodes.size());
  for (const NodeSpec& node : plan.spec.nodes) names.push_back(node.name);
  const std::string_view near = nearest_name(path.name, names);
  return not_found("VX-TASK-001", fmt::format("run {} has no task '{}'", path.run, path.name),
                   near.empty() ? fmt::format("`vortex tasks list {}` shows them", path.run)
                                : fmt::format("did you mean '{}'?", near));
}

std::expected<std::string, Failure> task_in_plan(const DagPlan& plan, const TaskPath& path) {
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    if (plan.node_spec(node).name != path.name) continue;
    const std::uint32_t tasks = plan.tasks_of(node);
    if (!plan.is_counted(node)) {
      return std::unexpected(
          not_found("VX-TASK-001", fmt::format("the items of '{}' are not known yet", path.name),
                    "they are made from an output of an earlier task"));
    }
    if (!path.item && tasks > 1) {
      return std::unexpected(
          not_found("VX-TASK-001", fmt::format("'{}' is a map of {} tasks", path.name, tasks),
                    fmt::format("specify one of them: {}/{}[0]", path.run, path.name)));
    }
    const std::uint32_t item = path.item.value_or(0);
    if (item >= tasks) {
      return std::unexpected(not_found(
          "VX-TASK-001",
          fmt::format("'{}' has {}; [{}] does not exist", path.name, counted(tasks, "task"), item),
          "indexes start at 0"));
    }
    const auto run = parse_run_id(path.run);
    return to_text(
        TaskId{run.value_or(RunId{}), plan.first_task(node) + item, plan.nodes[node].level});
  }
  return std::unexpected(no_such_node(plan, path));
}

}  // namespace

std::expected<boost::json::object, Failure> find_run(ApiClient& api, const std::string& text) {
  if (text == "@last") return newest_run(api, "");
  if (text == "@last-failed") return newest_run(api, "Failed");
  const std::string id = all_digits(text) ? "r" + text : text;
  if (!parse_run_id(id)) {
    return std::unexpected(not_found("VX-RUN-001", fmt::format("'{}' is not a run", text),
                                     "a run is r42, 42, @last or @last-failed"));
  }
  auto answer = api.get("/api/runs/" + escaped(id));
  if (answer) return answer->object();
  if (answer.error().status != 404) return std::unexpected(std::move(answer.error()));
  return run_by_prefix(api, id);
}

TaskPath split_task_path(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {std::string(text), {}, {}};
  TaskPath path{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)), {}};
  const std::size_t open = path.name.rfind('[');
  if (!path.name.ends_with(']') || open == std::string::npos) return path;
  const std::string_view digits =
      std::string_view(path.name).substr(open + 1, path.name.size() - open - 2);
  std::uint32_t item = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), item);
  if (error != std::errc{} || end != digits.data() + digits.size()) return path;
  path.item = item;
  path.name.resize(open);
  return path;
}

std::expected<std::string, Failure> find_task(ApiClient& api, const std::string& text) {
  if (parse_task_id(text)) return text;
  TaskPath path = split_task_path(text);
  if (path.name.empty()) {
    return std::unexpected(not_found("VX-TASK-001", fmt::format("'{}' is not a task", text),
                                     "a task is r42-L1-7, RUN/name or RUN/name[3]"));
  }
  const auto run = find_run(api, path.run);
  if (!run) return std::unexpected(run.error());
  path.run = text_at(*run, "id");
  const auto plan = fetch_plan(api, path.run);
  if (!plan) return std::unexpected(plan.error());
  return task_in_plan(**plan, path);
}

std::expected<PlanPtr, Failure> plan_of_spec(const boost::json::value& spec) {
  Failure failure;
  failure.exit = ExitCode::kInvalid;
  auto read = codec::read_stored_dag(compact_json(spec));
  if (!read) {
    failure.what = "this vortex cannot read the DAG: " + read.error().front().message;
    failure.help = "is the controller newer? see `vortex doctor`";
    return std::unexpected(std::move(failure));
  }
  // The controller has set its limits already.
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  auto plan = compile(*std::move(read), DagLimits{kAny, kAny, kAny, kAny});
  if (plan) return *std::move(plan);
  failure.what = fmt::format("'{}' {}", plan.error().node, plan.error().detail);
  return std::unexpected(std::move(failure));
}

std::expected<PlanPtr, Failure> fetch_plan(ApiClient& api, const std::string& run) {
  auto answer = api.get(fmt::format("/api/runs/{}/dag", escaped(run)));
  if (!answer) return std::unexpected(std::move(answer.error()));
  return plan_of_run(answer->object());
}

std::expected<PlanPtr, Failure> plan_of_run(const boost::json::object& dag) {
  const auto* spec = dag.if_contains("spec");
  auto plan = plan_of_spec(spec == nullptr ? boost::json::value() : *spec);
  if (!plan) return plan;
  LateCounts counts;
  for (const auto& [name, tasks] : object_at(dag, "late_maps")) {
    for (std::uint32_t node = 0; node < (*plan)->nodes.size(); ++node) {
      if ((*plan)->is_late(node) && std::string_view((*plan)->node_spec(node).name) == name) {
        counts.push_back(node);
        counts.push_back(tasks.is_number() ? tasks.to_number<std::uint32_t>() : 0);
      }
    }
  }
  auto laid_out = laid_out_again(*plan, counts);
  if (laid_out) return *std::move(laid_out);
  Failure failure;
  failure.exit = ExitCode::kInvalid;
  failure.what = "this vortex cannot read the maps of the run: " + laid_out.error();
  return std::unexpected(std::move(failure));
}

std::string task_name(const DagPlan& plan, std::uint32_t index) {
  if (index >= plan.tasks) return fmt::format("#{}", index);
  const std::uint32_t node = plan.node_of_task(index);
  const std::string& name = plan.node_spec(node).name;
  if (!plan.node_spec(node).map) return name;
  return fmt::format("{}[{}]", name, plan.position_of(index));
}

}  // namespace vortex::cli
