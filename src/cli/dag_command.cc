// vortex dag: the named DAGs on the controller, and drawings of them.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/act.h"
#include "cli/arguments.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/dag_file.h"
#include "cli/dag_graph.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr ListColumn kColumns[] = {
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"NODES", [](const object& o, const Look&) { return plain_cell(o, "nodes"); }, Align::kRight},
    {"TASKS", [](const object& o, const Look&) { return plain_cell(o, "tasks"); }, Align::kRight},
    {"UPDATED", [](const object& o, const Look& l) { return time_cell(o, "updated_at", l); }},
    {"DIGEST", [](const object& o, const Look&) { return plain_cell(o, "digest"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kDags{"dags", "DAGs", [](const object& o) { return text_at(o, "name"); },
                        kColumns};

std::string dag_path(const std::string& name) { return "/api/dags/" + escaped(name); }

ExitCode show(const Context& context, const std::string& name) {
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

// All files are checked before the first is sent: a mistake in one of them changes nothing.
ExitCode apply_all(const Context& context, const std::vector<std::string>& paths) {
  const auto files = dag_files_of(paths);
  if (!files) return files.error();
  std::vector<std::string> canonical;
  ExitCode worst = ExitCode::kOk;
  for (const std::string& path : *files) {
    auto dag = load_dag_file(context, path);
    if (dag) canonical.push_back(*std::move(dag));
    if (!dag) worst = dag.error();
  }
  if (worst != ExitCode::kOk) return worst;
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  for (const std::string& dag : canonical) {
    const ExitCode code = apply_one(context, **api, dag);
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

void add_list(CommandSpec dag, Command& chosen) {
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
  add_list(dag, chosen);
  auto name = std::make_shared<std::string>();
  CommandSpec one = dag.command("show", "Show a DAG and its graph");
  one.option("name", *name, "Name of the DAG").required();
  one.example("vortex dag show nightly -o json");
  one.on_chosen(chosen, [name](Context& context) { return show(context, *name); });
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

}  // namespace vortex::cli
