// New runs that keep results of earlier ones.
//
// What is kept is decided here from committed rows, off the engine's thread (model/reuse.h): a task
// that has completed stays so, and its outputs never change, so nothing can become wrong until the
// core takes it over. The new run has its own copy, which outlives the earlier one.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/late_maps.h"
#include "api/submission.h"
#include "base/text.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/reuse.h"

namespace vortex::api {
namespace {

constexpr std::uint32_t kMarksAtOnce = 10'000;
constexpr std::uint32_t kOutputsAtOnce = 256;

// A new run like an earlier one; nothing at all stands for one with nothing changed or kept.
struct RerunBody {
  std::string params = "{}";  // those that change
  bool keep = false;          // results that are still valid
  std::vector<std::string> again;
};

using codec::NodeIx;
using codec::Reading;

constexpr codec::Field<RerunBody> kRerunFields[] = {
    {"params",
     [](Reading& in, NodeIx node, RerunBody& out) {
       if (!codec::is_object(in, node)) return;
       out.params.clear();
       codec::append_compact(out.params, in.document(), node);
     }},
    {"keep",
     [](Reading& in, NodeIx node, RerunBody& out) { codec::read_flag(in, node, out.keep); }},
    {"again",
     [](Reading& in, NodeIx node, RerunBody& out) { codec::read_texts(in, node, out.again); }},
};

codec::Decoded<RerunBody> read_rerun(std::string_view json) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return RerunBody{};
  return codec::decode<RerunBody>(json, codec::UnknownKeys::kRefused,
                                  [](Reading& in, NodeIx root, RerunBody& out) {
                                    codec::read_object(in, root, {}, kRerunFields, out);
                                  });
}

struct Gathered {
  std::shared_ptr<KeptResults> kept;
  std::optional<Trouble> wrong;
};

store::Result<TaskStates> states_of(store::Reader& reader, RunId run, const DagPlan& plan) {
  TaskStates states(plan.tasks);
  for (std::uint32_t at = 0; at < plan.tasks; at += kMarksAtOnce) {
    const store::TaskSpan span{run, at, std::min(plan.tasks, at + kMarksAtOnce)};
    const auto marks = reader.marks({span}, store::ReadDepth::kMarks);
    if (!marks) return std::unexpected(marks.error());
    for (const store::TaskMark& mark : marks->front().tasks) {
      if (mark.index < states.size()) states[mark.index] = mark.state;
    }
  }
  return states;
}

Trouble too_much(std::string what) {
  Trouble wrong = trouble(Code::kBadBody, std::move(what));
  wrong.hint = "name tasks that run again, so that less is kept, or keep nothing";
  return wrong;
}

// The tasks of one node with their outputs; false: they are too much together.
store::Result<bool> fill(store::Reader& reader, RunId run, const DagPlan& plan,
                         const KeptMatch& match, KeptNode& out, std::size_t& bytes) {
  const std::uint32_t first = plan.first_task(match.earlier);
  const std::uint32_t tasks = plan.tasks_of(match.earlier);
  const std::uint32_t level = plan.nodes[match.earlier].level;
  out.node = match.node;
  out.tasks.resize(tasks);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    out.tasks[i].from = to_text(TaskId{run, first + i, level});
  }
  for (std::uint32_t at = 0; at < tasks; at += kOutputsAtOnce) {
    const std::uint32_t end = first + std::min(tasks, at + kOutputsAtOnce);
    auto rows = reader.outputs({.run = run, .first = first + at, .end = end});
    if (!rows) return std::unexpected(rows.error());
    for (TaskDataRow& row : *rows) {
      if (!row.outputs) continue;
      bytes += row.outputs->size();
      if (bytes > kKeptBytesMax) return false;
      out.tasks[row.id.index - first].outputs = *std::move(row.outputs);
    }
  }
  return true;
}

store::Result<Gathered> gather(store::Reader& reader, const store::RunView& earlier,
                               const RunFacts& now, const std::vector<std::uint32_t>& again) {
  auto plan = plan_of_run(reader, earlier);
  if (!plan) return std::unexpected(plan.error());
  Gathered out{std::make_shared<KeptResults>(), std::nullopt};
  out.kept->run = earlier.id;
  if (!*plan) return out;
  const auto states = states_of(reader, earlier.id, **plan);
  if (!states) return std::unexpected(states.error());
  RunFacts then{.plan = *plan, .params = {}};
  if (earlier.request) {
    then.params = earlier.request->params;
    then.slot = earlier.request->slot;
    then.slot_end = earlier.request->slot_end;
  }
  const std::vector<KeptMatch> matches = match_kept(now, then, *states, again);
  std::size_t tasks = 0;
  for (const KeptMatch& match : matches) tasks += (*plan)->tasks_of(match.earlier);
  if (tasks > kKeptTasksMax) {
    out.wrong =
        too_much(fmt::format("{} tasks would be kept; the limit is {}", tasks, kKeptTasksMax));
    return out;
  }
  std::size_t bytes = 0;
  for (const KeptMatch& match : matches) {
    const auto filled =
        fill(reader, earlier.id, **plan, match, out.kept->nodes.emplace_back(), bytes);
    if (!filled) return std::unexpected(filled.error());
    if (*filled) continue;
    out.wrong = too_much(
        fmt::format("the outputs that would be kept exceed {} bytes together", kKeptBytesMax));
    return out;
  }
  return out;
}

Expected<std::vector<std::uint32_t>> nodes_named(const DagPlan& plan,
                                                 const std::vector<std::string>& names) {
  std::vector<std::uint32_t> nodes;
  if (names.empty()) return nodes;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    known.emplace(plan.node_spec(node).name, node);
  }
  for (const std::string& name : names) {
    const auto found = known.find(name);
    if (found != known.end()) {
      nodes.push_back(found->second);
      continue;
    }
    std::vector<std::string_view> all;
    for (const auto& [one, node] : known) all.push_back(one);
    Trouble wrong =
        trouble(Code::kBadBody, fmt::format("'{}' has no task '{}'", plan.spec.name, name));
    const std::string_view near = nearest_name(name, all);
    if (!near.empty()) wrong.hint = fmt::format("did you mean '{}'?", near);
    return std::unexpected(std::move(wrong));
  }
  return nodes;
}

// The earlier params with some of them changed; both are JSON objects.
std::string merged(const std::string& earlier, const std::string& changes) {
  codec::Document before;
  codec::Document after;
  if (earlier.empty() || before.parse(earlier) || after.parse(changes)) return changes;
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object();
  std::vector<std::string_view> changed;
  after.each_member(0, [&](codec::NodeIx key, codec::NodeIx value) {
    changed.push_back(after.text(key));
    std::string text;
    codec::append_compact(text, after, value);
    json.key(after.text(key)).raw(text);
  });
  std::ranges::sort(changed);
  before.each_member(0, [&](codec::NodeIx key, codec::NodeIx value) {
    if (std::ranges::binary_search(changed, before.text(key))) return;
    std::string text;
    codec::append_compact(text, before, value);
    json.key(before.text(key)).raw(text);
  });
  json.end_object();
  return out;
}

struct Earlier {
  std::optional<store::RunView> run;
  PlanPtr plan;  // not laid out; null: not kept
};

boost::asio::awaitable<Expected<Earlier>> find_earlier(Call& call, RunId id) {
  auto found = co_await fetch(call.backend, [id](store::Reader& reader) -> store::Result<Earlier> {
    auto run = reader.run(id);
    if (!run) return std::unexpected(run.error());
    if (!*run) return Earlier{};
    auto plan = reader.plan((*run)->dag_digest);
    if (!plan) return std::unexpected(plan.error());
    return Earlier{*std::move(run), *std::move(plan)};
  });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->run || !found->plan) {
    co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  }
  co_return *std::move(found);
}

}  // namespace

boost::asio::awaitable<Expected<bool>> keep_results(Call& call, core::SubmitRun& submit,
                                                    const KeepBody& keep) {
  if (keep.run.value == 0) co_return true;
  const PlanPtr plan = std::get<PlanPtr>(submit.dag);
  auto again = nodes_named(*plan, keep.again);
  if (!again) co_return std::unexpected(std::move(again.error()));
  const RunFacts now{plan, submit.params, submit.slot, submit.slot_end};
  auto gathered = co_await fetch(
      call.backend, [&](store::Reader& reader) -> store::Result<std::optional<Gathered>> {
        const auto earlier = reader.run(keep.run);
        if (!earlier) return std::unexpected(earlier.error());
        if (!*earlier) return std::optional<Gathered>{};
        auto found = gather(reader, **earlier, now, *again);
        if (!found) return std::unexpected(found.error());
        return std::optional<Gathered>(*std::move(found));
      });
  if (!gathered) co_return std::unexpected(std::move(gathered.error()));
  if (!*gathered) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(keep.run)));
  if ((*gathered)->wrong) co_return std::unexpected(*std::move((*gathered)->wrong));
  submit.kept = std::move((*gathered)->kept);
  co_return true;
}

Handled rerun_run(Call& call) {
  auto body = co_await read_body(call, read_rerun);
  if (!body) co_return std::unexpected(std::move(body.error()));
  if (!body->again.empty() && !body->keep) {
    Trouble wrong =
        trouble(Code::kBadBody, "'again' says which tasks are not kept, but nothing is");
    wrong.hint = "add \"keep\": true";
    co_return std::unexpected(std::move(wrong));
  }
  auto earlier = co_await find_earlier(call, call.run());
  if (!earlier) co_return std::unexpected(std::move(earlier.error()));
  const RunRequest none;
  const RunRequest& request = earlier->run->request ? *earlier->run->request : none;
  core::SubmitRun submit;
  submit.dag = earlier->plan;
  submit.labels = request.labels;
  submit.slot = request.slot;
  submit.slot_end = request.slot_end;
  submit.submitted_by = call.caller.name;
  submit.idempotency_key =
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{});
  auto params = checked_params(*earlier->plan, merged(request.params, body->params));
  if (!params) co_return std::unexpected(std::move(params.error()));
  submit.params = *std::move(params);
  const KeepBody keep{body->keep ? earlier->run->id : RunId{}, std::move(body->again)};
  const auto kept = co_await keep_results(call, submit, keep);
  if (!kept) co_return std::unexpected(kept.error());
  auto accepted = co_await ask<core::RunAccepted>(call.backend, std::move(submit));
  if (!accepted) co_return std::unexpected(std::move(accepted.error()));
  co_return co_await answer_accepted(call, *std::move(accepted));
}

}  // namespace vortex::api
