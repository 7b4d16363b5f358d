// Health, status, timings, settings: the system as a whole.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/peers/peers.h"
#include "api/schema/schema.h"
#include "api/secrets.h"
#include "api/views.h"
#include "base/settings.h"
#include "base/time.h"
#include "core/state/policy.h"

namespace vortex::api {
namespace {

// Show the worst-case recovery times with the current settings.
//
// One entry per kind of evidence, with the formula in the names of settings. Pure arithmetic; the
// same rules as in core/evidence.cc and core/report.cc.

struct Timing {
  std::string_view evidence;
  std::string_view what;
  std::string_view formula;
  Duration worst;
};

inline constexpr std::string_view kTimingsNote =
    "Each time ends when the task is assigned to another matching worker with a free slot. The "
    "commit, the network and the start of the process add to it. While the brake is engaged, or "
    "just after a store outage or a leader change, silence does not count until one full lease has "
    "passed. Exclusive tasks wait for proof or silence.";

std::vector<Timing> timings(const Settings& settings) {
  const core::Policy policy = core::make_policy(settings);
  const Duration lease = policy.worker_lease;
  const Duration tick = policy.sweep;
  const Duration retry = policy.retry.backoff.delay;
  // A worker that is asked to stop a task and never answers is believed after one full lease.
  const Duration stopped = lease + tick * 2;
  const Duration not_started = std::max(policy.scheduled_timeout, lease);
  const Duration executed =
      policy.execution_timeout + policy.kill_time + policy.heartbeat_interval * 2;
  return {
      {"proof",
       "The supervisor saw the worker exit, it registered again, or an operator declared it dead.",
       "immediate: reclaimed as soon as the proof arrives", Duration{}},
      {"hint", "The worker's connection closed and its address refuses connections.",
       "reconnect_grace + sweep_interval", policy.reconnect_grace + tick},
      {"silence", "The worker is silent.", "heartbeat_timeout + sweep_interval", lease + tick},
      {"not_started", "A live worker was assigned the task and never starts it.",
       "max(scheduled_timeout, heartbeat_timeout) + heartbeat_timeout + 2 x sweep_interval",
       not_started + stopped},
      {"stale", "A live worker runs the task, which no longer shows progress.",
       "task_stale_timeout + heartbeat_timeout + 2 x sweep_interval + first retry delay",
       policy.stale_after + stopped + retry},
      {"execution", "A live worker runs the task for longer than allowed.",
       "task_timeout + kill_grace + 2 x heartbeat_interval + heartbeat_timeout + "
       "2 x sweep_interval + first retry delay",
       executed + stopped + retry},
  };
}

constexpr std::uint32_t kWorkersPerPage = 1'000;
constexpr std::size_t kWorkerStates = words_of<WorkerState>().size();

using WorkerCounts = std::array<std::uint64_t, kWorkerStates>;

struct Overview {
  store::Totals totals;
  WorkerCounts workers{};
};

store::Result<WorkerCounts> count_workers(store::Reader& reader) {
  WorkerCounts counts{};
  store::PageRequest page{kWorkersPerPage, {}};
  do {
    auto workers = reader.workers({}, page);
    if (!workers) return std::unexpected(workers.error());
    for (const auto& worker : workers->items) ++counts[static_cast<std::size_t>(worker.row.state)];
    page.cursor = std::move(workers->next_cursor);
  } while (!page.cursor.empty());
  return counts;
}

store::Result<Overview> read_overview(store::Reader& reader, Instant now) {
  Overview out;
  auto totals = reader.totals(now);
  if (!totals) return std::unexpected(totals.error());
  auto workers = count_workers(reader);
  if (!workers) return std::unexpected(workers.error());
  out.totals = *totals;
  out.workers = *workers;
  return out;
}

std::int64_t whole_seconds(Duration duration) { return duration.us / 1'000'000; }

void write_damaged(JsonWriter& json, const std::vector<DamagedRow>& rows) {
  json.key("damaged").begin_array();
  for (const DamagedRow& row : rows) {
    json.begin_object().field("table", row.table).field("row", row.id);
    json.field("column", row.column).field("what", row.what);
    write_name(json, "run", row.run.value == 0 ? std::string{} : to_text(row.run));
    json.end_object();
  }
  json.end_array();
}

std::string_view health_word(const Health& health) {
  return health.store_connected ? "healthy" : "unhealthy";
}

// For strangers: what a probe needs, and nothing to learn from.
void write_health_alone(JsonWriter& json, const Health& health) {
  json.begin_object().field("status", health_word(health)).end_object();
}

void write_tls(JsonWriter& json, const Health& health) {
  json.field("tls", health.certificate_until.has_value());
  write_time(json, "certificate_expires_at", health.certificate_until.value_or(Instant{}));
}

Term known_term(const Health& health) {
  return health.leads || !health.leader ? health.term : health.leader->term;
}

void write_leader(JsonWriter& json, const Health& health) {
  json.field("role", health.leads ? "leader" : "standby");
  const store::Leader leader = health.leader.value_or(store::Leader{});
  write_name(json, "leader_id", leader.id.text);
  write_name(json, "leader_url", leader.url);
  write_time(json, "leader_since", leader.since);
}

void write_health(JsonWriter& json, const Health& health) {
  json.begin_object().field("status", health_word(health));
  json.field("id", health.id.text).field("agent_id", health.id.text);
  json.field("uptime_seconds", whole_seconds(health.uptime));
  json.field("active_leases", health.active_leases).field("live_workers", health.live_workers);
  json.field("last_heartbeat_success", health.store_connected);
  write_time(json, "last_commit", health.last_commit);
  json.field("store_connected", health.store_connected);
  json.field("metadata_store_connected", health.store_connected).field("leader", health.leads);
  json.field("term", known_term(health).value);
  write_leader(json, health);
  json.field("url", health.url).field("brake_engaged", health.brake_engaged);
  json.field("inbox", health.inbox).field("version", health.version);
  write_tls(json, health);
  write_name(json, "detail", health.detail);
  write_damaged(json, health.damaged);
  json.end_object();
}

void write_workers(JsonWriter& json, const WorkerCounts& counts) {
  json.key("workers").begin_object();
  for (std::size_t i = 0; i < counts.size(); ++i) json.field(words_of<WorkerState>()[i], counts[i]);
  json.end_object();
  const auto of = [&](WorkerState state) { return counts[static_cast<std::size_t>(state)]; };
  json.field("workers_active", of(WorkerState::kIdle) + of(WorkerState::kRunning));
  json.field("workers_offline", of(WorkerState::kOffline));
  json.field("workers_registering", of(WorkerState::kRegistering));
}

struct StatusParts {
  const Overview& overview;
  const Health& health;
  const std::vector<QueueDepth>& queues;
  const std::vector<core::Standstill>& standstills;
  Instant now;
};

void write_status(JsonWriter& json, const StatusParts& parts) {
  const Health& health = parts.health;
  json.begin_object().field("now", parts.now).field("id", health.id.text);
  json.field("version", health.version).field("leader", health.leads);
  json.field("term", known_term(health).value);
  write_leader(json, health);
  json.field("uptime_seconds", whole_seconds(health.uptime));
  json.field("brake_engaged", health.brake_engaged);
  write_tls(json, health);
  write_workers(json, parts.overview.workers);
  json.key("tasks").begin_object();
  const TaskTotals& tasks = parts.overview.totals.counters.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) json.field(words_of<TaskState>()[i], tasks[i]);
  json.end_object().field("requeued_last_hour", parts.overview.totals.requeued_last_hour);
  json.field("dead_letters", parts.overview.totals.open_dead_letters);
  json.key("queues").begin_array();
  for (const QueueDepth& queue : parts.queues) write_queue(json, queue);
  json.end_array().key("standstills");
  write_standstills(json, parts.standstills);
  json.end_object();
}

void write_setting(JsonWriter& json, const EffectiveSetting& setting) {
  json.begin_object().field("key", setting.key).field("value", setting.value);
  json.field("unit", setting.unit).field("origin", setting.origin).end_object();
}

// For strangers: what a probe needs. For those who are known, who leads.
net::Response ready_answer(const Health& health, bool known) {
  return json_answer(object_json([&](JsonWriter& json) {
                       const std::string missing = known ? health.not_ready : "not ready";
                       json.begin_object().field("status", health.ready ? "ok" : missing);
                       if (known) {
                         json.field("term", known_term(health).value);
                         write_leader(json, health);
                       }
                       json.end_object();
                     }),
                     health.ready ? 200 : 503);
}

}  // namespace

Handled get_health(Call& call) {
  const Health health = call.backend.health();
  const bool known = call.caller.role.has_value();
  co_return json_answer(object_json([&](JsonWriter& json) {
                          known ? write_health(json, health) : write_health_alone(json, health);
                        }),
                        health.store_connected ? 200 : 503);
}

Handled get_livez(Call& /*call*/) {
  co_return json_answer(object_json(
      [](JsonWriter& json) { json.begin_object().field("status", "ok").end_object(); }));
}

Handled get_readyz(Call& call) {
  const Health health = call.backend.health();
  co_return ready_answer(health, call.caller.role.has_value());
}

// The one that answers is there now, whenever it was written down last.
Handled list_controllers(Call& call) {
  const Health health = call.backend.health();
  const Peers* peers = call.backend.peers();
  std::vector<ControllerRow> rows = peers == nullptr ? std::vector<ControllerRow>{} : peers->all();
  std::erase_if(rows, [&](const ControllerRow& row) { return row.id == health.id; });
  rows.push_back({health.id, health.url, call.backend.now()});
  std::ranges::sort(rows, {}, &ControllerRow::id);
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("controllers").begin_array();
    for (const ControllerRow& row : rows) {
      const bool leads =
          row.id == health.id ? health.leads : health.leader && health.leader->id == row.id;
      write_controller(json, row, leads);
    }
    json.end_array().end_object();
  }));
}

Handled get_metrics(Call& call) {
  net::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = co_await call.backend.metrics();
  if (response.body.empty()) {
    co_return std::unexpected(trouble(Code::kNoSuchPath, "metrics are disabled"));
  }
  co_return response;
}

Handled get_status(Call& call) {
  const Instant now = call.backend.now();
  auto overview = co_await fetch(
      call.backend, [now](store::Reader& reader) { return read_overview(reader, now); });
  if (!overview) co_return std::unexpected(std::move(overview.error()));
  Asked<std::vector<QueueDepth>> queues = co_await call.backend.queues();
  // A controller that does not lead still has a status to show.
  if (!queues) queues = std::vector<QueueDepth>{};
  auto standstills = co_await call.backend.standstills({});
  if (!standstills) standstills = Backend::Standstills{};
  const Health health = call.backend.health();
  const StatusParts parts{*overview, health, *queues, *standstills, now};
  co_return json_answer(object_json([&](JsonWriter& json) { write_status(json, parts); }));
}

Handled reconcile(Call& call) {
  auto report = co_await call.backend.reconcile();
  if (!report) co_return std::unexpected(from_unserved(report.error()));
  const std::vector<DamagedRow> damaged = call.backend.health().damaged;
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("runs", report->runs).field("tasks", report->tasks);
    json.field("took_us", report->took.us).field("longest_slice_us", report->longest.us);
    write_text_list(json, "findings", report->findings);
    json.field("reloaded", report->reloaded);
    write_damaged(json, damaged);
    json.end_object();
  }));
}

Handled get_timings(Call& call) {
  const std::vector<Timing> all = timings(call.backend.settings().settings);
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("timings").begin_array();
    for (const Timing& timing : all) {
      json.begin_object().field("evidence", timing.evidence).field("what", timing.what);
      json.field("formula", timing.formula).field("worst_ms", timing.worst.us / 1'000);
      json.end_object();
    }
    json.end_array().field("note", kTimingsNote).end_object();
  }));
}

Handled get_settings(Call& call) {
  const LoadedSettings& loaded = call.backend.settings();
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("settings").begin_array();
    for (const EffectiveSetting& setting : loaded.effective) write_setting(json, setting);
    json.end_array();
    write_text_list(json, "notices", loaded.notices);
    json.end_object();
  }));
}

Handled get_openapi(Call& call) {
  co_return json_answer(openapi_json(call.backend.health().version));
}

// Tokens: made, listed, revoked. The secret leaves once, in the answer that makes it.

namespace {

boost::asio::awaitable<Expected<std::vector<TokenRow>>> read_token_rows(Call& call) {
  co_return co_await fetch(call.backend, [](store::Reader& reader) { return reader.tokens(); });
}

Trouble changing() {
  Trouble busy = trouble(Code::kBusy, "another request is changing the tokens");
  busy.retry_after = seconds(1);
  return busy;
}

// Without an admin nobody could create a token, this one included.
bool is_last_admin(const std::vector<TokenRow>& rows, const TokenRow& one) {
  return one.role == Role::kAdmin && std::ranges::none_of(rows, [&](const TokenRow& row) {
           return row.role == Role::kAdmin && !row.revoked && row.name != one.name;
         });
}

boost::asio::awaitable<Expected<void>> write_row(Call& call, TokenRow row) {
  SideWrite side = WriteToken{std::move(row)};
  Asked<void> written = co_await call.backend.write(std::move(side));
  call.access.forget();
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return Expected<void>{};
}

}  // namespace

Handled list_tokens(Call& call) {
  auto rows = co_await read_token_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("tokens").begin_array();
    for (const TokenRow& row : *rows) write_token(json, row);
    json.end_array().end_object();
  }));
}

Handled create_token(Call& call) {
  auto body = co_await read_body(call, read_token_request);
  if (!body) co_return std::unexpected(std::move(body.error()));
  call.subject = body->name;
  if (!body->workers.empty() && body->role != Role::kWorker) {
    co_return std::unexpected(
        trouble(Code::kBadBody, "only tokens with the role worker can be bound to workers"));
  }
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(changing());
  auto rows = co_await read_token_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  for (const TokenRow& row : *rows) {
    if (row.name == body->name && !row.revoked) {
      co_return std::unexpected(trouble(Code::kTokenExists, body->name));
    }
  }
  const std::string secret = mint_token();
  const TokenRow row{std::move(body->name), body->role, hash_token(secret),
                     call.backend.now(),    false,      std::move(body->workers)};
  const Expected<void> written = co_await write_row(call, row);
  if (!written) co_return std::unexpected(written.error());
  net::Response response =
      json_answer(object_json([&](JsonWriter& json) { write_token(json, row, secret); }), 201);
  response.headers.emplace_back("Cache-Control", "no-store");
  co_return response;
}

Handled revoke_token(Call& call) {
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(changing());
  auto rows = co_await read_token_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  const std::string name = call.text();
  const auto found = std::ranges::find_if(
      *rows, [&](const TokenRow& row) { return row.name == name && !row.revoked; });
  if (found == rows->end()) co_return std::unexpected(trouble(Code::kNoSuchToken, name));
  if (is_last_admin(*rows, *found)) co_return std::unexpected(trouble(Code::kLastAdmin, name));
  TokenRow row = *found;
  row.revoked = true;
  const Expected<void> written = co_await write_row(call, std::move(row));
  if (!written) co_return std::unexpected(written.error());
  co_return empty_answer();
}

}  // namespace vortex::api
