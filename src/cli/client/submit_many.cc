#include "cli/client/submit_many.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/bodies.h"
#include "base/file_text.h"
#include "cli/client/failure.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "codec/json_writer.h"
#include "codec/params.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kEachFileBytesMax = 256UL * 1024 * 1024;
constexpr std::size_t kCallRunsMax = 1'000;
constexpr std::size_t kCallBytesMax = 4UL * 1024 * 1024;
constexpr std::size_t kMistakesShown = 20;

struct EachLine {
  std::uint32_t number = 0;  // in the file
  std::string json;          // the run as the controller takes it
};

std::expected<std::string, ExitCode> read_lines(const std::string& path) {
  auto text = read_file_text(path == "-" ? "/dev/stdin" : path, kEachFileBytesMax);
  if (text) return *std::move(text);
  complain(fmt::format("{} {}", path, text.error().why));
  return std::unexpected(text.error().fault == FileFault::kMissing ? ExitCode::kNotFound
                                                                   : ExitCode::kInvalid);
}

std::string item_json(const api::SubmitItem& item, const std::string& params,
                      const std::string& key) {
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object().key("params").raw(params);
  if (!item.labels.empty()) {
    json.key("labels").begin_object();
    for (const auto& [name, value] : item.labels) json.field(name, value);
    json.end_object();
  }
  json.field("idempotency_key", key).end_object();
  return out;
}

codec::Decoded<std::string> check_line(const DagPlan& plan, const SubmitMany& wanted,
                                       std::string_view line, std::uint32_t number) {
  auto item = api::read_submit_item(line);
  if (!item) return std::unexpected(std::move(item.error()));
  if (!item->dag_name.empty() && item->dag_name != plan.spec.name) {
    return std::unexpected(
        codec::Problems{{.pointer = "/dag",
                         .message = fmt::format("names DAG '{}', but the file has '{}'",
                                                item->dag_name, plan.spec.name),
                         .help = "leave 'dag' out: every line is a run of the DAG file"}});
  }
  auto params = codec::check_params(plan.spec, item->params);
  if (!params) {
    for (codec::Problem& problem : params.error()) {
      problem.pointer.insert(0, "/params");
      problem.column = 0;  // of a copy
    }
    return std::unexpected(std::move(params.error()));
  }
  const std::string key = item->key.empty() ? fmt::format("{}:{}", wanted.key, number) : item->key;
  return item_json(*item, *params, key);
}

// Places within the line become places in the file.
void show_mistakes(codec::Problems problems, const std::string& file, std::uint32_t line) {
  for (codec::Problem& problem : problems) {
    problem.line = line;
    problem.column = std::max(problem.column, 1U);
    say_here(codec::to_text(problem, file, "VX-REQ-002"));
  }
}

std::expected<std::vector<EachLine>, ExitCode> check_lines(const DagPlan& plan,
                                                           const SubmitMany& wanted,
                                                           std::string_view text) {
  std::vector<EachLine> lines;
  std::size_t wrong = 0;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto json = check_line(plan, wanted, line, number);
    if (json) {
      lines.push_back({number, *std::move(json)});
    } else if (++wrong <= kMistakesShown) {
      show_mistakes(std::move(json.error()), wanted.each, number);
    }
  }
  if (wrong > kMistakesShown) {
    talk(fmt::format("{} more {} wrong", wrong - kMistakesShown,
                     wrong - kMistakesShown == 1 ? "line is" : "lines are"));
  }
  if (wrong > 0) return std::unexpected(ExitCode::kInvalid);
  if (lines.empty()) {
    complain(fmt::format("{} has no lines", wanted.each),
             R"(write one JSON object per line, such as {"params": {"size": "64x64"}})");
    return std::unexpected(ExitCode::kInvalid);
  }
  return lines;
}

// The lines of the next call.
std::size_t lines_of_call(const std::vector<EachLine>& lines, std::size_t begin) {
  std::size_t bytes = 0;
  std::size_t end = begin;
  while (end < lines.size() && end - begin < kCallRunsMax) {
    bytes += lines[end].json.size() + 1;
    if (end > begin && bytes > kCallBytesMax) break;
    ++end;
  }
  return end;
}

std::string call_body(const std::string& dag, const std::vector<EachLine>& lines, std::size_t begin,
                      std::size_t end) {
  std::string body = R"({"dag":)" + dag + R"(,"runs":[)";
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin) body += ',';
    body += lines[i].json;
  }
  return body + "]}";
}

// What has come of the lines so far.
struct Tally {
  std::size_t started = 0;
  std::size_t repeated = 0;
  std::size_t refused = 0;
  ExitCode exit = ExitCode::kOk;  // of the first that was refused
};

void show_refused(const boost::json::object& problem, std::uint32_t line, Tally& tally) {
  const std::string code = text_at(problem, "code");
  if (tally.refused++ == 0) {
    tally.exit = exit_code_of(static_cast<int>(number_at(problem, "status")), code);
  }
  if (tally.refused > kMistakesShown) return;
  Failure shown;
  shown.code = code;
  shown.what = fmt::format("line {}: {}", line, text_at(problem, "detail"));
  shown.help = text_at(problem, "hint");
  say_here(failure_text(shown));
}

void show_answer(const Context& context, const boost::json::object& answer, std::uint32_t line,
                 Tally& tally) {
  const std::string id = text_at(answer, "id");
  if (id.empty()) {
    show_refused(object_at(answer, "problem"), line, tally);
  } else {
    ++(number_at(answer, "status") == 200 ? tally.repeated : tally.started);
  }
  if (wants_json(context)) {
    boost::json::object shown{{"line", line}};
    for (const auto& member : answer) shown.insert(member);
    print(compact_json(shown) + "\n");
  } else if (!id.empty()) {
    print(id + "\n");
  }
}

void show_end(const Context& context, const Tally& tally) {
  if (tally.refused > kMistakesShown) {
    talk(fmt::format("{} more refused", tally.refused - kMistakesShown));
  }
  if (context.quiet) return;
  std::string text = fmt::format("{} started", counted(tally.started, "run"));
  if (tally.repeated > 0) text += fmt::format(", {} already started before", tally.repeated);
  if (tally.refused > 0) text += fmt::format(", {} refused", tally.refused);
  talk(text);
}

}  // namespace

ExitCode submit_many(const Context& context, const DagPlan& plan, SubmitMany wanted) {
  if (wanted.key.empty()) wanted.key = fresh_idempotency_key();
  const auto text = read_lines(wanted.each);
  if (!text) return text.error();
  const auto lines = check_lines(plan, wanted, *text);
  if (!lines) return lines.error();
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const std::string dag = codec::write_dag(plan.spec);
  Tally tally;
  for (std::size_t begin = 0; begin < lines->size();) {
    const std::size_t end = lines_of_call(*lines, begin);
    ApiRequest call;
    call.method = net::Method::kPost;
    call.target = "/api/runs:batch";
    call.body = call_body(dag, *lines, begin, end);
    call.headers.emplace_back("Idempotency-Key", wanted.key);
    const ApiResult result = (*api)->call(std::move(call));
    if (!result) {
      const ExitCode exit = report(result.error());
      if (begin > 0) {
        talk(
            fmt::format("{} of {} sent. Send the rest with the same command and "
                        "--idempotency-key {}",
                        begin, counted(lines->size(), "run"), wanted.key));
      }
      return exit;
    }
    std::size_t at = begin;
    for (const auto& answer : list_at(result->object(), "runs")) {
      if (at < end) show_answer(context, answer.as_object(), (*lines)[at++].number, tally);
    }
    if (!context.quiet && end < lines->size()) {
      talk(fmt::format("{} of {} sent", end, counted(lines->size(), "run")));
    }
    begin = end;
  }
  show_end(context, tally);
  return tally.exit;
}

}  // namespace vortex::cli
