// Routes of the system as a whole: health, metrics, status, settings, events, tokens, webhooks.
#include <vector>

#include "api/handlers.h"
#include "api/route_rows.h"
#include "api/routes.h"

namespace vortex::api {

namespace {

using namespace rows;

constexpr QueryParam kEvents[] = {
    {"after", Type::kInteger, "only events with a higher sequence"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"run", Type::kText, "only events of this run"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "a stream, as with Accept: text/event-stream"},
    kLimit};

constexpr Route open(Route route) {
  route.need = Need::kAnyone;
  return route;
}

constexpr Route admin(Route route) {
  route.need = Need::kAdmin;
  return route;
}

constexpr Route kRoutes[] = {
    open(get("/health", "get_health", "Is this controller well? 503 when it is not", "Health",
             get_health)),
    open(get("/livez", "get_livez", "The process answers", "Probe", get_livez)),
    open(get("/readyz", "get_readyz", "It can serve; 503 when it cannot", "Probe", get_readyz)),
    text(get("/metrics", "get_metrics", "Metrics in the text format of Prometheus", {},
             get_metrics)),
    get("/api/status", "get_status", "The system in one screen", "Status", get_status),
    post("/api/reconcile", Need::kOperator, "reconcile",
         "Checks the whole state now, with itself and with the database, and says what was found "
         "and done",
         "ReconcileReport", reconcile),
    get("/api/timings", "get_timings",
        "From the settings in force: the worst case until a dead worker's task runs again",
        "Timings", get_timings),
    get("/api/settings", "get_settings", "The settings in force and where they come from",
        "Settings", get_settings),
    get("/api/openapi.json", "get_openapi", "This description", "OpenApi", get_openapi),
    with(get("/api/events", "get_events",
             "The monitor log: a page, or with Accept: text/event-stream a live stream (id = "
             "sequence, Last-Event-ID resumes)",
             "EventPage", get_events),
         kEvents),
    admin(get("/api/tokens", "list_tokens", "All tokens, without their secrets", "TokenList",
              list_tokens)),
    taking(post("/api/tokens", Need::kAdmin, "create_token",
                "Makes a token; its secret is shown this once", "NewToken", create_token),
           "TokenRequest", 201),
    nothing(as(post("/api/tokens/{name}", Need::kAdmin, "revoke_token",
                    "The token opens nothing any more", {}, revoke_token),
               net::Method::kDelete)),
    admin(get("/api/webhooks", "list_webhooks", "All webhooks, without their secrets",
              "WebhookList", list_webhooks)),
    taking(post("/api/webhooks", Need::kAdmin, "create_webhook",
                "Tells events to an address from now on; the secret that signs them is shown this "
                "once",
                "NewWebhook", create_webhook),
           "WebhookRequest", 201),
    admin(get("/api/webhooks/{name}", "get_webhook", "One webhook and how far it has come",
              "Webhook", get_webhook)),
    post("/api/webhooks/{name}/test", Need::kAdmin, "test_webhook",
         "Tells the receiver a vortex.test event, once and now", "Delivery", try_webhook),
    nothing(as(post("/api/webhooks/{name}", Need::kAdmin, "delete_webhook",
                    "Nothing is told there any more", {}, delete_webhook),
               net::Method::kDelete)),
};

}  // namespace

std::span<const Route> system_routes() { return kRoutes; }

std::span<const Route> all_routes() {
  static const std::vector<Route> all_rows = [] {
    std::vector<Route> all;
    for (const auto some : {system_routes(), work_routes(), fleet_routes()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return all_rows;
}

}  // namespace vortex::api
