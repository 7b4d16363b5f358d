// vortex health: asks one controller how it is.
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/api_client.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

ExitCode show(const Context& context, const boost::json::value& health) {
  const boost::json::object none;
  const auto& o = health.is_object() ? health.get_object() : none;
  const bool good = text_at(o, "status") == "healthy";
  Record record;
  record.add("controller", text_at(o, "id")).add("version", text_at(o, "version"));
  record.add("status", text_at(o, "status"), good ? Tone::kGood : Tone::kBad);
  record.add("leads", flag_at(o, "leader") ? "yes" : "no");
  record.add("up", human_duration(seconds(number_at(o, "uptime_seconds"))));
  record.add("workers", text_at(o, "live_workers"));
  record.add("leases", text_at(o, "active_leases"));
  if (flag_at(o, "brake_engaged")) record.add("brake", "engaged", Tone::kWarn);
  const std::string detail = text_at(o, "detail");
  if (!detail.empty()) record.add("detail", detail, Tone::kWarn);
  const Look look = look_at(context, STDOUT_FILENO);
  show_one(context, health, {text_at(o, "id"), record.text(look)});
  return good ? ExitCode::kOk : ExitCode::kFailed;
}

ExitCode health(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  ApiRequest request;
  request.target = "/health";
  request.repeat = Repeat::kNever;
  const auto answer = (*api)->call(std::move(request));
  if (answer) return show(context, answer->json);
  boost::system::error_code ec;
  const auto body = boost::json::parse(answer.error().body, ec);
  const bool unwell = answer.error().status == 503 && !ec && body.is_object();
  return unwell ? show(context, body) : report(answer.error());
}

}  // namespace

void add_health(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("health", "Ask a controller how it is; exit 0 healthy, 1 not, 5 unreachable")
          .group(kOperate);
  command.example("vortex health -o json");
  command.on_chosen(chosen, health);
}

}  // namespace vortex::cli
