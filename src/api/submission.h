#pragma once
// What submitting one run and submitting many have in common: from what a request says about a DAG
// to a plan that can run, and from params to what the run keeps.
//
// A plan is compiled in the turn of the client, so that a large DAG costs the engine nothing.

#include <string>
#include <string_view>

#include "api/bodies.h"
#include "api/call.h"
#include "base/settings.h"
#include "base/time.h"
#include "model/plan.h"
#include "store/reader.h"

namespace vortex::api {

Expected<PlanPtr> read_plan(std::string_view dag_json, const Settings& settings);

struct NamedDag {
  PlanPtr plan;  // null: there is none
  Instant updated_at;
};
// 201 and the run that was made, or 200 and the one that an earlier request with its key made.
Handled answer_accepted(Call& call, core::RunAccepted accepted);

// Puts what is still valid of an earlier run into the command; nothing when none is named.
// Precondition: its DAG is a plan, and its params are checked.
boost::asio::awaitable<Expected<bool>> keep_results(Call& call, core::SubmitRun& submit,
                                                    const KeepBody& keep);

store::Result<NamedDag> find_named(store::Reader& reader, const std::string& name);

// The plan with the stored sub-DAGs that it refers to, as they are now.
boost::asio::awaitable<Expected<PlanPtr>> with_stored_dags(Call& call, PlanPtr plan);

// The DAG of the body: its specification, or the stored one of that name.
boost::asio::awaitable<Expected<PlanPtr>> plan_for(Call& call, const SubmitBody& body);

// With the defaults of the DAG filled in: a run keeps what it was really given.
Expected<std::string> checked_params(const DagPlan& plan, const std::string& params);

}  // namespace vortex::api
