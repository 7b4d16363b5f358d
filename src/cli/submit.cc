#include "cli/submit.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/json_view.h"
#include "codec/json_writer.h"
#include "codec/params.h"

namespace vortex::cli {
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

std::expected<std::string, ExitCode> params_from(const DagSpec& spec,
                                                 const std::vector<std::string>& given) {
  std::string json = "{";
  for (const std::string& text : given) {
    const auto param = split(text, "-p");
    if (!param) return std::unexpected(param.error());
    const auto value = typed(spec, *param);
    if (!value) return std::unexpected(value.error());
    json += fmt::format("{}{}:{}", json.size() > 1 ? "," : "", json_text(param->name), *value);
  }
  json += "}";
  auto checked = codec::check_params(spec, json);
  if (checked) return *std::move(checked);
  for (const codec::Problem& problem : checked.error()) complain(problem.message, problem.help);
  return std::unexpected(ExitCode::kInvalid);
}

std::expected<std::string, ExitCode> submit_run(ApiClient& api, SubmitRequest request) {
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
  call.body = fmt::format(R"({{"dag":{},"params":{},"labels":{}}}}})", request.dag_json,
                          request.params_json, labels);
  call.headers.emplace_back("Idempotency-Key",
                            request.key.empty() ? fresh_idempotency_key() : request.key);
  const ApiResult answer = api.call(std::move(call));
  if (!answer) {
    return std::unexpected(
        report(request.is_command ? of_arguments(answer.error()) : answer.error()));
  }
  return text_at(answer->object(), "id");
}

}  // namespace vortex::cli
