// vortex dag: the named DAGs on the controller, and drawings of them.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/terminal.h"
#include "codec/dag_json.h"
#include "codec/dag_schema.h"
#include "model/plan.h"

namespace vortex::cli {
namespace {

// A DAG as a drawing: indented text, Mermaid, or DOT.
//
// Pure functions over the checked plan, whose names need no escaping. Nodes are numbered, so that
// the same plan always gives the same drawing.

std::string label_of(const DagPlan& plan, std::uint32_t node) {
  const NodeSpec& spec = plan.node_spec(node);
  std::string out = spec.name;
  if (!plan.is_counted(node)) {
    out += " x?";
  } else if (spec.map) {
    out += fmt::format(" x{}", plan.tasks_of(node));
  }
  if (spec.wait)
    out += spec.wait->asks() ? fmt::format(" ({})", to_text(spec.wait->kind)) : " (wait)";
  if (spec.child) out += fmt::format(" (dag {})", spec.child->dag);
  if (spec.finally) out += " (finally)";
  return out;
}

// "a", "a, b and 3 more".
std::string needs_text(const DagPlan& plan, std::uint32_t node) {
  constexpr std::size_t kShownMax = 4;
  std::vector<std::string> names;
  const auto& needs = plan.nodes[node].needs;
  for (std::size_t i = 0; i < needs.size() && i < kShownMax; ++i) {
    names.push_back(plan.node_spec(needs[i]).name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (needs.size() > kShownMax) text += fmt::format(" and {} more", needs.size() - kShownMax);
  return text;
}

std::string_view rule_text(TriggerRule rule) {
  switch (rule) {
    case TriggerRule::kAllSuccess:
      return "";
    case TriggerRule::kAllFailed:
      return "all_failed";
    case TriggerRule::kAllDone:
      return "all_done";
    case TriggerRule::kOneSuccess:
      return "one_success";
    case TriggerRule::kOneFailed:
      return "one_failed";
    case TriggerRule::kNoneFailed:
      return "none_failed";
    case TriggerRule::kNoneSkipped:
      return "none_skipped";
  }
  return "";
}

// Names hold letters, digits, '-', '_' and '.' only: nothing to escape inside quotes.
std::string edges(const DagPlan& plan, const char* form) {
  std::string out;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    for (const std::uint32_t need : plan.nodes[node].needs) {
      out += fmt::format(fmt::runtime(form), need, node);
    }
  }
  return out;
}

// Conditions may go over several lines in a file.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

// One line a task, by levels, with what it needs.
std::string graph_text(const DagPlan& plan, const Look& look) {
  const bool any_condition = std::ranges::any_of(
      plan.spec.nodes, [](const NodeSpec& node) { return !node.condition.empty(); });
  std::vector<Column> columns{{"LEVEL", Align::kRight, Shown::kAlways, Shrinks::kNever},
                              {"TASK", Align::kLeft, Shown::kAlways, Shrinks::kNever},
                              {"NEEDS", Align::kLeft, Shown::kAlways, Shrinks::kMay},
                              {"RULE", Align::kLeft, Shown::kAlways, Shrinks::kNever}};
  if (any_condition) columns.push_back({"IF", Align::kLeft, Shown::kAlways, Shrinks::kMay});
  Table table(std::move(columns));
  for (std::uint32_t level = 0; level < plan.levels; ++level) {
    for (const std::uint32_t node : plan.nodes_by_level[level]) {
      const std::string indent(std::size_t{2} * level, ' ');
      std::vector<Cell> row{{std::to_string(level), Tone::kDim},
                            {indent + label_of(plan, node), Tone::kStrong},
                            {needs_text(plan, node), Tone::kPlain},
                            {std::string(rule_text(plan.node_spec(node).trigger)), Tone::kDim}};
      if (any_condition) row.push_back({one_line(plan.node_spec(node).condition), Tone::kPlain});
      table.add(std::move(row));
    }
  }
  return table.text(look);
}

std::string graph_mermaid(const DagPlan& plan) {
  std::string out = "flowchart LR\n";
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    const bool map = plan.node_spec(node).map.has_value();
    out += fmt::format("  n{}{}\"{}\"{}\n", node, map ? "[[" : "[", label_of(plan, node),
                       map ? "]]" : "]");
  }
  return out + edges(plan, "  n{} --> n{}\n");
}

std::string graph_dot(const DagPlan& plan) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", plan.spec.name);
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    const bool map = plan.node_spec(node).map.has_value();
    out += fmt::format("  n{} [label=\"{}\"{}];\n", node, label_of(plan, node),
                       map ? ", shape=box3d" : "");
  }
  return out + edges(plan, "  n{} -> n{};\n") + "}\n";
}

using boost::json::object;

constexpr ListColumn kDagColumns[] = {
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"NODES", [](const object& o, const Look&) { return plain_cell(o, "nodes"); }, Align::kRight},
    {"TASKS", [](const object& o, const Look&) { return plain_cell(o, "tasks"); }, Align::kRight},
    {"UPDATED", [](const object& o, const Look& l) { return time_cell(o, "updated_at", l); }},
    {"DIGEST", [](const object& o, const Look&) { return plain_cell(o, "digest"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kDags{"dags", "DAGs", [](const object& o) { return text_at(o, "name"); },
                        kDagColumns};

std::string dag_path(const std::string& name) { return "/api/dags/" + escaped(name); }

ExitCode show_dag(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto dag = (*api)->get(dag_path(name));
  if (!dag) return report(dag.error());
  const object& o = dag->object();
  const Look look = look_at(context, STDOUT_FILENO);
  const auto count = [&](const char* key, std::string_view noun) {
    return counted(static_cast<std::uint64_t>(number_at(o, key)), noun);
  };
  Record record;
  record.add("name", text_at(o, "name")).add("digest", text_at(o, "digest"));
  record.add("tasks", fmt::format("{}, {}, {}", count("tasks", "task"), count("nodes", "node"),
                                  count("levels", "level")));
  record.add("updated", time_cell(o, "updated_at", look).text);
  std::string text = record.text(look);
  const auto* spec = o.if_contains("spec");
  if (const auto plan = plan_of_spec(spec == nullptr ? boost::json::value() : *spec)) {
    text += "\n" + graph_text(**plan, look);
  }
  return show_one(context, dag->json, {text_at(o, "name"), text});
}

ExitCode apply_one(const Context& context, ApiClient& api, const std::string& canonical) {
  const boost::json::value json = boost::json::parse(canonical);
  const std::string name = text_at(json.get_object(), "name");
  ApiRequest request{net::Method::kPut, dag_path(name), canonical, {}, {}};
  const auto answer = api.call(std::move(request));
  if (!answer) return report(answer.error());
  if (wants_json(context) || context.output == Output::kName) {
    return show_one(context, answer->json, {name, {}});
  }
  const char* how = answer->status == 201 ? "created" : "updated";
  if (!context.quiet) {
    const auto tasks = static_cast<std::uint64_t>(number_at(answer->object(), "tasks"));
    talk(fmt::format("DAG {} {}: {}, digest {}", name, how, counted(tasks, "task"),
                     text_at(answer->object(), "digest")));
  }
  return ExitCode::kOk;
}

// Sub-DAGs before those that run them, else in the given order.
std::vector<PlanPtr> children_first(std::vector<PlanPtr> plans) {
  std::vector<PlanPtr> sorted;
  while (!plans.empty()) {
    const auto is_free = [&](const PlanPtr& plan) {
      return std::ranges::none_of(plans, [&](const PlanPtr& other) {
        return std::ranges::find(plan->base->missing, other->spec.name) !=
               plan->base->missing.end();
      });
    };
    auto next = std::ranges::find_if(plans, is_free);
    if (next == plans.end()) next = plans.begin();  // in a circle: the controller says so
    sorted.push_back(std::move(*next));
    plans.erase(next);
  }
  return sorted;
}

// All files are checked before the first is sent: a mistake in one of them changes nothing.
ExitCode apply_all(const Context& context, const std::vector<std::string>& paths) {
  const auto files = dag_files_of(paths);
  if (!files) return files.error();
  std::vector<PlanPtr> plans;
  ExitCode worst = ExitCode::kOk;
  for (const std::string& path : *files) {
    auto plan = load_dag_plan(context, path);
    if (plan) plans.push_back(*std::move(plan));
    if (!plan) worst = plan.error();
  }
  if (worst != ExitCode::kOk) return worst;
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  for (const PlanPtr& plan : children_first(std::move(plans))) {
    const ExitCode code = apply_one(context, **api, codec::write_dag(plan->spec));
    if (code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

ExitCode remove(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  if (const auto no = confirm(context, fmt::format("delete the DAG {}", name))) return *no;
  ApiRequest request{net::Method::kDelete, dag_path(name), {}, {}, {}};
  return act(context, **api, {std::move(request), name, fmt::format("DAG {} deleted", name)});
}

struct GraphOptions {
  std::string what;
  std::string form = "text";
};

// A file where there is one of this name, else a run, else a DAG of the controller.
std::expected<PlanPtr, ExitCode> graph_plan(const Context& context, const std::string& what) {
  std::error_code ec;
  const bool is_file =
      std::filesystem::exists(what, ec) && !std::filesystem::is_directory(what, ec);
  if (is_file) return load_dag_plan(context, what);
  const auto api = ApiClient::open(context);
  if (!api) return std::unexpected(api.error());
  if (what.starts_with('@') || parse_run_id(what)) {
    const auto run = find_run(**api, what);
    if (!run) return std::unexpected(report(run.error()));
    auto plan = fetch_plan(**api, text_at(*run, "id"));
    if (!plan) return std::unexpected(report(plan.error()));
    return *std::move(plan);
  }
  const auto dag = (*api)->get(dag_path(what));
  if (!dag) return std::unexpected(report(dag.error()));
  const auto* spec = dag->object().if_contains("spec");
  auto plan = plan_of_spec(spec == nullptr ? boost::json::value() : *spec);
  if (!plan) return std::unexpected(report(plan.error()));
  return *std::move(plan);
}

ExitCode graph(const Context& context, const GraphOptions& options) {
  const auto plan = graph_plan(context, options.what);
  if (!plan) return plan.error();
  if (options.form == "mermaid") {
    print(graph_mermaid(**plan));
  } else if (options.form == "dot") {
    print(graph_dot(**plan));
  } else {
    print(graph_text(**plan, look_at(context, STDOUT_FILENO)));
  }
  return ExitCode::kOk;
}

void add_dag_list(CommandSpec dag, Command& chosen) {
  CommandSpec list_all = dag.command("list", "List the stored DAGs");
  auto options = std::make_shared<ListOptions>();
  add_list_options(list_all, *options);
  list_all.example("vortex dag list -o wide");
  list_all.on_chosen(
      chosen, [options](Context& context) { return list(context, kDags, "/api/dags", *options); });
}

void add_graph(CommandSpec dag, Command& chosen) {
  auto options = std::make_shared<GraphOptions>();
  CommandSpec draw = dag.command("graph", "Draw the graph of a DAG file, a stored DAG or a run");
  draw.option("file", options->what, "DAG file, name of a DAG, or run").required();
  draw.option("--format", options->form, "text, mermaid or dot")
      .one_of({"text", "mermaid", "dot"})
      .value_name("WORD")
      .shows_default();
  draw.example("vortex dag graph nightly\nvortex dag graph thumbs.json --format dot | dot -Tsvg");
  draw.on_chosen(chosen, [options](Context& context) { return graph(context, *options); });
}

}  // namespace

void add_dag(CommandSpec app, Command& chosen) {
  CommandSpec dag = app.command("dag", "Manage stored DAGs").group(kRunThings);
  dag.needs_command();
  dag.example("vortex dag apply nightly.json");
  add_dag_list(dag, chosen);
  auto name = std::make_shared<std::string>();
  CommandSpec one = dag.command("show", "Show a DAG and its graph");
  one.option("name", *name, "Name of the DAG").required();
  one.example("vortex dag show nightly -o json");
  one.on_chosen(chosen, [name](Context& context) { return show_dag(context, *name); });
  auto paths = std::make_shared<std::vector<std::string>>();
  CommandSpec keep = dag.command("apply", "Store the DAGs in these files under their names");
  keep.option("file", *paths, "DAG files, or directories of them").required();
  keep.example("vortex dag apply nightly.yaml weekly.yaml\nvortex dag apply dags/");
  keep.on_chosen(chosen, [paths](Context& context) { return apply_all(context, *paths); });
  CommandSpec forget = dag.command("delete", "Delete a stored DAG; its runs continue");
  forget.option("name", *name, "Name of the DAG").required();
  forget.example("vortex dag delete nightly --yes");
  forget.on_chosen(chosen, [name](Context& context) { return remove(context, *name); });
  add_graph(dag, chosen);
}

namespace {

struct ValidateFlags {
  std::vector<std::string> files;
  bool schema = false;
};

ExitCode validate(const Context& context, const ValidateFlags& flags) {
  if (flags.schema) {
    print(codec::dag_schema());
    return ExitCode::kOk;
  }
  if (flags.files.empty()) {
    complain("no file given", "vortex validate FILE...");
    return ExitCode::kUsage;
  }
  const auto files = dag_files_of(flags.files);
  if (!files) return files.error();
  ExitCode worst = ExitCode::kOk;
  for (const std::string& file : *files) {
    const auto plan = load_dag_plan(context, file);
    if (!plan) {
      worst = plan.error();
      continue;
    }
    const DagPlan& dag = **plan;
    if (context.output == Output::kName) {
      print(dag.spec.name + "\n");
    } else if (!context.quiet) {
      const auto& schedule = dag.spec.schedule;
      print(fmt::format("{}: ok: {}, {} in {}{}\n", file, dag.spec.name, counted(dag.tasks, "task"),
                        counted(dag.levels, "level"), schedule ? "; " + in_words(*schedule) : ""));
    }
  }
  return worst;
}

}  // namespace

void add_validate(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command(
      "validate",
      "Check DAG files without a controller and show the line, column and fix of every error");
  command.group(kRunThings);
  auto flags = std::make_shared<ValidateFlags>();
  command.option("file", flags->files, "DAG files (YAML or JSON), or directories of them");
  command.flag("--schema", flags->schema, "Print the JSON Schema of DAG files for editors");
  command.example(
      "vortex validate thumbs.yaml\n"
      "vortex validate dags/\n"
      "vortex validate --schema > dag.schema.json");
  command.on_chosen(chosen, [flags](Context& context) { return validate(context, *flags); });
}

}  // namespace vortex::cli
