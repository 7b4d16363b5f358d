// Workers: how they register and sync, what their supervisor proves, what an operator can do.

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/peers/peers.h"
#include "api/query.h"
#include "api/secrets.h"
#include "api/vault/hand_over.h"
#include "api/views.h"
#include "base/networks.h"
#include "codec/render.h"
#include "codec/sync_json.h"
#include "codec/text.h"
#include "model/check.h"
#include "net/client.h"

namespace vortex::api {
namespace {

// Both ways: the URLs of all controllers, as a worker knows them or should. On the wire.
constexpr std::string_view kControllersHeader = "Vortex-Controllers";

// All workers of a usual fleet are on the first page, for scripts that look at nothing else.
constexpr Bounds kWorkerBounds{1'000, 1, 10'000};
constexpr std::size_t kSupervisorBytesMax = 200;

WorkerLook look_at(const Backend& backend) {
  const ControllerSettings& controller = backend.settings().settings.controller;
  return {backend.now(), controller.flapping_losses, controller.flapping_window};
}

Handled answer_worker(Call& call) {
  const WorkerId id(call.text());
  auto worker =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.worker(id); });
  if (!worker) co_return std::unexpected(std::move(worker.error()));
  if (!*worker) co_return std::unexpected(trouble(Code::kNoSuchWorker, id.text));
  const WorkerLook look = look_at(call.backend);
  co_return json_answer(object_json([&](JsonWriter& json) { write_worker(json, **worker, look); }));
}

// A worker that left on purpose takes no work, whatever it is allowed to take.
std::optional<Trouble> check_has_not_left(const store::WorkerView& worker) {
  if (worker.row.state != WorkerState::kInactive) return std::nullopt;
  std::string at;
  codec::append_time(at, worker.row.last_heartbeat);
  std::erase(at, '"');
  Trouble left =
      trouble(Code::kWrongState, fmt::format("worker '{}' has left; it was last heard from at {}",
                                             worker.row.info->id.text, at));
  left.hint = "start it again; a worker that comes back gets tasks unless it is cordoned";
  return left;
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
  if (const auto state = query.word("state", kWorkerFilterNames)) {
    filter.active_only = *state == kActiveFilter;
    if (!filter.active_only) filter.state = static_cast<WorkerState>(*state);
  }
  filter.zone = query.text("zone");
  filter.group = query.text("group");
  filter.machine = query.text("machine");
  filter.live_only = query.flag("live");
  const store::PageRequest page = query.page(kWorkerBounds);
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const WorkerLook look = look_at(call.backend);
  const auto write = [look](JsonWriter& json, const store::WorkerView& worker) {
    write_worker(json, worker, look);
  };
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("workers", reader.workers(filter, page), write);
  });
}

Handled get_worker(Call& call) { co_return co_await answer_worker(call); }

namespace {

// The controller sends probes to this address: it must be the worker's own, as far as can be told,
// so that nobody can point them at others.
std::optional<Trouble> check_address(const Call& call, const std::string& address) {
  if (address.empty()) return std::nullopt;
  const auto endpoint = net::parse_endpoint(address, 0);
  const auto ip = endpoint ? parse_ip(endpoint->host) : std::nullopt;
  const std::string& from = call.request().peer;
  const auto peer = parse_ip(std::string_view(from).substr(0, from.rfind(':')));
  if (ip && ip == peer) return std::nullopt;
  const std::string& networks = call.backend.settings().settings.controller.worker_networks;
  const auto allowed = Networks::parse(networks);
  // A name is judged when it is resolved, for each probe.
  const bool may_be = ip ? allowed && allowed->contains(*ip) : endpoint && !networks.empty();
  if (may_be) return std::nullopt;
  return trouble(Code::kForeignAddress, fmt::format("its address is '{}', but it connects from {}",
                                                    address, from.substr(0, from.rfind(':'))));
}

// Where else the worker may turn to, unless it knows already.
void tell_controllers(const Call& call, net::Response& response) {
  const Peers* peers = call.backend.peers();
  if (peers == nullptr || peers->is_alone()) return;
  std::vector<std::string> urls;
  for (ControllerRow& row : peers->all()) urls.push_back(std::move(row.url));
  const std::string all = fmt::format("{}", fmt::join(urls, ","));
  const auto known = net::find_header(call.request().headers, kControllersHeader);
  if (!all.empty() && known != all) response.headers.emplace_back(kControllersHeader, all);
}

}  // namespace

Handled register_worker(Call& call) {
  auto body = co_await read_body(call, codec::read_register);
  if (!body) co_return std::unexpected(std::move(body.error()));
  call.subject = body->info.id.text;
  if (auto wrong = check_address(call, body->info.address)) {
    co_return std::unexpected(*std::move(wrong));
  }
  if (auto bound = check_bound(call.caller, body->info.id.text)) {
    co_return std::unexpected(*std::move(bound));
  }
  const std::string secret = mint_session();
  core::RegisterWorker registration;
  registration.info = std::move(body->info);
  registration.incarnation = body->incarnation;
  registration.session_hash = hash_token(secret);
  registration.presented = call.session_hash();
  registration.registered_by = call.caller.name;
  registration.may_replace = call.caller.role == Role::kAdmin;
  core::Command command = std::move(registration);
  auto session = co_await ask<core::Registered>(call.backend, std::move(command));
  if (!session) co_return std::unexpected(std::move(session.error()));
  // Who asks again has shown the secret that it keeps.
  const auto shown = net::find_header(call.request().headers, "Vortex-Session");
  const codec::RegisterReply reply{
      session->term,       session->incarnation,
      session->lease,      session->heartbeat_interval,
      session->self_fence, session->repeated ? std::string(shown.value_or("")) : secret};
  net::Response response = json_answer(codec::write_register_reply(reply));
  tell_controllers(call, response);
  co_return response;
}

namespace {

using SecretUses = std::vector<core::NoteSecrets::Use>;

// Empty: it has what it needs. Else a sentence for the user whose task it is.
store::Result<std::string> resolve_secrets(const Call& call, store::Reader& reader,
                                           Assignment& assignment, SecretUses& uses) {
  if (!has_secrets(assignment)) return std::string();
  if (!is_private(call.request())) return not_private(call.request());
  auto opened = open_secrets(reader, call.backend.vault(), assignment);
  if (!opened) return std::unexpected(opened.error());
  if (!*opened) return std::move(opened->error());
  std::get<PlannedWork>(assignment.work).secrets = std::move((*opened)->values);
  std::ranges::move((*opened)->uses, std::back_inserter(uses));
  return std::string();
}

// Every use is in the log of events before its value leaves. Attempts that were taken away
// meanwhile get none: what is still held goes with the next answer.
boost::asio::awaitable<std::optional<Trouble>> note_uses(Call& call, SyncReply& reply,
                                                         core::Unsent& unsent, SecretUses uses) {
  if (uses.empty()) co_return std::nullopt;
  core::Command command = core::NoteSecrets{{}, WorkerId(call.path[0]), std::move(uses), {}};
  auto noted = co_await ask<core::Done>(call.backend, std::move(command));
  if (noted) co_return std::nullopt;
  if (noted.error().code != Code::kLeaseNotHeld) co_return std::move(noted.error());
  std::erase_if(reply.assignments, [&](const Assignment& assignment) {
    if (!has_secrets(assignment)) return false;
    unsent.left_out.push_back(assignment.attempt);
    return true;
  });
  co_return std::nullopt;
}

}  // namespace

namespace {

// Outputs of one node that the expressions of another read; those of a map become lists.
class Upstream {
 public:
  Upstream(store::Reader& reader, const PlannedWork& work, RunId run)
      : reader_(reader), work_(work), run_(run) {}

  std::optional<std::string> outputs_of(std::uint32_t node) {
    if (work_.plan->node_spec(node).map) return reduced(node);
    auto data = reader_.task_data({.run = run_, .index = work_.plan->first_task(node)});
    if (!data) failed = data.error();
    if (!data || !*data) return std::nullopt;
    return (*data)->outputs;
  }

  std::optional<store::Error> failed;
  std::string too_large;  // a sentence for the user whose task it is

 private:
  static constexpr std::uint32_t kItemsAtOnce = 256;

  std::optional<std::string> reduced(std::uint32_t node) {
    const std::uint32_t first = work_.plan->first_task(node);
    const std::uint32_t items = work_.plan->tasks_of(node);
    codec::Reduction reduction(*work_.plan, work_.node, node);
    for (std::uint32_t at = 0; at < items; at += kItemsAtOnce) {
      const std::uint32_t end = first + std::min(items, at + kItemsAtOnce);
      const auto rows = reader_.outputs({.run = run_, .first = first + at, .end = end});
      if (!rows) {
        failed = rows.error();
        return std::nullopt;
      }
      for (const TaskDataRow& row : *rows) {
        if (row.outputs && reduction.add(row.id.index - first, *row.outputs)) continue;
        if (!row.outputs) continue;
        too_large =
            fmt::format("the outputs of the {} items of '{}' exceed {} bytes together", items,
                        work_.plan->node_spec(node).name, codec::Reduction::kBytesMax);
        return std::nullopt;
      }
    }
    return reduction.take(items);
  }

  store::Reader& reader_;
  const PlannedWork& work_;
  RunId run_;
};

// Without its items a task of a map must not be started.
bool lacks_item(const PlannedWork& work) {
  return work.plan->node_spec(work.node).map && !work.plan->has_items(work.node);
}

}  // namespace

// Puts values in the place of expressions, in the pool of readers: outputs of earlier tasks are
// read there. They are final and durable, because a task is handed out only after the commit in
// which what it needs has ended. Assignments that have no value for an expression leave the answer.
// When the store cannot be read the worker is told to ask again; the assignments are repeated then.
boost::asio::awaitable<std::optional<Trouble>> resolve_commands(Call& call, SyncReply& reply,
                                                                core::Unsent& unsent,
                                                                SecretUses& uses) {
  const auto must_be_resolved = [](const Assignment& assignment) {
    const auto& work = std::get<PlannedWork>(assignment.work);
    return codec::has_expressions(*work.plan, work.node) || has_secrets(assignment) ||
           lacks_item(work);
  };
  if (std::ranges::none_of(reply.assignments, must_be_resolved)) co_return std::nullopt;
  auto done = co_await fetch(call.backend, [&](store::Reader& reader) -> store::Result<bool> {
    codec::CommandResolver resolver;
    unsent.unresolved.clear();
    uses.clear();
    for (Assignment& assignment : reply.assignments) {
      auto& work = std::get<PlannedWork>(assignment.work);
      auto opened = resolve_secrets(call, reader, assignment, uses);
      if (!opened) return std::unexpected(opened.error());
      if (!opened->empty()) {
        unsent.unresolved.push_back({assignment.attempt, *std::move(opened)});
        continue;
      }
      if (lacks_item(work)) {
        unsent.unresolved.push_back({assignment.attempt, "the items of its map are not known"});
        continue;
      }
      Upstream upstream(reader, work, assignment.attempt.task.run);
      auto command = resolver.resolve(
          assignment, [&](std::uint32_t node) { return upstream.outputs_of(node); });
      if (upstream.failed) return std::unexpected(*upstream.failed);
      if (!upstream.too_large.empty()) {
        unsent.unresolved.push_back({assignment.attempt, std::move(upstream.too_large)});
      } else if (command) {
        work.command = *std::move(command);
        work.inputs = resolver.inputs();
      } else {
        unsent.unresolved.push_back({assignment.attempt, std::move(command.error())});
      }
    }
    return true;
  });
  if (!done) co_return std::move(done.error());
  auto next = unsent.unresolved.cbegin();  // in the order of the assignments
  std::erase_if(reply.assignments, [&](const Assignment& assignment) {
    if (next == unsent.unresolved.cend() || next->attempt != assignment.attempt) return false;
    ++next;
    return true;
  });
  co_return std::nullopt;
}

// Each attempt gets a token of its own.
boost::asio::awaitable<std::optional<Trouble>> sign_assignments(Call& call, SyncReply& reply) {
  if (reply.assignments.empty()) co_return std::nullopt;
  const auto key = co_await call.access.attempt_key();
  if (!key) co_return key.error();
  for (Assignment& assignment : reply.assignments) {
    assignment.token = attempt_token(*key, assignment.attempt);
  }
  co_return std::nullopt;
}

// An answer leaves only after the core knows what it does not carry.
Handled answer_sync(Call& call, SyncReply& reply) {
  core::Unsent unsent{{}, WorkerId(call.path[0]), reply.mark};
  SecretUses uses;
  if (auto wrong = co_await resolve_commands(call, reply, unsent, uses)) {
    co_return std::unexpected(*wrong);
  }
  const bool has_values = !uses.empty();
  if (auto wrong = co_await note_uses(call, reply, unsent, std::move(uses))) {
    co_return std::unexpected(*wrong);
  }
  if (auto wrong = co_await sign_assignments(call, reply)) co_return std::unexpected(*wrong);
  codec::WrittenReply written = codec::write_bounded_reply(reply);
  for (std::size_t i = written.assignments; i < reply.assignments.size(); ++i) {
    unsent.left_out.push_back(reply.assignments[i].attempt);
  }
  if (!unsent.unresolved.empty() || !unsent.left_out.empty()) {
    core::Command command = std::move(unsent);
    auto done = co_await ask<core::Done>(call.backend, std::move(command));
    if (!done) co_return std::unexpected(std::move(done.error()));
  }
  net::Response response = json_answer(std::move(written.json));
  response.wiped = has_values;
  if (has_values) response.headers.emplace_back("Cache-Control", "no-store");
  tell_controllers(call, response);
  co_return response;
}

// The hot path: one call carries everything, and waits parked in the core.
Handled sync_worker(Call& call) {
  if (auto bound = check_bound(call.caller, call.path[0])) co_return std::unexpected(*bound);
  const auto read = [&call](std::string_view json) {
    return codec::read_sync(json, WorkerId(call.path[0]));
  };
  auto body = co_await read_body(call, read);
  if (!body) co_return std::unexpected(std::move(body.error()));
  call.exchange.drop_body();  // a parked call keeps no text
  core::Sync sync;
  sync.body = *std::move(body);
  sync.session = call.session_hash();
  net::Exchange& exchange = call.exchange;
  std::function<boost::asio::awaitable<void>()> closed = [&exchange] { return exchange.closed(); };
  Asked<core::ReplyBody> reply = co_await call.backend.ask_sync(std::move(sync), std::move(closed));
  if (!reply) co_return std::unexpected(from_unserved(reply.error()));
  if (auto* answer = std::get_if<SyncReply>(&*reply)) {
    co_return co_await answer_sync(call, *answer);
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
  if (auto bound = check_bound(call.caller, call.path[0])) co_return std::unexpected(*bound);
  auto body = co_await read_body(call, read_exited);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::WorkerExited{{},
                                             WorkerId(call.path[0]),
                                             body->incarnation,
                                             std::move(body->started),
                                             std::move(body->incarnations),
                                             body->how,
                                             call.session_hash()};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return empty_answer();
}

Handled supervisor_events(Call& call) {
  auto body = co_await read_body(call, read_lifecycle);
  if (!body) co_return std::unexpected(std::move(body.error()));
  const LineRule rule{.bytes_min = 1, .bytes_max = kSupervisorBytesMax};
  if (auto wrong = complain_of_line("supervisor", call.path[0], rule)) {
    co_return std::unexpected(trouble(Code::kBadBody, *std::move(wrong)));
  }
  for (core::LifecycleEntry& entry : body->entries) {
    if (auto bound = check_bound(call.caller, entry.worker.text)) {
      co_return std::unexpected(*std::move(bound));
    }
    if (!entry.session.empty()) entry.session = hash_token(entry.session);
  }
  core::TellLifecycle told;
  told.supervisor = body->machine + "/" + call.text();
  told.journal = std::move(body->journal);
  told.entries = std::move(body->entries);
  core::Command command = std::move(told);
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  net::Response response = empty_answer();
  tell_controllers(call, response);
  co_return response;
}

Handled drain_worker(Call& call) {
  auto body = co_await read_body(call, read_drain);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::DrainWorker{{}, WorkerId(call.path[0]), body->deadline};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled cordon_worker(Call& call) {
  core::Command command = core::CordonWorker{{}, WorkerId(call.path[0]), true};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled uncordon_worker(Call& call) {
  const WorkerId id(call.text());
  auto worker =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.worker(id); });
  if (!worker) co_return std::unexpected(std::move(worker.error()));
  if (*worker) {
    if (auto left = check_has_not_left(**worker)) co_return std::unexpected(*std::move(left));
  }
  core::Command command = core::CordonWorker{{}, WorkerId(call.path[0]), false};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled reset_worker(Call& call) {
  core::Command command = core::ResetWorker{{}, WorkerId(call.path[0])};
  co_return co_await act_on_worker(call, std::move(command));
}

Handled delete_worker(Call& call) {
  core::Command command = core::DeleteWorker{{}, WorkerId(call.path[0])};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return empty_answer();
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

// Partition leases: acquire, renew, release, check. A former holder is told LeaseNotHeld.

namespace {

PartitionKey key_in(const Call& call) {
  PartitionKey key{call.text(), 0};
  std::from_chars(call.path[1].data(), call.path[1].data() + call.path[1].size(), key.partition);
  return key;
}

// Asks for a grant and shows it as the lease that it now is.
Handled answer_grant(Call& call, core::Command command, AgentId agent) {
  auto granted = co_await ask<core::LeaseGranted>(call.backend, std::move(command));
  if (!granted) co_return std::unexpected(std::move(granted.error()));
  const PartitionLeaseRow row{key_in(call), std::move(agent), granted->epoch, granted->expires_at};
  const ControllerSettings& times = call.backend.settings().settings.controller;
  const Instant renew_at = row.expires_at - times.partition_lease + times.partition_renew;
  const Instant now = call.backend.now();
  co_return json_answer(
      object_json([&](JsonWriter& json) { write_lease(json, row, now, renew_at); }));
}

}  // namespace

Handled list_leases(Call& call) {
  QueryReader query(call.request().query);
  const std::string topic = query.text("topic");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const Instant now = call.backend.now();
  const auto write = [now](JsonWriter& json, const PartitionLeaseRow& row) {
    write_lease(json, row, now);
  };
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("leases", reader.leases(topic, page), write);
  });
}

Handled get_lease(Call& call) {
  const PartitionKey key = key_in(call);
  auto lease =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.lease(key); });
  if (!lease) co_return std::unexpected(std::move(lease.error()));
  if (!*lease) co_return std::unexpected(trouble(Code::kNoSuchLease));
  const Instant now = call.backend.now();
  co_return json_answer(object_json([&](JsonWriter& json) { write_lease(json, **lease, now); }));
}

Handled acquire_lease(Call& call) {
  auto body = co_await read_body(call, read_lease_request);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::AcquireLease{{}, key_in(call), body->agent};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled renew_lease(Call& call) {
  auto body = co_await read_body(call, read_lease_held);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::RenewLease{{}, key_in(call), body->agent, body->epoch};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled check_lease(Call& call) {
  auto body = co_await read_body(call, read_lease_held);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::CheckLease{{}, key_in(call), body->agent, body->epoch};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled release_lease(Call& call) {
  auto body = co_await read_body(call, read_lease_held);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command = core::ReleaseLease{{}, key_in(call), body->agent, body->epoch};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return empty_answer();
}

}  // namespace vortex::api
