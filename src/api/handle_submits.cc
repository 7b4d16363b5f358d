// Many runs in one call, each with its own key and its own answer.
//
// What is wrong with the request as a whole refuses it; what is wrong with one run (its params, its
// key, a quota) refuses that one. The runs share a few commits, and all that are answered as
// started are durable. A repeated call with the same keys starts nothing twice.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/submission.h"
#include "api/views.h"
#include "core/command.h"
#include "core/effects.h"

namespace vortex::api {
namespace {

// The plans of the stored DAGs that runs name; null: there is none.
using Plans = std::map<std::string, PlanPtr>;

boost::asio::awaitable<Expected<Plans>> find_plans(Call& call, const SubmitManyBody& body) {
  Plans plans;
  for (const SubmitItem& item : body.runs) {
    if (!item.dag_name.empty()) plans.try_emplace(item.dag_name);
  }
  if (plans.empty()) co_return plans;
  auto found = co_await fetch(call.backend, [&](store::Reader& reader) -> store::Result<Plans> {
    for (auto& [name, plan] : plans) {
      auto stored = find_named(reader, name);
      if (!stored) return std::unexpected(stored.error());
      plan = std::move(stored->plan);
    }
    return std::move(plans);
  });
  if (!found) co_return std::unexpected(std::move(found.error()));
  for (auto& [name, plan] : *found) {
    if (!plan || plan->base->missing.empty()) continue;
    auto whole = co_await with_stored_dags(call, plan);
    if (!whole) co_return std::unexpected(std::move(whole.error()));
    plan = *std::move(whole);
  }
  co_return *std::move(found);
}

// What all runs of the call have in common.
struct Common {
  PlanPtr plan;  // null: every run names its own
  Plans named;
  std::string key;  // empty: none
  std::string caller;
};

Expected<PlanPtr> plan_of(const SubmitItem& item, const Common& common) {
  if (item.dag_name.empty()) {
    if (common.plan) return common.plan;
    Trouble none = trouble(Code::kBadBody, "no DAG is given for this run");
    none.hint = "give 'dag' beside 'runs' for all of them, or the name of a stored DAG in each";
    return std::unexpected(std::move(none));
  }
  const PlanPtr& plan = common.named.at(item.dag_name);
  if (!plan) return std::unexpected(trouble(Code::kNoSuchDag, item.dag_name));
  return plan;
}

Expected<core::SubmitRun> submit_of(SubmitItem& item, std::size_t at, const Common& common) {
  Expected<PlanPtr> plan = plan_of(item, common);
  if (!plan) return std::unexpected(std::move(plan.error()));
  Expected<std::string> params = checked_params(**plan, item.params);
  if (!params) return std::unexpected(std::move(params.error()));
  core::SubmitRun submit;
  submit.dag = *std::move(plan);
  submit.params = *std::move(params);
  submit.labels = std::move(item.labels);
  submit.submitted_by = common.caller;
  submit.idempotency_key = std::move(item.key);
  if (submit.idempotency_key.empty() && !common.key.empty()) {
    submit.idempotency_key = fmt::format("{}:{}", common.key, at);
  }
  return submit;
}

// One run of the call on its way: what the engine is asked, or why it is not.
struct Checked {
  std::vector<core::Command> commands;
  std::vector<std::optional<Trouble>> wrong;  // by position; unset: the next command is its own
};

Checked check_all(SubmitManyBody& body, const Common& common) {
  Checked checked;
  checked.wrong.resize(body.runs.size());
  for (std::size_t i = 0; i < body.runs.size(); ++i) {
    Expected<core::SubmitRun> submit = submit_of(body.runs[i], i, common);
    if (submit) {
      checked.commands.emplace_back(*std::move(submit));
    } else {
      checked.wrong[i] = std::move(submit.error());
    }
  }
  return checked;
}

struct Counts {
  std::uint32_t started = 0;
  std::uint32_t repeated = 0;
  std::uint32_t refused = 0;
};

void write_refused(JsonWriter& json, const Trouble& wrong, const std::string& request_id) {
  json.field("status", std::int64_t{status_of(wrong)});
  json.key("problem").raw(problem_json(wrong, request_id));
}

void write_answer(JsonWriter& json, const Asked<core::ReplyBody>& answer, const Call& call,
                  Counts& counts) {
  const Expected<core::RunAccepted> accepted = answer_as<core::RunAccepted>(answer);
  if (!accepted) {
    ++counts.refused;
    return write_refused(json, accepted.error(), call.request_id);
  }
  ++(accepted->existed ? counts.repeated : counts.started);
  json.field("status", std::int64_t{accepted->existed ? 200 : 201});
  json.field("id", to_text(accepted->run));
}

std::string answer_json(const Call& call, const Checked& checked,
                        const std::vector<Asked<core::ReplyBody>>& answers, Counts& counts) {
  return object_json([&](JsonWriter& json) {
    json.begin_object().key("runs").begin_array();
    auto answer = answers.begin();
    for (const std::optional<Trouble>& wrong : checked.wrong) {
      json.begin_object();
      if (wrong) {
        ++counts.refused;
        write_refused(json, *wrong, call.request_id);
      } else {
        write_answer(json, *answer++, call, counts);
      }
      json.end_object();
    }
    json.end_array();
    json.field("started", counts.started).field("repeated", counts.repeated);
    json.field("refused", counts.refused).end_object();
  });
}

// Nothing was taken, for one reason: that is the answer to the whole call, which may be repeated.
const UnservedError* unserved_as_a_whole(const std::vector<Asked<core::ReplyBody>>& answers) {
  for (const Asked<core::ReplyBody>& answer : answers) {
    if (answer || answer.error().why != answers.front().error().why) return nullptr;
  }
  return answers.empty() ? nullptr : &answers.front().error();
}

}  // namespace

Handled submit_runs(Call& call) {
  auto body = co_await read_body(call, read_submit_many);
  if (!body) co_return std::unexpected(std::move(body.error()));
  Common common;
  common.caller = call.caller.name;
  common.key =
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{});
  if (!body->dag_name.empty() || !body->dag_json.empty()) {
    Expected<PlanPtr> plan = co_await plan_for(call, *body);
    if (!plan) co_return std::unexpected(std::move(plan.error()));
    common.plan = *std::move(plan);
  }
  Expected<Plans> named = co_await find_plans(call, *body);
  if (!named) co_return std::unexpected(std::move(named.error()));
  common.named = *std::move(named);
  const auto check = [&] { return check_all(*body, common); };
  Expected<Checked> checked = co_await digest(call, check);
  if (!checked) co_return std::unexpected(std::move(checked.error()));
  const auto answers = co_await call.backend.ask_all(std::move(checked->commands));
  if (const UnservedError* error = unserved_as_a_whole(answers)) {
    co_return std::unexpected(from_unserved(*error));
  }
  Counts counts;
  std::string json = answer_json(call, *checked, answers, counts);
  call.subject = fmt::format("{} of {} runs", counts.started, body->runs.size());
  co_return json_answer(std::move(json));
}

}  // namespace vortex::api
