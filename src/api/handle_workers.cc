// Workers: how they register and sync, what their supervisor proves, what an operator can do.
#include <algorithm>
#include <optional>
#include <utility>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"
#include "codec/resolve.h"
#include "codec/sync_json.h"

namespace vortex::api {

namespace {

// All workers of a usual fleet are on the first page, for scripts that look at nothing else.
constexpr Bounds kWorkerBounds{1'000, 1, 10'000};

Handled answer_worker(Call& call) {
  const WorkerId id(call.text());
  auto worker =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.worker(id); });
  if (!worker) co_return std::unexpected(std::move(worker.error()));
  if (!*worker) co_return std::unexpected(trouble(Code::kNoSuchWorker, id.text));
  const Instant now = call.backend.now();
  co_return json_answer(object_json([&](JsonWriter& json) { write_worker(json, **worker, now); }));
}

Handled act_on_worker(Call& call, core::Command command) {
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return co_await answer_worker(call);
}

}  // namespace

Handled list_workers(Call& call) {
  QueryReader query(call.request().query);
  store::WorkerFilter filter;
  if (const auto state = query.word("state", kWorkerStateNames)) {
    filter.state = static_cast<WorkerState>(*state);
  }
  filter.zone = query.text("zone");
  filter.group = query.text("group");
  filter.machine = query.text("machine");
  filter.live_only = query.flag("live");
  const store::PageRequest page = query.page(kWorkerBounds);
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  auto workers = co_await fetch(
      call.backend, [&](store::Reader& reader) { return reader.workers(filter, page); });
  if (!workers) co_return std::unexpected(std::move(workers.error()));
  const Instant now = call.backend.now();
  co_return json_answer(
      page_json("workers", *workers, [now](JsonWriter& json, const store::WorkerView& worker) {
        write_worker(json, worker, now);
      }));
}

Handled get_worker(Call& call) { co_return co_await answer_worker(call); }

Handled register_worker(Call& call) {
  auto body = codec::read_register(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  core::RegisterWorker registration;
  registration.info = std::move(body->info);
  registration.incarnation = body->incarnation;
  if (registration.incarnation.value == 0) {
    registration.incarnation.value = static_cast<std::uint64_t>(call.backend.now().us);
  }
  const Incarnation incarnation = registration.incarnation;
  core::Command command = std::move(registration);
  auto session = co_await ask<core::Registered>(call.backend, std::move(command));
  if (!session) co_return std::unexpected(std::move(session.error()));
  const codec::RegisterReply reply{session->term, incarnation, session->lease,
                                   session->heartbeat_interval};
  co_return json_answer(codec::write_register_reply(reply));
}

// The outputs of earlier tasks that the orders of this answer read. They are final and durable: a
// task is handed out only after the commit in which what it needs has ended. When the store can not
// be read the worker is told to ask again; the assignments are repeated then.
boost::asio::awaitable<std::optional<Trouble>> add_inputs(Call& call, SyncReply& reply) {
  const auto reads_outputs = [](const Assignment& assignment) {
    const auto& work = std::get<PlannedWork>(assignment.work);
    return !upstream_outputs_needed(*work.plan, work.node).empty();
  };
  if (std::ranges::none_of(reply.assignments, reads_outputs)) co_return std::nullopt;
  auto done = co_await fetch(call.backend, [&](store::Reader& reader) -> store::Result<bool> {
    std::optional<store::Error> failed;
    for (Assignment& assignment : reply.assignments) {
      auto& work = std::get<PlannedWork>(assignment.work);
      const RunId run = assignment.attempt.task.run;
      work.inputs = codec::gather_inputs(
          *work.plan, work.node, [&](std::uint32_t node) -> std::optional<std::string> {
            auto data = reader.task_data({.run = run, .index = work.plan->nodes[node].first_task});
            if (!data) failed = data.error();
            if (!data || !*data) return std::nullopt;
            return (*data)->outputs;
          });
    }
    if (failed) return std::unexpected(*failed);
    return true;
  });
  if (!done) co_return std::move(done.error());
  co_return std::nullopt;
}

// The hot path: one call carries everything, and waits parked in the core.
Handled sync_worker(Call& call) {
  auto body = codec::read_sync(call.request().body, WorkerId(call.path[0]));
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  std::string().swap(call.exchange.request().body);  // a parked call keeps no text
  core::Sync sync;
  sync.body = *std::move(body);
  net::Exchange& exchange = call.exchange;
  std::function<boost::asio::awaitable<void>()> closed = [&exchange] { return exchange.closed(); };
  Asked<core::ReplyBody> reply = co_await call.backend.ask_sync(std::move(sync), std::move(closed));
  if (!reply) co_return std::unexpected(from_unserved(reply.error()));
  if (auto* answer = std::get_if<SyncReply>(&*reply)) {
    if (auto wrong = co_await add_inputs(call, *answer)) co_return std::unexpected(*wrong);
    co_return json_answer(codec::write_sync_reply(*answer));
  }
  if (const auto* refusal = std::get_if<SyncRefusal>(&*reply)) {
    co_return std::unexpected(from_sync_refusal(*refusal));
  }
  if (const auto* refusal = std::get_if<core::Refusal>(&*reply)) {
    co_return std::unexpected(from_refusal(*refusal));
  }
  co_return std::unexpected(trouble(Code::kInternal, "an answer of another kind"));
}

Handled worker_exited(Call& call) {
  auto body = read_exited(call.request().body);
  if (!body) {
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  }
  core::Command command =
      core::WorkerExited{{}, WorkerId(call.path[0]), body->incarnation, std::move(body->started)};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return empty_answer();
}

Handled drain_worker(Call& call) {
  core::Command command = core::DrainWorker{{}, WorkerId(call.path[0])};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled cordon_worker(Call& call) {
  core::Command command = core::CordonWorker{{}, WorkerId(call.path[0]), true};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled uncordon_worker(Call& call) {
  core::Command command = core::CordonWorker{{}, WorkerId(call.path[0]), false};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled reset_worker(Call& call) {
  core::Command command = core::ResetWorker{{}, WorkerId(call.path[0])};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled list_machines(Call& call) {
  auto machines =
      co_await fetch(call.backend, [](store::Reader& reader) { return reader.machines(); });
  if (!machines) co_return std::unexpected(std::move(machines.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("machines").begin_array();
    for (const MachineRow& row : *machines) write_machine(json, row);
    json.end_array().end_object();
  }));
}

}  // namespace vortex::api
