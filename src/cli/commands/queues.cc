// vortex queues: how much waits where, and holding a queue back.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

constexpr ListColumn kQueueColumns[] = {
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
                          kQueueColumns};

ExitCode act_on_queues(const Context& context, const char* verb, const Texts& names) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const bool pause = std::string_view(verb) == "pause";
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
