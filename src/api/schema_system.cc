// Schemas of the system as a whole: health, status, timings, settings, events, tokens, webhooks,
// problems.
#include "api/schema.h"

namespace vortex::api {

namespace {

constexpr std::string_view kHealthNames[] = {"healthy", "unhealthy"};
constexpr std::string_view kLevelNames[] = {"INFO", "WARN", "ERROR"};

constexpr Field kHealth[] = {
    one_of("status", kHealthNames, "unhealthy is answered with 503"),
    text("id", "of this controller"),
    text("agent_id", "the same as id"),
    integer("uptime_seconds", "of this controller"),
    integer("active_leases", "partition leases held now"),
    integer("live_workers", "workers that are present"),
    boolean("last_heartbeat_success", "its own lease on leadership, or its reads, work"),
    nullable(time("last_commit", "null: none yet")),
    boolean("store_connected", "the store answers"),
    boolean("metadata_store_connected", "the same as store_connected"),
    boolean("leader", "it is the one that decides"),
    integer("term", "of the leadership it knows"),
    boolean("brake_engaged", "reclaiming by silence is held back"),
    integer("inbox", "commands that wait"),
    text("version", "of the program"),
    nullable(text("detail", "what is wrong; only for callers with a role")),
    list("damaged", "DamagedRow",
         "rows that cannot be read; what depends on them is set aside; only for callers with a "
         "role"),
};
constexpr Field kDamagedRow[] = {
    text("table", "that it is in"),
    text("row", "its id"),
    text("column", "with the bad value; empty: the row as a whole"),
    text("what", "is wrong with it"),
    nullable(text("run", "that is set aside because of it")),
};
constexpr Field kReconcile[] = {
    integer("runs", "live runs that were checked"),
    integer("tasks", "tasks of these runs"),
    integer("took_us", "time spent on it, in all slices together"),
    integer("longest_slice_us", "the longest slice"),
    texts("findings", "what was wrong; empty: nothing"),
    boolean("reloaded", "memory was dropped and is loaded again from the database"),
    list("damaged", "DamagedRow", "rows that cannot be read"),
};
constexpr Field kProbe[] = {text("status", "ok, or what is missing")};

constexpr Field kStatus[] = {
    time("now", "the controller's clock"),
    text("id", "of this controller"),
    text("version", "of the program"),
    boolean("leader", "it is the one that decides"),
    integer("term", "of the leadership it knows"),
    integer("uptime_seconds", "of this controller"),
    boolean("brake_engaged", "reclaiming by silence is held back"),
    count_map("workers", "by state"),
    integer("workers_active", "IDLE and RUNNING"),
    integer("workers_offline", "OFFLINE"),
    integer("workers_registering", "REGISTERING"),
    count_map("tasks", "of all runs there ever were, by state"),
    integer("requeued_last_hour", "tasks taken back from lost workers"),
    integer("dead_letters", "open ones"),
    list("queues", "Queue", "empty when this controller does not lead"),
};

constexpr Field kTiming[] = {
    text("evidence", "what the controller goes by"),
    text("what", "what has happened"),
    text("formula", "how the time comes about, in the names of settings"),
    integer("worst_ms", "until the task runs again on another worker with a free slot"),
};
constexpr Field kTimings[] = {
    list("timings", "Timing", "per kind of evidence"),
    text("note", "what the times leave out"),
};

constexpr Field kSetting[] = {
    text("key", "section.key"),
    text("value", "in force"),
    text("unit", "empty: none"),
    text("origin", "where the value comes from"),
};
constexpr Field kSettings[] = {
    list("settings", "Setting", "in the order of the documentation"),
    texts("notices", "values that were adapted"),
};

constexpr Field kEvent[] = {
    text("ts", "when"),
    one_of("level", kLevelNames, "how bad"),
    nullable(text("worker_id", "concerned")),
    text("event", "what happened"),
    nullable(text("task_id", "concerned")),
    optional(text("task", "its name in the DAG; absent where there is no task_id")),
    any("data", "facts, by kind of event"),
    integer("seq", "grows by one with every event"),
    nullable(text("run_id", "concerned")),
};
constexpr Field kEventPage[] = {
    list("events", "Event", "oldest first"),
    integer("next_after", "give it as after to read on"),
    integer("last_seq", "the newest event there is"),
};

constexpr Field kToken[] = {
    text("name", "for people"),
    one_of("role", kRoleNames, "what it may do"),
    time("created_at", "when"),
    boolean("revoked", "it opens nothing any more"),
};
constexpr Field kTokenList[] = {list("tokens", "Token", "by name")};
constexpr Field kNewToken[] = {text("secret", "shown this once; only its hash is kept")};
constexpr Field kTokenRequest[] = {
    text("name", "1 to 100 characters"),
    one_of("role", kRoleNames, "what it may do"),
};

constexpr Field kWebhook[] = {
    text("name", "for people"),
    text("url", "what is called"),
    texts("kinds", "of events that are told"),
    nullable(text("dag", "only events of runs of this DAG; null: of all")),
    time("created_at", "when"),
    integer("after", "every event up to this one was told, or was not wanted"),
    integer("delivered", "events that the receiver took"),
    integer("given_up", "events that it refused again and again"),
    integer("missed", "events of any kind that were no longer kept when their turn came"),
    nullable(time("delivered_at", "the last time that it took one")),
    nullable(text("trouble", "why the last try failed; null: it did not")),
};
constexpr Field kWebhookList[] = {list("webhooks", "Webhook", "by name")};
constexpr Field kNewWebhook[] = {
    text("secret", "signs every message (Standard Webhooks); shown this once")};
constexpr Field kWebhookRequest[] = {
    text("name", "1 to 100 characters"),
    text("url", "http:// or https://"),
    optional(texts("kinds", "of events; left out: run_complete, the end of every run")),
    optional(text("dag", "only events of runs of this DAG")),
    optional(integer("after", "begin after this event, as far as it is kept; left out: now")),
};
constexpr Field kDelivery[] = {
    boolean("taken", "it answered 2xx"),
    nullable(integer("status", "of its answer; null: it did not answer")),
    nullable(text("trouble", "why it was not taken")),
    integer("took_ms", "until it answered"),
};

constexpr Field kProblemError[] = {
    text("pointer", "JSON pointer to the value; empty: the whole body"),
    text("message", "what is wrong with it"),
    optional(text("help", "what to do")),
    optional(integer("line", "of the body, from 1")),
    optional(integer("column", "in bytes, from 1")),
};
constexpr Field kProblem[] = {
    text("type", "urn:vortex:error: and the code"),
    text("title", "of the code"),
    integer("status", "of the answer"),
    text("detail", "of this occurrence"),
    text("code", "VX-AREA-NNN"),
    text("hint", "what to do"),
    text("request_id", "to be found in the controller's log"),
    optional(list("errors", "ProblemError", "values of the body that are wrong")),
    optional(text("why", "of register and sync: unknown_worker, stale_incarnation, ...")),
    optional(integer("current", "of register and sync: the incarnation that is registered")),
    optional(integer("retry_after_ms", "as the header Retry-After, in milliseconds")),
    optional(text("needed_role", "the role that would do")),
};

constexpr Schema kSchemas[] = {
    {"Health", "Is this controller well?", kHealth},
    {"DamagedRow", "A row of the database that cannot be read.", kDamagedRow},
    {"ReconcileReport", "What a check of the whole state found and did.", kReconcile},
    {"Probe", "The short answer for probes.", kProbe},
    {"Status", "The system in one screen.", kStatus},
    {"Timing", "The worst case for one kind of evidence.", kTiming},
    {"Timings", "How long recovery can take with the settings in force.", kTimings},
    {"Setting", "One setting in force.", kSetting},
    {"Settings", "All settings in force.", kSettings},
    {"Event", "One line of the monitor log.", kEvent},
    {"EventPage", "Events in order.", kEventPage},
    {"Token", "A token, without its secret.", kToken},
    {"TokenList", "All tokens.", kTokenList},
    {"NewToken", "A token that was just made.", kNewToken, "Token"},
    {"TokenRequest", "A token to be made.", kTokenRequest},
    {"Webhook", "An address that events are told to, without its secret.", kWebhook},
    {"WebhookList", "All webhooks.", kWebhookList},
    {"NewWebhook", "A webhook that was just made.", kNewWebhook, "Webhook"},
    {"WebhookRequest", "A webhook to be made.", kWebhookRequest},
    {"Delivery", "What came of one try to tell a receiver something.", kDelivery},
    {"ProblemError", "One wrong value.", kProblemError},
    {"Problem", "What went wrong (RFC 9457).", kProblem},
    {"OpenApi", "This description.", {}, {}, true},
};

}  // namespace

std::span<const Schema> system_schemas() { return kSchemas; }

}  // namespace vortex::api
