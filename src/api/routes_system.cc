// Routes of the system as a whole: health, metrics, status, settings, events, tokens, webhooks.
#include <vector>

#include "api/handlers.h"
#include "api/route_rows.h"
#include "api/routes.h"

namespace vortex::api {

namespace {

using namespace rows;

constexpr QueryParam kEvents[] = {
    {"after", Type::kInteger, "only events after this sequence number"},
    {"kind", Type::kText, "only events of these kinds, separated by commas"},
    {"run", Type::kText, "only events of this run"},
    {"worker", Type::kText, "only events of this worker"},
    {"follow", Type::kBoolean, "stream the events, as with Accept: text/event-stream"},
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
    open(get("/health", "get_health", "Check the health of this controller; 503 if it is unhealthy",
             "Health", get_health)),
    open(get("/livez", "get_livez", "Check that the process answers", "Probe", get_livez)),
    open(get("/readyz", "get_readyz", "Check that it can serve requests; 503 if not", "Probe",
             get_readyz)),
    text(get("/metrics", "get_metrics", "Get metrics in the Prometheus text format", {},
             get_metrics)),
    get("/api/status", "get_status", "Show the whole system on one screen", "Status", get_status),
    post("/api/reconcile", Need::kOperator, "reconcile",
         "Check the whole state now, against itself and the database, and report what was found "
         "and done",
         "ReconcileReport", reconcile),
    get("/api/timings", "get_timings",
        "Show the worst-case recovery times with the current settings", "Timings", get_timings),
    get("/api/settings", "get_settings", "Show the current settings and where they come from",
        "Settings", get_settings),
    get("/api/openapi.json", "get_openapi", "Get this description", "OpenApi", get_openapi),
    with(get("/api/events", "get_events",
             "Read the monitor log: a page, or with Accept: text/event-stream a live stream (id = "
             "sequence, Last-Event-ID resumes)",
             "EventPage", get_events),
         kEvents),
    admin(get("/api/tokens", "list_tokens", "List tokens, without their secrets", "TokenList",
              list_tokens)),
    taking(post("/api/tokens", Need::kAdmin, "create_token",
                "Create a token; its secret is shown only once", "NewToken", create_token),
           "TokenRequest", 201),
    nothing(as(post("/api/tokens/{name}", Need::kAdmin, "revoke_token", "Revoke a token", {},
                    revoke_token),
               net::Method::kDelete)),
    admin(get("/api/webhooks", "list_webhooks", "List webhooks, without their secrets",
              "WebhookList", list_webhooks)),
    taking(
        post("/api/webhooks", Need::kAdmin, "create_webhook",
             "Create a webhook that sends events to a URL; its signing secret is shown only once",
             "NewWebhook", create_webhook),
        "WebhookRequest", 201),
    admin(get("/api/webhooks/{name}", "get_webhook", "Show a webhook and its progress", "Webhook",
              get_webhook)),
    post("/api/webhooks/{name}/test", Need::kAdmin, "test_webhook",
         "Send one vortex.test event to the receiver now", "Delivery", try_webhook),
    nothing(as(post("/api/webhooks/{name}", Need::kAdmin, "delete_webhook", "Delete a webhook", {},
                    delete_webhook),
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
