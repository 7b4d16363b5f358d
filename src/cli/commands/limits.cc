// vortex limits: how many tasks that name a limit run at once, and how many start in a time.

#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "codec/units.h"
#include "model/check.h"

namespace vortex::cli {
namespace {

using boost::json::object;

std::string limit_path(const std::string& name) {
  return fmt::format("/api/limits/{}", escaped(name));
}

Cell slots_cell(const object& limit, const Look& /*look*/) {
  if (!flag_at(limit, "set")) return {"not set", Tone::kBad};
  const std::string slots = text_at(limit, "slots");
  return {slots.empty() ? "-" : slots, Tone::kPlain};
}

constexpr ListColumn kLimitColumns[] = {
    {"LIMIT", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"SLOTS", slots_cell, Align::kRight},
    {"HELD", [](const object& o, const Look&) { return plain_cell(o, "held"); }, Align::kRight},
    {"RATE", [](const object& o, const Look&) { return plain_cell(o, "rate"); }, Align::kRight},
    {"STARTED", [](const object& o, const Look&) { return plain_cell(o, "started_lately"); },
     Align::kRight},
    {"WAITING", [](const object& o, const Look&) { return plain_cell(o, "waiting"); },
     Align::kRight},
    {"SET", [](const object& o, const Look& l) { return time_cell(o, "set_at", l); }},
};
constexpr Listing kLimits{"limits", "limits", [](const object& o) { return text_at(o, "name"); },
                          kLimitColumns};

std::string limit_record(const object& limit, const Look& look) {
  Record record;
  record.add("limit", text_at(limit, "name"));
  const Cell slots = slots_cell(limit, look);
  record.add("slots", slots.text, slots.tone);
  if (const std::string rate = text_at(limit, "rate"); !rate.empty()) {
    record.add("rate", fmt::format("{} ({} started)", rate, text_at(limit, "started_lately")));
  }
  std::string holders;
  for (const auto& id : list_at(limit, "holders")) {
    holders += (holders.empty() ? "" : ", ") + text_of(id);
  }
  record.add("held", holders.empty() ? text_at(limit, "held")
                                     : fmt::format("{} ({})", text_at(limit, "held"), holders));
  record.add("waiting", text_at(limit, "waiting"));
  if (flag_at(limit, "set")) {
    record.add("set", time_cell(limit, "set_at", look).text);
    if (const std::string by = text_at(limit, "set_by"); !by.empty()) record.add("by", by);
  } else {
    record.add("fix", fmt::format("vortex limits set {} --slots 5", text_at(limit, "name")));
  }
  return record.text(look);
}

ExitCode show_limit(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto found = (*api)->get(limit_path(name));
  if (!found) return report(found.error());
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, found->json, {name, limit_record(found->object(), look)});
}

struct LimitOptions {
  std::string name;
  std::uint32_t slots = 0;  // 0: not given
  std::string rate;
};

ExitCode set_limit(const Context& context, const LimitOptions& options) {
  if (options.slots == 0 && options.rate.empty()) {
    complain("nothing to set", "give --slots N, --rate N/TIME or both");
    return ExitCode::kUsage;
  }
  object body;
  if (options.slots > 0) body["slots"] = options.slots;
  if (!options.rate.empty()) {
    if (const auto rate = codec::parse_rate(options.rate); !rate) {
      complain(fmt::format("--rate is {}, which {}", in_quotes(options.rate), rate.error()),
               "write how many in how long: 100/1m");
      return ExitCode::kUsage;
    }
    body["rate"] = options.rate;
  }
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto done =
      (*api)->call({net::Method::kPut, limit_path(options.name), compact_json(body), {}, {}});
  if (!done) return report(done.error());
  const Look look = look_at(context, STDOUT_FILENO);
  if (!context.quiet) talk(fmt::format("Limit {} set", options.name));
  return show_one(context, done->json, {options.name, limit_record(done->object(), look)});
}

ExitCode delete_limit(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto no = confirm(
      context, fmt::format("delete limit {}; tasks that name it wait until it is set again", name));
  if (no) return *no;
  const auto done = (*api)->call({net::Method::kDelete, limit_path(name), {}, {}, {}});
  if (!done) return report(done.error());
  if (!context.quiet) talk(fmt::format("Limit {} deleted", name));
  return ExitCode::kOk;
}

}  // namespace

void add_limits(CommandSpec app, Command& chosen) {
  CommandSpec limits = app.command("limits", "Manage named limits of tasks").group(kAct);
  limits.needs_command();
  limits.example("vortex limits list\nvortex limits set api --slots 5 --rate 100/1m");
  CommandSpec all = limits.command("list", "List limits, who holds them and what waits");
  all.example("vortex limits list");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kLimits, "/api/limits"); });
  auto name = std::make_shared<std::string>();
  CommandSpec one = limits.command("show", "Show a limit and the tasks that hold it");
  one.option("limit", *name, "Name of the limit").required();
  one.example("vortex limits show api");
  one.on_chosen(chosen, [name](Context& c) { return show_limit(c, *name); });
  auto options = std::make_shared<LimitOptions>();
  CommandSpec set = limits.command(
      "set",
      "Create or replace a limit, also while tasks hold it: what is not given is not limited");
  set.option("limit", options->name, "Name of the limit").required();
  set.option("--slots", options->slots, "Maximum number of tasks that hold it at once")
      .between(1, kSlotsOfLimitMax)
      .value_name("N");
  set.option("--rate", options->rate,
             "Maximum number of tasks that start in any window of a length")
      .value_name("N/TIME");
  set.example("vortex limits set api --slots 5 --rate 100/1m");
  set.on_chosen(chosen, [options](Context& c) { return set_limit(c, *options); });
  auto gone = std::make_shared<std::string>();
  CommandSpec del = limits.command("delete", "Delete a limit; tasks that name it wait");
  del.option("limit", *gone, "Name of the limit").required();
  del.example("vortex limits delete api");
  del.on_chosen(chosen, [gone](Context& c) { return delete_limit(c, *gone); });
}

}  // namespace vortex::cli
