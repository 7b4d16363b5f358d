// vortex health: asks every controller that --server names how it is.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/api_client.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

// What one controller said, or why it said nothing.
struct Answered {
  std::string server;
  object health;
  std::optional<Failure> failure;
  ExitCode code = ExitCode::kOk;
};

std::string record_of(const Answered& answered, const Look& look, bool among_others) {
  const object& o = answered.health;
  const bool good = answered.code == ExitCode::kOk;
  Record record;
  if (among_others) record.add("server", answered.server);
  if (answered.failure) {
    record.add("status", "unreachable", Tone::kBad).add("detail", answered.failure->what);
    return record.text(look);
  }
  record.add("controller", text_at(o, "id")).add("version", text_at(o, "version"));
  record.add("status", text_at(o, "status"), good ? Tone::kGood : Tone::kBad);
  record.add("leads", flag_at(o, "leader") ? "yes" : "no");
  record.add("up", human_duration(seconds(number_at(o, "uptime_seconds"))));
  record.add("workers", text_at(o, "live_workers"));
  record.add("leases", text_at(o, "active_leases"));
  if (flag_at(o, "brake_engaged")) record.add("brake", "engaged", Tone::kWarn);
  const std::string detail = text_at(o, "detail");
  if (!detail.empty()) record.add("detail", detail, Tone::kWarn);
  return record.text(look);
}

Answered ask(const Context& context, const net::ClientConfig& controller) {
  ApiConfig config;
  config.servers = {controller.endpoint};
  config.token = controller.token;
  config.limit = context.timeout;
  if (context.verbose) config.trace = [](const std::string& line) { talk(line); };
  ApiClient api(std::move(config));
  Answered answered;
  answered.server = api.server();
  ApiRequest request;
  request.target = "/health";
  request.repeat = Repeat::kNever;
  const auto answer = api.call(std::move(request));
  boost::system::error_code ec;
  boost::json::value body = answer ? answer->json : boost::json::parse(answer.error().body, ec);
  const bool spoke = !ec && body.is_object() && (answer || answer.error().status == 503);
  if (!spoke) {
    answered.failure = answer ? Failure{} : answer.error();
    if (answer) answered.failure->what = answered.server + " answered without a health report";
    answered.code = answered.failure->exit;
    return answered;
  }
  answered.health = std::move(body.get_object());
  const bool good = text_at(answered.health, "status") == "healthy";
  answered.code = good ? ExitCode::kOk : ExitCode::kFailed;
  return answered;
}

ExitCode show_alone(const Context& context, const Answered& answered) {
  if (answered.failure) return report(*answered.failure);
  const Look look = look_at(context, STDOUT_FILENO);
  show_one(context, answered.health,
           {text_at(answered.health, "id"), record_of(answered, look, false)});
  return answered.code;
}

object as_json(const Answered& answered) {
  object out{{"server", answered.server}};
  if (answered.failure) {
    out["status"] = "unreachable";
    out["detail"] = answered.failure->what;
  }
  for (const auto& member : answered.health) out.insert_or_assign(member.key(), member.value());
  return out;
}

// One after the other, each with its address; the exit code is that of the worst.
ExitCode show_all(const Context& context, const std::vector<Answered>& all) {
  const Look look = look_at(context, STDOUT_FILENO);
  boost::json::array list;
  std::string text;
  ExitCode worst = ExitCode::kOk;
  for (const Answered& answered : all) {
    list.push_back(as_json(answered));
    if (!text.empty()) text += "\n";
    text += record_of(answered, look, true);
    worst = std::max(worst, answered.code);
  }
  if (context.output == Output::kJsonl) {
    for (const auto& one : list) print(compact_json(one) + "\n");
  } else if (context.output == Output::kName) {
    for (const Answered& answered : all) print(answered.server + "\n");
  } else if (context.output == Output::kJson) {
    print(pretty_json(object{{"controllers", std::move(list)}}));
  } else {
    print(text);
  }
  return worst;
}

ExitCode health(const Context& context) {
  const auto controllers = controllers_of(context);
  if (!controllers) return controllers.error();
  std::vector<Answered> all;
  for (const net::ClientConfig& controller : *controllers) {
    all.push_back(ask(context, controller));
  }
  return all.size() == 1 ? show_alone(context, all.front()) : show_all(context, all);
}

}  // namespace

void add_health(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command(
             "health",
             "Show the health of each controller; exit 0 if healthy, 1 if not, 5 if unreachable")
          .group(kOperate);
  command.example("vortex health -o json\nvortex health --server http://a:8080,http://b:8080");
  command.on_chosen(chosen, health);
}

}  // namespace vortex::cli
