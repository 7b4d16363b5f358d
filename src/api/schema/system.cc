// Schemas of the system as a whole: health, status, timings, settings, events, tokens, webhooks,
// problems.

#include <algorithm>
#include <vector>

#include "api/schema/schema.h"
#include "api/views.h"
#include "model/event.h"

namespace vortex::api {

std::span<const Schema> all_schemas() {
  static const std::vector<Schema> all_rows = [] {
    std::vector<Schema> all;
    for (const auto rows : {work_schemas(), fleet_schemas(), system_schemas()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return all_rows;
}

const Schema* find_schema(std::string_view name) {
  const auto all = all_schemas();
  const auto found = std::ranges::find(all, name, &Schema::name);
  return found == all.end() ? nullptr : &*found;
}

namespace {

constexpr std::string_view kHealthNames[] = {"healthy", "unhealthy"};

constexpr Field kHealth[] = {
    one_of("status", kHealthNames,
           "unhealthy comes with status 503; callers without a token see nothing else"),
    optional(text("id", "id of this controller")),
    optional(text("agent_id", "the same as id")),
    optional(integer("uptime_seconds", "uptime of this controller")),
    optional(integer("active_leases", "partition leases currently held")),
    optional(integer("live_workers", "workers that are present")),
    optional(
        boolean("last_heartbeat_success", "whether renewing its leadership, or reading, works")),
    optional(nullable(time("last_commit", "null: none yet"))),
    optional(boolean("store_connected", "whether the store answers")),
    optional(boolean("metadata_store_connected", "the same as store_connected")),
    optional(boolean("leader", "whether this controller is the leader")),
    optional(integer("term", "term of the leadership it knows of")),
    optional(text("role", "leader or standby; a standby passes commands on to the leader")),
    optional(text("url", "where others reach this controller")),
    optional(nullable(text("leader_id", "id of the leader; null: nobody leads"))),
    optional(nullable(text("leader_url", "where the leader is reached"))),
    optional(nullable(time("leader_since", "when its term began"))),
    optional(boolean("brake_engaged", "reclaiming tasks because of silence is on hold")),
    optional(integer("inbox", "number of waiting commands")),
    optional(text("version", "version of the program")),
    optional(boolean("tls", "whether it serves HTTPS")),
    optional(nullable(time("certificate_expires_at", "null: without TLS"))),
    optional(nullable(text("detail", "what is wrong"))),
    optional(list("damaged", "DamagedRow",
                  "rows that cannot be read; what depends on them is set aside")),
};
constexpr Field kDamagedRow[] = {
    text("table", "table of the row"),
    text("row", "id of the row"),
    text("column", "column with the bad value; empty: the whole row"),
    text("what", "what is wrong with it"),
    nullable(text("run", "run that is set aside because of it")),
};
constexpr Field kReconcile[] = {
    integer("runs", "number of live runs checked"),
    integer("tasks", "number of tasks of these runs"),
    integer("took_us", "total time spent, over all slices"),
    integer("longest_slice_us", "duration of the longest slice"),
    texts("findings", "what was wrong; empty: nothing"),
    boolean("reloaded", "memory was dropped and reloaded from the database"),
    list("damaged", "DamagedRow", "rows that cannot be read"),
};
constexpr Field kProbe[] = {
    text("status", "ok, or what is missing"),
    optional(text("role", "/readyz with a token: leader or standby")),
    optional(nullable(text("leader_id", "likewise: id of the leader; null: nobody leads"))),
    optional(nullable(text("leader_url", "likewise: where the leader is reached"))),
    optional(nullable(time("leader_since", "likewise: when its term began"))),
    optional(integer("term", "likewise: term of the leadership it knows of")),
};

constexpr Field kControllerList[] = {list("controllers", "Controller", "by id")};

constexpr Field kStatus[] = {
    time("now", "time of the controller"),
    text("id", "id of this controller"),
    text("version", "version of the program"),
    boolean("leader", "whether this controller is the leader"),
    integer("term", "term of the leadership it knows of"),
    text("role", "of the controller that answers: leader or standby"),
    nullable(text("leader_id", "id of the leader; null: nobody leads")),
    nullable(text("leader_url", "where the leader is reached")),
    nullable(time("leader_since", "when its term began")),
    integer("uptime_seconds", "uptime of this controller"),
    boolean("brake_engaged", "reclaiming tasks because of silence is on hold"),
    boolean("tls", "whether this controller serves HTTPS"),
    nullable(time("certificate_expires_at", "null: without TLS")),
    count_map("workers", "number of workers by state"),
    integer("workers_active", "IDLE and RUNNING"),
    integer("workers_offline", "OFFLINE"),
    integer("workers_registering", "REGISTERING"),
    count_map("tasks", "number of tasks of all runs ever, by state"),
    integer("requeued_last_hour", "tasks reclaimed from lost workers"),
    integer("dead_letters", "number of open dead letters"),
    list("queues", "Queue", "empty if this controller is not the leader"),
    list("standstills", "Standstill",
         "ready tasks that no worker will run until somebody acts; empty if this controller is "
         "not the leader"),
};

constexpr Field kTiming[] = {
    text("evidence", "kind of evidence"),
    text("what", "what happened"),
    text("formula", "how the time is computed, in terms of settings"),
    integer("worst_ms", "time until the task runs again on another worker with a free slot"),
};
constexpr Field kTimings[] = {
    list("timings", "Timing", "one entry per kind of evidence"),
    text("note", "what the times do not include"),
};

constexpr Field kSetting[] = {
    text("key", "section.key"),
    text("value", "current value"),
    text("unit", "empty: none"),
    text("origin", "where the value comes from"),
};
constexpr Field kSettings[] = {
    list("settings", "Setting", "in the order of the documentation"),
    texts("notices", "values that were adjusted"),
};

constexpr Field kEvent[] = {
    text("ts", "time of the event"),
    one_of("level", words_of<Severity>(), "severity"),
    nullable(text("worker_id", "worker concerned")),
    text("event", "kind of event"),
    nullable(text("task_id", "task concerned")),
    optional(text("task", "name of the task in the DAG; absent without a task_id")),
    any("data", "details, depending on the kind of event"),
    integer("seq", "grows by one with every event"),
    nullable(text("run_id", "run concerned")),
};
constexpr Field kEventPage[] = {
    list("events", "Event", "oldest first"),
    integer("next_after", "pass it as after to continue"),
    integer("last_seq", "sequence number of the newest event"),
};

constexpr Field kTokenList[] = {list("tokens", "Token", "by name")};
constexpr Field kNewToken[] = {text("secret", "shown only once; only its hash is stored")};
constexpr Field kTokenRequest[] = {
    text("name", "1 to 100 characters"),
    one_of("role", words_of<Role>(), "what it may do"),
    optional(texts("workers",
                   "for the role worker: ids it may act for, exact or ending with *; absent: any")),
};

constexpr Field kSession[] = {
    boolean("required", "whether this controller asks for tokens"),
    boolean("admitted", "whether the request came with a valid token or session"),
    nullable(text("name", "name of its token")),
    nullable(text("role", "what it may do; null: nothing")),
    nullable(time("expires_at", "when the session ends; null: not a session")),
};
constexpr Field kSessionRequest[] = {
    text("token", "a token, or the pass of a login link"),
};
constexpr Field kLoginPass[] = {
    text("pass", "log in once with the address /#login=<pass>; empty: no tokens are needed"),
    time("expires_at", "when it ends"),
};

constexpr Field kAuditPage[] = {
    list("entries", "AuditEntry", "newest first; with after, oldest first"),
    kNextCursor,
};

constexpr Field kWebhookList[] = {list("webhooks", "Webhook", "by name")};
constexpr Field kNewWebhook[] = {
    text("secret", "signs every message (Standard Webhooks); shown only once")};
constexpr Field kWebhookRequest[] = {
    text("name", "1 to 100 characters"),
    text("url", "http:// or https://"),
    optional(texts("kinds", "kinds of events; defaults to run_complete, the end of every run")),
    optional(text("dag", "only events of runs of this DAG")),
    optional(integer("after", "start after this event, if it is still kept; defaults to now")),
};

constexpr Field kSecretList[] = {list("secrets", "Secret", "by name")};
constexpr Field kSecretVersionList[] = {list("versions", "SecretVersion", "oldest first")};
constexpr Field kSecretValue[] = {
    optional(text("value", "the value as text, up to 64 KiB; or value_base64")),
    optional(text("value_base64", "the value in base64, for bytes that are not text")),
};
constexpr Field kSecretScope[] = {
    optional(text("dag", "only for tasks of this DAG; empty: of any; absent: as it is")),
    optional(text("queue", "only for tasks of this queue; empty: of any; absent: as it is")),
    optional(
        text_map("labels", "only for tasks that require these of their worker; absent: as it is")),
};
constexpr Field kMasterKey[] = {
    boolean("configured", "whether there is a master key"),
    nullable(text("key_id", "tells keys apart; null: there is none")),
    integer("versions", "number of sealed versions of secrets"),
    integer("other_keys", "number of master keys that sealed something and are not configured"),
    integer("plain_webhooks", "number of webhooks whose secret is not sealed"),
};
constexpr Field kMasterKeyRequest[] = {
    optional(text("key", "the new key; absent: read the configured one again")),
};
constexpr Field kMasterKeyReport[] = {
    text("key_id", "id of the key that seals now"),
    integer("versions", "number of versions of secrets that were wrapped again"),
    integer("webhooks", "number of webhooks whose secret was sealed or wrapped again"),
};

constexpr Field kProblemError[] = {
    text("pointer", "JSON pointer to the value; empty: the whole body"),
    text("message", "what is wrong with it"),
    optional(text("help", "what to do")),
    optional(integer("line", "line of the body, starting at 1")),
    optional(integer("column", "in bytes, starting at 1")),
};
constexpr Field kProblem[] = {
    text("type", "urn:vortex:error: and the code"),
    text("title", "title of the code"),
    integer("status", "status of the response"),
    text("detail", "description of this occurrence"),
    text("code", "VX-AREA-NNN"),
    text("hint", "what to do"),
    text("request_id", "also in the controller's log"),
    optional(texts("near", "for 404: existing names, the likely one or the newest few")),
    optional(list("errors", "ProblemError", "invalid values of the body")),
    optional(text("why", "for register and sync: unknown_worker, stale_incarnation, ...")),
    optional(integer("current", "for register and sync: the registered incarnation")),
    optional(integer("retry_after_ms", "like the header Retry-After, in milliseconds")),
    optional(text("needed_role", "the role that is required")),
};

}  // namespace

std::span<const Schema> system_schemas() {
  static const Schema schemas[] = {
      {"Health", "The health of a controller.", kHealth},
      {"DamagedRow", "A row of the database that cannot be read.", kDamagedRow},
      {"ReconcileReport", "The result of a check of the whole state.", kReconcile},
      {"Probe", "A short response for probes.", kProbe},
      {"Controller", "A controller that was there lately.", fields::controller()},
      {"ControllerList", "All controllers of the database.", kControllerList},
      {"Status", "The whole system on one screen.", kStatus},
      {"Timing", "The worst case for one kind of evidence.", kTiming},
      {"Timings", "How long recovery can take with the current settings.", kTimings},
      {"Setting", "The current value of a setting.", kSetting},
      {"Settings", "The current values of all settings.", kSettings},
      {"Event", "One line of the monitor log.", kEvent},
      {"EventPage", "Events in order.", kEventPage},
      {"Token", "A token, without its secret.", fields::token()},
      {"TokenList", "All tokens.", kTokenList},
      {"NewToken", "A new token.", kNewToken, "Token"},
      {"TokenRequest", "A token to create.", kTokenRequest},
      {"Session", "Who a request comes from.", kSession},
      {"SessionRequest", "A browser that logs in.", kSessionRequest},
      {"LoginPass", "What a login link is made of.", kLoginPass},
      {"Webhook", "A webhook, without its secret.", fields::webhook()},
      {"WebhookList", "All webhooks.", kWebhookList},
      {"NewWebhook", "A new webhook.", kNewWebhook, "Webhook"},
      {"WebhookRequest", "A webhook to create.", kWebhookRequest},
      {"AuditEntry", "An entry of the audit log.", fields::audit_entry()},
      {"AuditPage", "Entries of the audit log.", kAuditPage},
      {"Secret", "A secret and what may use it, without its value.", fields::secret()},
      {"SecretList", "All secrets.", kSecretList},
      {"SecretVersion", "A version of a secret, without its value.", fields::secret_version()},
      {"SecretVersionList", "All versions of a secret.", kSecretVersionList},
      {"SecretValue", "A new value of a secret.", kSecretValue},
      {"SecretRequest", "A secret to create or change.", kSecretScope, "SecretValue"},
      {"MasterKey", "What is sealed with which master key.", kMasterKey},
      {"MasterKeyRequest", "Another master key.", kMasterKeyRequest},
      {"MasterKeyReport", "What was sealed with another master key.", kMasterKeyReport},
      {"Delivery", "The result of one delivery to a receiver.", fields::delivery()},
      {"ProblemError", "An invalid value.", kProblemError},
      {"Problem", "An error (RFC 9457).", kProblem},
      {"OpenApi", "This description.", {}, {}, true},
  };
  return schemas;
}

}  // namespace vortex::api
