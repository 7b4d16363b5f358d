// vortex queues: how much waits where, and holding a queue back.
#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/near_name.h"
#include "cli/act.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

constexpr ListColumn kColumns[] = {
    {"QUEUE", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"STATE",
     [](const object& o, const Look& l) {
       const char* state = flag_at(o, "paused") ? "paused" : "active";
       return Cell{state_text(state, l), tone_of_state(state)};
     }},
    {"READY", [](const object& o, const Look&) { return plain_cell(o, "ready"); }, Align::kRight},
    {"HELD", [](const object& o, const Look&) { return plain_cell(o, "held"); }, Align::kRight},
    {"WORKERS", [](const object& o, const Look&) { return plain_cell(o, "workers"); },
     Align::kRight},
    {"OLDEST", [](const object& o, const Look& l) { return time_cell(o, "oldest_ready", l); }},
};
constexpr Listing kQueues{"queues", "queues", [](const object& o) { return text_at(o, "name"); },
                          kColumns};

// Queues that have work or a worker, or once had one: pausing another one is a typing mistake.
std::expected<std::vector<std::string>, ExitCode> known_queues(ApiClient& api) {
  const auto queues = api.get("/api/queues");
  if (!queues) return std::unexpected(report(queues.error()));
  const auto workers = api.get("/api/workers?limit=10000");
  if (!workers) return std::unexpected(report(workers.error()));
  std::vector<std::string> names{"default"};
  for (const auto& queue : list_at(queues->object(), "queues")) {
    if (queue.is_object()) names.push_back(text_at(queue.get_object(), "name"));
  }
  for (const auto& worker : list_at(workers->object(), "workers")) {
    if (!worker.is_object()) continue;
    for (const auto& name : list_at(worker.get_object(), "queues")) {
      if (name.is_string()) names.emplace_back(name.get_string());
    }
  }
  return names;
}

std::optional<ExitCode> complain_of_unknown(ApiClient& api, const Texts& wanted) {
  const auto known = known_queues(api);
  if (!known) return known.error();
  const std::vector<std::string_view> names(known->begin(), known->end());
  for (const std::string& name : wanted) {
    if (std::ranges::find(*known, name) != known->end()) continue;
    const std::string_view near = nearest_name(name, names);
    complain(fmt::format("no such queue: '{}' (no worker has ever listened to it)", name),
             near.empty()
                 ? "`vortex queues list` shows them"
                 : fmt::format("did you mean '{}'? `vortex queues list` shows them", near));
    return ExitCode::kNotFound;
  }
  return std::nullopt;
}

ExitCode act_on_queues(const Context& context, const char* verb, const Texts& names) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const bool pause = std::string_view(verb) == "pause";
  if (pause) {
    if (const auto unknown = complain_of_unknown(**api, names)) return *unknown;
  }
  std::vector<Act> acts;
  for (const std::string& name : names) {
    acts.push_back({post_request(fmt::format("/api/queues/{}/{}", escaped(name), verb)), name,
                    fmt::format("Queue {} {}", name, pause ? "paused" : "resumed")});
  }
  return act_on_all(context, **api, std::move(acts));
}

}  // namespace

void add_queues(CommandSpec app, Command& chosen) {
  CommandSpec queues = app.command("queues", "Manage queues").group(kAct);
  queues.needs_command();
  queues.example("vortex queues list");
  CommandSpec all = queues.command("list", "List queues and their depth");
  all.example("vortex queues list -o json");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kQueues, "/api/queues"); });
  auto names = std::make_shared<Texts>();
  for (const char* verb : {"pause", "resume"}) {
    const bool pause = std::string_view(verb) == "pause";
    CommandSpec command =
        queues.command(verb, pause ? "Pause queues: start no more tasks; running ones continue"
                                   : "Resume paused queues");
    command.option("queue", *names, "Queue names").required();
    command.example(fmt::format("vortex queues {} default", verb));
    command.on_chosen(chosen, [names, verb](Context& c) { return act_on_queues(c, verb, *names); });
  }
}

}  // namespace vortex::cli
