// Partition leases: acquire, renew, release, check. A former holder is told LeaseNotHeld.
#include <charconv>
#include <utility>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

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
  auto leases = co_await fetch(call.backend,
                               [&](store::Reader& reader) { return reader.leases(topic, page); });
  if (!leases) co_return std::unexpected(std::move(leases.error()));
  const Instant now = call.backend.now();
  co_return json_answer(page_json(
      "leases", *leases,
      [now](JsonWriter& json, const PartitionLeaseRow& row) { write_lease(json, row, now); }));
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
  auto body = read_lease_request(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  core::Command command = core::AcquireLease{{}, key_in(call), body->agent};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled renew_lease(Call& call) {
  auto body = read_lease_held(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  core::Command command = core::RenewLease{{}, key_in(call), body->agent, body->epoch};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled check_lease(Call& call) {
  auto body = read_lease_held(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  core::Command command = core::CheckLease{{}, key_in(call), body->agent, body->epoch};
  co_return co_await answer_grant(call, std::move(command), std::move(body->agent));
}

Handled release_lease(Call& call) {
  auto body = read_lease_held(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  core::Command command = core::ReleaseLease{{}, key_in(call), body->agent, body->epoch};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return empty_answer();
}

}  // namespace vortex::api
