#include <algorithm>

#include "api/access.h"
#include "api/views.h"

namespace vortex::api {

namespace {

std::int64_t whole_seconds(Duration duration) {
  return std::max<std::int64_t>(0, duration.us / 1'000'000);
}

void write_info(JsonWriter& json, const WorkerInfo& info) {
  json.field("address", info.address).field("zone", info.zone).field("group", info.group);
  json.field("version", info.version).field("metadata", info.metadata);
  write_texts(json, "queues", info.queues);
  write_labels(json, "labels", info.labels);
  write_texts(json, "runtimes", info.runtimes);
  json.field("slots", info.slots).field("cpu_milli", info.resources.cpu_milli);
  json.field("memory_bytes", info.resources.memory_bytes).key("resources").begin_object();
  for (const auto& [name, amount] : info.resources.named) json.field(name, amount);
  json.end_object();
}

}  // namespace

void write_worker(JsonWriter& json, const store::WorkerView& worker, const WorkerLook& look) {
  const Instant now = look.now;
  const WorkerRow& row = worker.row;
  json.begin_object().field("id", row.info->id.text).field("name", row.info->name);
  json.field("machine", row.info->machine.text).field("state", to_text(row.state));
  json.field("suspect", row.suspect).field("cordoned", row.cordoned);
  json.field("incarnation", row.incarnation.value);
  write_info(json, *row.info);
  json.field("held", worker.held).field("completed", worker.completed);
  json.field("ended", worker.ended).field("times_lost", row.times_lost);
  const auto lately = std::ranges::count_if(
      row.lost_lately, [&](Instant at) { return now - at < look.flapping_window; });
  json.field("lost_lately", static_cast<std::uint64_t>(lately));
  json.field("flapping", look.flapping_losses > 0 && lately >= look.flapping_losses);
  json.field("registered_at", row.registered_at);
  const bool heard = row.last_heartbeat != kNever && row.last_heartbeat.us != 0;
  write_time(json, "last_heartbeat", row.last_heartbeat);
  json.key("seconds_since_heartbeat");
  heard ? json.number(whole_seconds(now - row.last_heartbeat)) : json.null();
  const bool up = is_present(row.state);
  json.field("uptime_seconds", up ? whole_seconds(now - row.registered_at) : std::int64_t{0});
  json.end_object();
}

void write_machine(JsonWriter& json, const MachineRow& row) {
  json.begin_object().field("id", row.id.text).field("online", row.online);
  json.field("since", row.since).end_object();
}

void write_queue(JsonWriter& json, const QueueDepth& queue) {
  json.begin_object().field("name", queue.name).field("paused", queue.paused);
  json.field("ready", queue.ready).field("held", queue.held);
  json.field("workers", queue.workers);
  write_time(json, "oldest_ready", queue.oldest_ready.value_or(kNever));
  json.end_object();
}

void write_lease(JsonWriter& json, const PartitionLeaseRow& row, Instant now,
                 std::optional<Instant> renew_at) {
  const bool held = !row.holder.empty();
  json.begin_object().field("topic", row.partition.topic);
  json.field("partition", row.partition.partition);
  write_name(json, "agent", row.holder.text);
  json.field("epoch", row.epoch.value);
  write_time(json, "expires_at", held ? row.expires_at : kNever);
  json.field("live", held && row.expires_at > now);
  if (renew_at) {
    // Lengths besides times: clocks of two machines are never compared.
    const auto in_ms = [now](Instant at) {
      return std::max<std::int64_t>((at - now).us / 1'000, 0);
    };
    write_time(json, "renew_at", *renew_at);
    json.field("renew_after_ms", in_ms(*renew_at)).field("expires_in_ms", in_ms(row.expires_at));
  }
  json.end_object();
}

void write_token(JsonWriter& json, const TokenRow& row, std::string_view secret) {
  json.begin_object().field("name", row.name).field("role", to_text(row.role));
  json.field("created_at", row.created_at).field("revoked", row.revoked);
  if (!secret.empty()) json.field("secret", secret);
  json.end_object();
}

void write_webhook(JsonWriter& json, const WebhookRow& row, Secret secret) {
  const WebhookProgress& progress = row.progress;
  json.begin_object().field("name", row.name).field("url", row.url).key("kinds").begin_array();
  std::string_view kinds = row.kinds;
  while (!kinds.empty()) {
    const std::size_t end = std::min(kinds.find(','), kinds.size());
    json.text(kinds.substr(0, end));
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
  }
  json.end_array();
  write_name(json, "dag", row.dag);
  json.field("created_at", row.created_at).field("after", progress.after);
  json.field("delivered", progress.delivered).field("given_up", progress.given_up);
  json.field("missed", progress.missed);
  write_time(json, "delivered_at", progress.delivered_at);
  write_name(json, "trouble", progress.trouble);
  if (secret == Secret::kShown) json.field("secret", row.secret);
  json.end_object();
}

void write_delivery(JsonWriter& json, const Delivery& delivery) {
  json.begin_object().field("taken", delivery.taken).key("status");
  if (delivery.status == 0) {
    json.null();
  } else {
    json.number(std::int64_t{delivery.status});
  }
  write_name(json, "trouble", delivery.trouble);
  json.field("took_ms", delivery.took.us / 1'000).end_object();
}

}  // namespace vortex::api
