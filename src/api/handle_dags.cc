// Named DAGs: kept under their name, every applied version under its digest.
#include <fmt/format.h>

#include "api/dag_input.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

namespace {

boost::asio::awaitable<Expected<void>> write_row(Call& call, DagRow row) {
  SideWrite side = WriteDag{std::move(row)};
  Asked<void> written = co_await call.backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return Expected<void>{};
}

net::Response dag_answer(const DagPlan& plan, std::optional<Instant> updated_at, int status = 200) {
  const DagDetail detail{plan, updated_at};
  return json_answer(object_json([&](JsonWriter& json) { write_dag_spec(json, detail); }), status);
}

}  // namespace

Handled list_dags(Call& call) {
  QueryReader query(call.request().query);
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  auto dags =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.dags(page); });
  if (!dags) co_return std::unexpected(std::move(dags.error()));
  co_return json_answer(page_json("dags", *dags, write_dag));
}

Handled put_dag(Call& call) {
  Expected<PlanPtr> plan = read_plan(call.request().body, call.backend.settings().settings);
  if (!plan) co_return std::unexpected(std::move(plan.error()));
  const std::string name = call.text();
  if ((*plan)->spec.name != name) {
    co_return std::unexpected(
        trouble(Code::kDagNameDiffers,
                fmt::format("the path has '{}', but the DAG has '{}'", name, (*plan)->spec.name)));
  }
  auto before =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.dag(name); });
  if (!before) co_return std::unexpected(std::move(before.error()));
  const Instant now = call.backend.now();
  DagRow row{name, *plan, now, false};
  const Expected<void> written = co_await write_row(call, std::move(row));
  if (!written) co_return std::unexpected(written.error());
  co_return dag_answer(**plan, now, *before ? 200 : 201);
}

Handled get_dag(Call& call) {
  const std::string name = call.text();
  auto found =
      co_await fetch(call.backend, [&](store::Reader& reader) { return find_named(reader, name); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->plan) co_return std::unexpected(trouble(Code::kNoSuchDag, name));
  co_return dag_answer(*found->plan, found->updated_at);
}

Handled delete_dag(Call& call) {
  const std::string name = call.text();
  auto found =
      co_await fetch(call.backend, [&](store::Reader& reader) { return find_named(reader, name); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->plan) co_return std::unexpected(trouble(Code::kNoSuchDag, name));
  DagRow row{name, found->plan, call.backend.now(), true};
  const Expected<void> written = co_await write_row(call, std::move(row));
  if (!written) co_return std::unexpected(written.error());
  co_return empty_answer();
}

Handled validate_dag(Call& call) {
  const Expected<PlanPtr> plan = read_plan(call.request().body, call.backend.settings().settings);
  if (!plan) co_return std::unexpected(plan.error());
  co_return json_answer(object_json([&](JsonWriter& json) { write_dag_check(json, **plan); }));
}

}  // namespace vortex::api
