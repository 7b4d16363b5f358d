#include "cli/commands/status.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/life.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

// "3 IDLE, 1 OFFLINE"; what is zero is left out.
std::string counts_text(const object& counts, const Look& look) {
  std::vector<std::string> parts;
  for (const auto& member : counts) {
    const std::string state(member.key());
    const std::int64_t count = number_at(counts, state);
    if (count == 0) continue;
    parts.push_back(paint(fmt::format("{} {}", count, state), tone_of_state(state), look));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

constexpr Duration kExpiresSoon = hours(24 * 14);

// "off", or when the certificate ends.
std::string tls_text(const object& o, const Look& look) {
  const auto until = time_at(o, "certificate_expires_at");
  if (!flag_at(o, "tls") || !until) return "off (plain HTTP)";
  const Duration left = *until - look.now;
  const std::string text =
      left > Duration{} ? fmt::format("on, the certificate expires in {}", human_duration(left))
                        : std::string("on, the certificate has expired");
  return left < kExpiresSoon ? paint(text, Tone::kWarn, look) : text;
}

// Who leads, where, and since when.
std::string leader_text(const object& o, const Look& look) {
  const std::string id = text_at(o, "leader_id");
  if (id.empty()) return paint("nobody", Tone::kWarn, look);
  return fmt::format("{} at {}, term {} (began {})", id, text_at(o, "leader_url"),
                     number_at(o, "term"), time_cell(o, "leader_since", look).text);
}

}  // namespace

std::string status_text(const object& status, const Look& look) {
  const bool leads = flag_at(status, "leader");
  const bool brake = flag_at(status, "brake_engaged");
  const std::int64_t dead = number_at(status, "dead_letters");
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{}  {}\n", paint(fmt::format("{:<12}", name), Tone::kDim, look), value);
  };
  line("controller", fmt::format("{} ({}), version {}, up {}", text_at(status, "id"),
                                 leads ? "leader" : "standby", text_at(status, "version"),
                                 human_duration(seconds(number_at(status, "uptime_seconds")))));
  line("leader", leader_text(status, look));
  line("tls", tls_text(status, look));
  line("workers", counts_text(object_at(status, "workers"), look));
  line("tasks", counts_text(object_at(status, "tasks"), look));
  line("requeued", fmt::format("{} in the last hour", number_at(status, "requeued_last_hour")));
  line("dead letters",
       dead == 0 ? "none" : paint(fmt::format("{} open: vortex dlq list", dead), Tone::kBad, look));
  if (brake) {
    line("brake",
         paint("engaged: silence alone does not reclaim tasks right now", Tone::kWarn, look));
  }
  return out;
}

std::string queues_text(const object& status, const Look& look) {
  const auto& queues = list_at(status, "queues");
  if (queues.empty()) return {};
  Table table({{"QUEUE", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"READY", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"HELD", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"WORKERS", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"OLDEST", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"STATE", Align::kLeft, Shown::kAlways, Shrinks::kNever}});
  for (const auto& item : queues) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    const char* state = flag_at(o, "paused") ? "paused" : "active";
    table.add({plain_cell(o, "name"),
               plain_cell(o, "ready"),
               plain_cell(o, "held"),
               plain_cell(o, "workers"),
               time_cell(o, "oldest_ready", look),
               {state_text(state, look), tone_of_state(state)}});
  }
  return table.text(look);
}

// vortex status, vortex timings: the system in one screen, and how long recovery can take.

namespace {

ExitCode status(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto answer = (*api)->get("/api/status");
  if (!answer) return report(answer.error());
  Look look = look_at(context, STDOUT_FILENO);
  // Times are those of the controller: so is "now".
  look.now = time_at(answer->object(), "now").value_or(look.now);
  std::string text = status_text(answer->object(), look);
  const std::string queues = queues_text(answer->object(), look);
  if (!queues.empty()) text += "\n" + queues;
  const std::string stuck = standstills_text(list_at(answer->object(), "standstills"));
  if (!stuck.empty()) text += "\n" + paint("NOT MOVING", Tone::kWarn, look) + "\n" + stuck + "\n";
  return show_one(context, answer->json, {text_at(answer->object(), "id"), text});
}

constexpr ListColumn kTimingColumns[] = {
    {"EVIDENCE", [](const object& o, const Look&) { return plain_cell(o, "evidence"); }},
    {"AT WORST",
     [](const object& o, const Look&) {
       const std::int64_t worst = number_at(o, "worst_ms");
       return Cell{worst == 0 ? "immediate" : human_duration(millis(worst)), Tone::kStrong};
     },
     Align::kRight},
    {"WHAT HAPPENED", [](const object& o, const Look&) { return plain_cell(o, "what"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"HOW IT COMES ABOUT", [](const object& o, const Look&) { return plain_cell(o, "formula"); },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
};
constexpr Listing kTimings{"timings", "timings",
                           [](const object& o) { return text_at(o, "evidence"); }, kTimingColumns};

ExitCode timings(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto answer = (*api)->get("/api/timings");
  if (!answer) return report(answer.error());
  const Fetched all{list_at(answer->object(), "timings"), false};
  const ExitCode code = show_list(context, kTimings, all);
  const std::string note = text_at(answer->object(), "note");
  if (!context.quiet && !wants_json(context) && !note.empty()) talk("note: " + note);
  return code;
}

}  // namespace

void add_status(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("status", "Show the whole system on one screen").group(kLook);
  command.example("vortex status");
  command.on_chosen(chosen, status);
}

void add_timings(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("timings", "Show the worst-case recovery time for each kind of evidence")
          .group(kLook);
  command.example("vortex timings -o wide");
  command.on_chosen(chosen, timings);
}

// vortex health: asks every controller that --server names how it is.

namespace {

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
  record.add("role", flag_at(o, "leader") ? "leader" : "standby");
  if (o.contains("leader_id")) record.add("leader", leader_text(o, look));
  record.add("up", human_duration(seconds(number_at(o, "uptime_seconds"))));
  record.add("workers", text_at(o, "live_workers"));
  record.add("leases", text_at(o, "active_leases"));
  if (o.contains("tls")) record.add("tls", tls_text(o, look));
  if (flag_at(o, "brake_engaged")) record.add("brake", "engaged", Tone::kWarn);
  const std::string detail = text_at(o, "detail");
  if (!detail.empty()) record.add("detail", detail, Tone::kWarn);
  return record.text(look);
}

Answered ask(const Context& context, const net::ClientConfig& controller) {
  ApiConfig config;
  config.servers = {controller.endpoint};
  config.token = controller.token;
  config.trust = controller.trust;
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
