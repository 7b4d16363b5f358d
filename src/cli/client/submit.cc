#include "cli/client/submit.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/codes.h"
#include "base/file_text.h"
#include "base/text.h"
#include "base/zone_files.h"
#include "cli/screen/json_view.h"
#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "codec/json_writer.h"
#include "codec/params.h"
#include "model/passing/children.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kDagFileBytesMax = 64UL * 1024 * 1024;  // no controller takes more

std::expected<std::string, ExitCode> read_file(const std::string& path) {
  auto text = read_file_text(path, kDagFileBytesMax);
  if (text) return *std::move(text);
  const FileFault fault = text.error().fault;
  complain(fmt::format("{} {}", path, text.error().why),
           fault == FileFault::kIsDirectory ? "specify one of the DAG files in it" : "");
  return std::unexpected(fault == FileFault::kMissing ? ExitCode::kNotFound : ExitCode::kInvalid);
}

bool is_dag_name(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  const bool hidden = path.filename().string().starts_with('.');
  return !hidden && (ending == ".yaml" || ending == ".yml" || ending == ".json");
}

std::expected<std::vector<std::string>, ExitCode> files_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code fault;
  std::filesystem::directory_iterator entry(folder, fault);
  for (const std::filesystem::directory_iterator end; !fault && entry != end;
       entry.increment(fault)) {
    std::error_code gone;  // a dangling link is reported when it is read
    if (is_dag_name(entry->path()) && !entry->is_directory(gone)) {
      found.push_back(entry->path().string());
    }
  }
  if (fault) {
    complain(fmt::format("{} cannot be read: {}", folder, fault.message()));
    return std::unexpected(ExitCode::kInvalid);
  }
  if (found.empty()) {
    complain(fmt::format("{} has no DAG files", folder), "DAG files end in .yaml, .yml or .json");
    return std::unexpected(ExitCode::kNotFound);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::expected<std::vector<std::string>, ExitCode> dag_files_of(
    const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(path, unknown)) {
      files.push_back(path);
      continue;
    }
    auto inside = files_in(path);
    if (!inside) return std::unexpected(inside.error());
    std::ranges::move(*inside, std::back_inserter(files));
  }
  return files;
}

namespace {

using FileWay = std::vector<std::filesystem::path>;  // from the first file to the present one

std::expected<PlanPtr, ExitCode> load_on_way(const std::string& path, FileWay& way);

// The file that a task refers to, relative to the file of its DAG.
std::expected<std::shared_ptr<const DagSpec>, std::string> load_below(const std::string& reference,
                                                                      FileWay& way) {
  const std::filesystem::path path = way.back().parent_path() / reference;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  if (std::ranges::find(way, real) != way.end()) {
    std::string shown;
    for (const auto& step : way) shown += step.filename().string() + " -> ";
    return std::unexpected("the DAG would run itself as a sub-DAG: " + shown +
                           real.filename().string());
  }
  if (way.size() > kChildDepthMax) {
    return std::unexpected(fmt::format("sub-DAGs are nested more than {} deep", kChildDepthMax));
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return std::unexpected(fmt::format("there is no file {}", path.lexically_normal().string()));
  }
  const auto plan = load_on_way(path.lexically_normal().string(), way);
  if (!plan) return std::unexpected(fmt::format("the sub-DAG in {} has errors", reference));
  return std::shared_ptr<const DagSpec>((*plan)->base, &(*plan)->base->spec);
}

std::expected<PlanPtr, ExitCode> load_on_way(const std::string& path, FileWay& way) {
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  std::error_code error;
  way.push_back(std::filesystem::weakly_canonical(path, error));
  auto plan = codec::check_dag_file(
      *text, codec::syntax_of(path), {.zones = &system_zones()},
      [&way](const std::string& reference) { return load_below(reference, way); });
  way.pop_back();
  if (plan) return *std::move(plan);
  for (const codec::DagComplaint& complaint : plan.error()) {
    const api::Code code =
        complaint.kind ? api::code_of(*complaint.kind) : api::Code::kDagMalformed;
    say_here(codec::to_text(complaint.problem, path, api::about(code).text));
  }
  // What cannot be read hides what a whole DAG would be checked for.
  const auto unread = [](const codec::DagComplaint& complaint) { return !complaint.kind; };
  if (std::ranges::any_of(plan.error(), unread)) {
    fmt::print(stderr, "more errors may follow once {} fixed\n",
               plan.error().size() == 1 ? "this is" : "these are");
  }
  return std::unexpected(ExitCode::kInvalid);
}

}  // namespace

std::expected<PlanPtr, ExitCode> load_dag_plan(const Context& /*context*/,
                                               const std::string& path) {
  FileWay way;
  return load_on_way(path, way);
}

std::expected<DagSpec, ExitCode> load_stored_dag(ApiClient& api, const std::string& name) {
  const auto found = api.get("/api/dags/" + escaped(name));
  if (!found) return std::unexpected(report(found.error()));
  auto spec = codec::read_dag(compact_json(found->object().at("spec")));
  if (spec) return *std::move(spec);
  complain(fmt::format("this version of vortex cannot read the DAG {}", name),
           "use the version of the controller");
  return std::unexpected(ExitCode::kInvalid);
}

std::expected<std::string, ExitCode> load_dag_file(const Context& context,
                                                   const std::string& path) {
  const auto plan = load_dag_plan(context, path);
  if (!plan) return std::unexpected(plan.error());
  return codec::write_dag((*plan)->spec);
}

namespace {

struct Pair {
  std::string name;
  std::string value;
};

std::expected<Pair, ExitCode> split(const std::string& text, std::string_view flag) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return Pair{text.substr(0, equals), text.substr(equals + 1)};
  }
  complain(fmt::format("{} expects NAME=VALUE, not '{}'", flag, text));
  return std::unexpected(ExitCode::kUsage);
}

std::string json_text(std::string_view text) {
  std::string out;
  codec::JsonWriter(out).text(text);
  return out;
}

// One more member of an object, if there is something to say.
std::string member(std::string_view name, const std::string& json, const std::string& said) {
  return said.empty() ? std::string() : fmt::format(R"(,"{}":{})", name, json);
}

// One param as JSON. A DAG that declares none takes any, as texts.
std::expected<std::string, ExitCode> typed(const DagSpec& spec, const Pair& param) {
  if (spec.params.empty()) return json_text(param.value);
  const auto declared = std::ranges::find(spec.params, param.name, &ParamSpec::name);
  if (declared == spec.params.end()) {
    std::vector<std::string_view> names;
    names.reserve(spec.params.size());
    for (const ParamSpec& known : spec.params) names.emplace_back(known.name);
    const std::string_view near = nearest_name(param.name, names);
    complain(fmt::format("'{}' has no param '{}'", spec.name, param.name),
             near.empty() ? fmt::format("available params: {}", fmt::join(names, ", "))
                          : fmt::format("did you mean '{}'?", near));
    return std::unexpected(ExitCode::kInvalid);
  }
  auto json = codec::param_from_text(declared->type, param.value);
  if (json) return *std::move(json);
  complain(fmt::format("param '{}': {}", param.name, json.error()));
  return std::unexpected(ExitCode::kInvalid);
}

// Whoever gave a command knows nothing of the DAG around it.
Failure of_arguments(Failure failure) {
  constexpr std::string_view kTask = "task 'command': ";
  if (failure.places.empty() || !failure.code.starts_with("VX-DAG-")) return failure;
  failure.what = failure.places.front().message;
  if (failure.what.starts_with(kTask)) failure.what.erase(0, kTask.size());
  failure.help = failure.places.front().help;
  failure.places.clear();
  failure.exit = ExitCode::kUsage;
  return failure;
}

}  // namespace

std::expected<std::string, ExitCode> some_params(const DagSpec& spec,
                                                 const std::vector<std::string>& given) {
  std::string json = "{";
  for (const std::string& text : given) {
    const auto param = split(text, "-p");
    if (!param) return std::unexpected(param.error());
    const auto value = typed(spec, *param);
    if (!value) return std::unexpected(value.error());
    json += fmt::format("{}{}:{}", json.size() > 1 ? "," : "", json_text(param->name), *value);
  }
  return json + "}";
}

std::expected<std::string, ExitCode> params_from(const DagSpec& spec,
                                                 const std::vector<std::string>& given) {
  const auto json = some_params(spec, given);
  if (!json) return json;
  auto checked = codec::check_params(spec, *json);
  if (checked) return *std::move(checked);
  for (const codec::Problem& problem : checked.error()) complain(problem.message, problem.help);
  return std::unexpected(ExitCode::kInvalid);
}

std::expected<boost::json::object, ExitCode> submit_run(ApiClient& api, SubmitRequest request) {
  std::string labels = "{";
  for (const std::string& text : request.labels) {
    const auto label = split(text, "--label");
    if (!label) return std::unexpected(label.error());
    labels += fmt::format("{}{}:{}", labels.size() > 1 ? "," : "", json_text(label->name),
                          json_text(label->value));
  }
  ApiRequest call;
  call.method = net::Method::kPost;
  call.target = "/api/runs";
  call.body = fmt::format(
      R"({{"dag":{},"params":{},"labels":{}}}{}{}}})", request.dag_json, request.params_json,
      labels, member("starts_at", json_text(request.starts_at), request.starts_at),
      member("keep", fmt::format(R"({{"run":{}}})", json_text(request.keep_of)), request.keep_of));
  call.headers.emplace_back("Idempotency-Key",
                            request.key.empty() ? fresh_idempotency_key() : request.key);
  const ApiResult answer = api.call(std::move(call));
  if (!answer) {
    return std::unexpected(
        report(request.is_command ? of_arguments(answer.error()) : answer.error()));
  }
  return answer->object();
}

}  // namespace vortex::cli
