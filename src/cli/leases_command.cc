// vortex leases: partitions that programs share among themselves.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/act.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/lease_hold.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

const char* state_of(const object& lease) {
  if (flag_at(lease, "live")) return "held";
  return text_at(lease, "agent").empty() ? "free" : "expired";
}

Cell state_of_lease(const object& lease, const Look& look) {
  return {state_text(state_of(lease), look), tone_of_state(state_of(lease))};
}

std::string name_of(const object& lease) {
  return fmt::format("{}/{}", text_at(lease, "topic"), number_at(lease, "partition"));
}

constexpr ListColumn kColumns[] = {
    {"TOPIC", [](const object& o, const Look&) { return plain_cell(o, "topic"); }},
    {"PARTITION", [](const object& o, const Look&) { return plain_cell(o, "partition"); },
     Align::kRight},
    {"STATE", state_of_lease},
    {"AGENT", [](const object& o, const Look&) { return plain_cell(o, "agent"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"EPOCH", [](const object& o, const Look&) { return plain_cell(o, "epoch"); }, Align::kRight},
    {"EXPIRES", [](const object& o, const Look& l) { return time_cell(o, "expires_at", l); }},
};
constexpr Listing kLeases{"leases", "leases", name_of, kColumns};

struct Lease {
  std::string topic;
  std::uint32_t partition = 0;
  std::string agent;
  std::uint64_t epoch = 0;
};

std::string path_of(const Lease& lease) {
  return fmt::format("/api/leases/{}/{}", escaped(lease.topic), lease.partition);
}

std::string record_of(const object& o, const Look& look) {
  Record record;
  const Cell state = state_of_lease(o, look);
  record.add("lease", name_of(o)).add("state", state.text, state.tone);
  record.add("agent", text_at(o, "agent")).add("epoch", text_at(o, "epoch"));
  record.add("expires", time_cell(o, "expires_at", look).text);
  if (o.contains("renew_at")) record.add("renew", time_cell(o, "renew_at", look).text);
  return record.text(look);
}

ExitCode show_answer(const Context& context, const ApiResult& answer) {
  if (!answer) return report(answer.error());
  const object& o = answer->object();
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, answer->json, {name_of(o), record_of(o, look)});
}

ExitCode show(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  return show_answer(context, (*api)->get(path_of(lease)));
}

ExitCode acquire(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}};
  return show_answer(context, (*api)->post(path_of(lease) + "/acquire", compact_json(body)));
}

ExitCode renew(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  return show_answer(context, (*api)->post(path_of(lease) + "/renew", compact_json(body)));
}

// May the holder still act? The fence, for scripts that are not run by `hold`.
ExitCode check(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  return show_answer(context, (*api)->post(path_of(lease) + "/check", compact_json(body)));
}

ExitCode release(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  const std::string name = fmt::format("{}/{}", lease.topic, lease.partition);
  return act(context, **api,
             {post_request(path_of(lease) + "/release", compact_json(body)), name,
              fmt::format("Lease {} released", name)});
}

enum class Needs { kNothing, kAgent, kEpoch };
using LeaseCommand = ExitCode (*)(const Context&, const Lease&);

struct Verb {
  const char* name;
  const char* help;
  Needs needs;
  LeaseCommand run;
};

constexpr Verb kVerbs[] = {
    {"show", "Show the lease of a partition", Needs::kNothing, show},
    {"acquire", "Acquire a free or expired lease with a new epoch; exit 6 if it is taken",
     Needs::kAgent, acquire},
    {"renew", "Renew a lease; exit 6 if it was lost", Needs::kEpoch, renew},
    {"check", "Check whether a lease is still held with this epoch; exit 6 if not", Needs::kEpoch,
     check},
    {"release", "Release a lease immediately", Needs::kEpoch, release},
};

void add_verb(CommandSpec leases, Command& chosen, const Verb& verb) {
  auto lease = std::make_shared<Lease>();
  CommandSpec command = leases.command(verb.name, verb.help);
  command.option("topic", lease->topic, "Topic of the lease").required();
  command.option("partition", lease->partition, "Partition of the topic").required();
  std::string shown = fmt::format("vortex leases {} orders 0", verb.name);
  if (verb.needs >= Needs::kAgent) {
    command.option("--agent", lease->agent, "Holder of the lease").required().value_name("ID");
    shown += " --agent a1";
  }
  if (verb.needs == Needs::kEpoch) {
    command.option("--epoch", lease->epoch, "Epoch of the lease").required().value_name("NUMBER");
    shown += " --epoch 7";
  }
  command.example(shown);
  command.on_chosen(chosen, [lease, &verb](Context& c) { return verb.run(c, *lease); });
}

void add_hold(CommandSpec leases, Command& chosen) {
  auto options = std::make_shared<HoldOptions>();
  CommandSpec command =
      leases.command("hold", "Run a command while holding a lease: a distributed lock for scripts");
  command.option("topic", options->topic, "Topic of the lease").required();
  command.option("partition", options->partition, "Partition of the topic").required();
  command.option("command", options->command, "The command and its arguments, after --").required();
  command.option("--agent", options->agent, "Prefix of the holder's name (default: host name)")
      .value_name("NAME");
  command.duration("--wait", options->wait,
                   "Wait this long for the lease, then exit 9 (default: exit 6 if it is taken)");
  command.duration("--grace", options->grace,
                   "Time between TERM and KILL if the lease is lost (default: a tenth of it)");
  command.example(
      "vortex leases hold nightly-backup 0 --wait 10m -- ./backup.sh\n"
      "vortex leases hold orders 3 -- sh -c './consume --fence \"$VORTEX_LEASE_EPOCH\"'");
  command.on_chosen(chosen, [options](Context& c) { return hold_lease(c, *options); });
}

}  // namespace

void add_leases(CommandSpec app, Command& chosen) {
  CommandSpec leases = app.command("leases", "Manage partition leases").group(kAct);
  leases.needs_command();
  leases.example("vortex leases acquire orders 0 --agent a1");
  auto topic = std::make_shared<std::string>();
  auto page = std::make_shared<ListOptions>();
  CommandSpec all = leases.command("list", "List all partition leases");
  all.option("--topic", *topic, "Only partitions of this topic").value_name("NAME");
  add_list_options(all, *page);
  all.example("vortex leases list --topic orders");
  all.on_chosen(chosen, [topic, page](Context& c) {
    return list(c, kLeases, with_query("/api/leases", {{"topic", *topic}}), *page);
  });
  for (const Verb& verb : kVerbs) add_verb(leases, chosen, verb);
  add_hold(leases, chosen);
}

}  // namespace vortex::cli
