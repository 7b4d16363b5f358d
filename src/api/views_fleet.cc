// Workers, machines, queues, leases, tokens and webhooks as JSON.

#include <algorithm>

#include <fmt/format.h>

#include "api/schema/shape.h"
#include "api/views.h"
#include "codec/units.h"

namespace vortex::api {
namespace {

std::int64_t whole_seconds(Duration duration) {
  return std::max<std::int64_t>(0, duration.us / 1'000'000);
}

struct WorkerShown {
  const WorkerRow& row;
  const store::WorkerView& view;
  const WorkerLook& look;

  std::uint64_t lost_lately() const {
    const auto within = [&](Instant at) { return look.now - at < look.flapping_window; };
    return static_cast<std::uint64_t>(std::ranges::count_if(row.lost_lately, within));
  }
  bool is_flapping() const {
    return look.flapping_losses > 0 && lost_lately() >= look.flapping_losses;
  }
  std::optional<std::int64_t> seconds_since_heartbeat() const {
    if (is_nothing(row.last_heartbeat)) return std::nullopt;
    return whole_seconds(look.now - row.last_heartbeat);
  }
  std::int64_t uptime_seconds() const {
    return is_present(row.state) ? whole_seconds(look.now - row.registered_at) : 0;
  }
};

const Shape<WorkerShown>& worker_shape() {
  using W = WorkerShown;
  static const auto shape =
      Shape<W>()
          .record<WorkerRow>("metadata")
          .shows<[](const W& w) -> const auto& { return w.row.info->queues; }>(
              "queues", "queues it takes tasks from")
          .shows<[](const W& w) -> const auto& { return w.row.info->labels; }>("labels",
                                                                               "labels it offers")
          .shows<[](const W& w) -> const auto& { return w.row.info->runtimes; }>(
              "runtimes", "runtimes it offers")
          .shows<[](const W& w) -> const auto& { return w.row.info->users; }>(
              "users", "users that tasks may ask to run as")
          .record<WorkerRow>("slots")
          .shows<[](const W& w) { return w.row.info->resources.cpu_milli; }>(
              "cpu_milli", "CPU for tasks; 0: unlimited")
          .shows<[](const W& w) { return w.row.info->resources.memory_bytes; }>(
              "memory_bytes", "memory for tasks; 0: unlimited")
          .shows<[](const W& w) -> const auto& { return w.row.info->resources.named; }>(
              "resources", "amounts of custom resources it offers")
          .shows<[](const W& w) { return w.view.held; }>("held", "number of tasks it holds")
          .shows<[](const W& w) { return w.view.completed; }>(
              "completed", "attempts that completed on it, as far as they are kept")
          .shows<[](const W& w) { return w.view.ended; }>("ended",
                                                          "attempts that ended on it in any way")
          .record<WorkerRow>("times_lost")
          .shows<&W::lost_lately>("lost_lately",
                                  "how often it was lost within controller.flapping_window_secs")
          .shows<&W::is_flapping>("flapping", "it was lost too often recently")
          .record<WorkerRow>()
          .shows<&W::seconds_since_heartbeat>("seconds_since_heartbeat", "null: none yet")
          .shows<&W::uptime_seconds>("uptime_seconds",
                                     "uptime of this incarnation; 0 if it is gone");
  return shape;
}

const Shape<MachineRow>& machine_shape() {
  static const auto shape = Shape<MachineRow>().record<MachineRow>();
  return shape;
}

struct QueueShown {
  QueueRow row;
  const QueueDepth& depth;
};
const Shape<QueueShown>& queue_shape() {
  using Q = QueueShown;
  static const auto shape =
      Shape<Q>()
          .record<QueueRow>()
          .shows<[](const Q& q) { return q.depth.ready; }>("ready",
                                                           "number of tasks that could start now")
          .shows<[](const Q& q) { return q.depth.held; }>("held", "number of tasks on workers")
          .shows<[](const Q& q) { return q.depth.workers; }>(
              "workers", "number of present workers that listen to it")
          .shows<[](const Q& q) { return q.depth.oldest_ready; }>(
              "oldest_ready", "since when the oldest ready task has been waiting");
  return shape;
}

const Shape<core::LimitInfo>& limit_shape() {
  using L = core::LimitInfo;
  static const auto shape =
      Shape<L>()
          .shows<[](const L& l) { return l.row.name; }>("name", "name of the limit")
          .shows<&L::is_set>("set", "false: tasks name it, but nobody has set it, so they wait")
          .shows<[](const L& l) {
            return l.row.slots == 0 ? std::optional<std::uint32_t>() : l.row.slots;
          }>("slots", "how many tasks may hold it at once; null: any number")
          .shows<[](const L& l) {
            return l.row.window ? std::optional(codec::rate_text({l.row.rate, *l.row.window}))
                                : std::nullopt;
          }>("rate", "how many tasks may start in any window of that length; null: any number")
          .shows<&L::held>("held", "tasks that hold it: those on workers")
          .shows<&L::waiting>("waiting", "ready tasks that name it and are not on workers")
          .shows<&L::lately>("started_lately",
                             "tasks that count against the rate now; 0 without a rate")
          .shows<[](const L& l) {
            std::vector<std::string> ids;
            for (const TaskId& id : l.holders) ids.push_back(to_text(id));
            return ids;
          }>("holders", "ids of the tasks that hold it, the first 20")
          .shows<[](const L& l) { return l.is_set ? std::optional(l.row.set_at) : std::nullopt; }>(
              "set_at", "when it was set last; null: it is not set")
          .shows<[](const L& l) {
            return l.row.set_by.empty() ? std::nullopt : std::optional(l.row.set_by);
          }>("set_by", "name of the token that set it; null: none was needed");
  return shape;
}

struct ControllerShown {
  ControllerRow row;
  bool leads = false;
};
const Shape<ControllerShown>& controller_shape() {
  using C = ControllerShown;
  static const auto shape =
      Shape<C>()
          .record<ControllerRow>("seen_at")
          .shows<[](const C& c) { return std::string(c.leads ? "leader" : "standby"); }>(
              "role", "leader or standby")
          .record<ControllerRow>();
  return shape;
}

const Shape<QueueRow>& queue_state_shape() {
  static const auto shape = Shape<QueueRow>().record<QueueRow>();
  return shape;
}

struct LeaseShown {
  const PartitionLeaseRow& row;
  Instant now;
  Instant renew_at = kNever;

  bool is_held() const { return !row.holder.empty(); }
  std::optional<Instant> expires_at() const {
    return is_held() ? std::optional(row.expires_at) : std::nullopt;
  }
  bool is_live() const { return is_held() && row.expires_at > now; }
  std::optional<Instant> renewed_at() const { return renew_at; }
  // Lengths besides times: clocks of two machines are never compared.
  std::int64_t millis_until(Instant at) const {
    return std::max<std::int64_t>((at - now).us / 1'000, 0);
  }
};

Shape<LeaseShown> lease_made() {
  Shape<LeaseShown> shape;
  shape.record<PartitionLeaseRow>()
      .shows<&LeaseShown::expires_at>("expires_at", "expiry, unless renewed before")
      .shows<&LeaseShown::is_live>("live", "held and not expired");
  return shape;
}

const Shape<LeaseShown>& lease_shape() {
  static const auto shape = lease_made();
  return shape;
}

const Shape<LeaseShown>& lease_grant_shape() {
  using L = LeaseShown;
  static const auto shape =
      lease_made()
          .means("agent", "holder of the lease")
          .shows<&L::renewed_at>("renew_at", "when the holder should renew")
          .shows<[](const L& l) { return l.millis_until(l.renew_at); }>(
              "renew_after_ms", "the same as a delay, counted from when you sent the request")
          .shows<[](const L& l) { return l.millis_until(l.row.expires_at); }>(
              "expires_in_ms", "how long it remains valid, counted from when you sent the request");
  return shape;
}

// What stands between commas, as a list.
void write_split(JsonWriter& json, std::string_view all) {
  json.begin_array();
  while (!all.empty()) {
    const std::size_t end = std::min(all.find(','), all.size());
    json.text(all.substr(0, end));
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  json.end_array();
}

const Shape<TokenRow>& token_shape() {
  static const auto shape =
      Shape<TokenRow>()
          .record<TokenRow>("role")
          .shows(texts("workers", "worker ids it may act for, exact or ending with *; empty: any"),
                 [](JsonWriter& json, const TokenRow& row) { write_split(json, row.workers); })
          .record<TokenRow>();
  return shape;
}

void write_kinds(JsonWriter& json, const WebhookRow& row) { write_split(json, row.kinds); }

const Shape<WebhookRow>& webhook_shape() {
  static const auto shape = Shape<WebhookRow>()
                                .record<WebhookRow>("url")
                                .shows(texts("kinds", "kinds of events that are sent"), write_kinds)
                                .record<WebhookRow>();
  return shape;
}

const Shape<AuditRow>& audit_shape() {
  static const auto shape =
      Shape<AuditRow>()
          .record<AuditRow>("status")
          .shows<[](const AuditRow& row) { return store::outcome_of(row); }>(
              "outcome", "ok; refused: no valid token, or not allowed; failed: anything else")
          .record<AuditRow>();
  return shape;
}

const Shape<SecretRow>& secret_shape() {
  static const auto shape = Shape<SecretRow>().record<SecretRow>();
  return shape;
}

const Shape<SecretVersionRow>& secret_version_shape() {
  static const auto shape = Shape<SecretVersionRow>().record<SecretVersionRow>();
  return shape;
}

const Shape<Delivery>& delivery_shape() {
  using D = Delivery;
  constexpr auto kResponseStatus = [](const D& d) {
    return d.status == 0 ? std::nullopt : std::optional(d.status);
  };
  constexpr auto kTrouble = [](const D& d) {
    return d.trouble.empty() ? std::nullopt : std::optional(d.trouble);
  };
  static const auto shape =
      Shape<D>()
          .shows<&D::taken>("taken", "whether the receiver answered 2xx")
          .shows<kResponseStatus>("status", "status of its response; null: no response")
          .shows<kTrouble>("trouble", "why it was not accepted")
          .shows<[](const D& d) { return d.took.us / 1'000; }>("took_ms",
                                                               "time until the response");
  return shape;
}

}  // namespace

namespace fields {

Fields worker() { return worker_shape().fields(); }
Fields machine() { return machine_shape().fields(); }
Fields queue() { return queue_shape().fields(); }
Fields limit() { return limit_shape().fields(); }
Fields controller() { return controller_shape().fields(); }
Fields queue_state() { return queue_state_shape().fields(); }
Fields lease() { return lease_shape().fields(); }
Fields lease_grant() { return lease_grant_shape().fields(); }
Fields token() { return token_shape().fields(); }
Fields webhook() { return webhook_shape().fields(); }
Fields audit_entry() { return audit_shape().fields(); }
Fields delivery() { return delivery_shape().fields(); }
Fields secret() { return secret_shape().fields(); }
Fields secret_version() { return secret_version_shape().fields(); }

}  // namespace fields

void write_worker(JsonWriter& json, const store::WorkerView& worker, const WorkerLook& look) {
  worker_shape().write(json, {worker.row, worker, look});
}

void write_machine(JsonWriter& json, const MachineRow& row) { machine_shape().write(json, row); }

void write_queue(JsonWriter& json, const QueueDepth& queue) {
  queue_shape().write(json, {{queue.name, queue.paused}, queue});
}

void write_controller(JsonWriter& json, const ControllerRow& row, bool leads) {
  controller_shape().write(json, {row, leads});
}

void write_limit(JsonWriter& json, const core::LimitInfo& limit) {
  limit_shape().write(json, limit);
}

void write_queue_state(JsonWriter& json, const QueueRow& row) {
  queue_state_shape().write(json, row);
}

void write_lease(JsonWriter& json, const PartitionLeaseRow& row, Instant now,
                 std::optional<Instant> renew_at) {
  const LeaseShown shown{row, now, renew_at.value_or(kNever)};
  (renew_at ? lease_grant_shape() : lease_shape()).write(json, shown);
}

void write_token(JsonWriter& json, const TokenRow& row, std::string_view secret) {
  json.begin_object();
  token_shape().write_fields(json, row);
  if (!secret.empty()) json.field("secret", secret);
  json.end_object();
}

void write_webhook(JsonWriter& json, const WebhookRow& row, Secret secret) {
  json.begin_object();
  webhook_shape().write_fields(json, row);
  if (secret == Secret::kShown) json.field("secret", row.secret);
  json.end_object();
}

void write_audit_entry(JsonWriter& json, const AuditRow& row) { audit_shape().write(json, row); }

void write_delivery(JsonWriter& json, const Delivery& delivery) {
  delivery_shape().write(json, delivery);
}

void write_secret(JsonWriter& json, const SecretRow& row) { secret_shape().write(json, row); }

void write_secret_version(JsonWriter& json, const SecretVersionRow& row) {
  secret_version_shape().write(json, row);
}

}  // namespace vortex::api
