// vortex webhooks: where the ends of runs, or other events, are told to.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

struct WebhookOptions {
  std::string name;
  std::string url;
  std::vector<std::string> kinds;
  std::string dag;
  std::optional<std::uint64_t> after;
};

Cell state_of(const object& webhook, const Look&) {
  if (!text_at(webhook, "trouble").empty()) return {"failing", Tone::kBad};
  return {number_at(webhook, "delivered") == 0 ? "waiting" : "well", Tone::kGood};
}

std::string kinds_of(const object& webhook) {
  std::string kinds;
  for (const auto& kind : list_at(webhook, "kinds")) {
    if (!kinds.empty()) kinds += ", ";
    kinds += text_of(kind);
  }
  return kinds;
}

std::string name_of(const object& webhook) { return text_at(webhook, "name"); }

constexpr ListColumn kWebhookColumns[] = {
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"STATE", state_of},
    {"DELIVERED", [](const object& o, const Look&) { return plain_cell(o, "delivered"); },
     Align::kRight},
    {"LAST", [](const object& o, const Look& l) { return time_cell(o, "delivered_at", l); }},
    {"KINDS", [](const object& o, const Look&) { return Cell{kinds_of(o)}; }, Align::kLeft,
     Shown::kWide},
    {"URL", [](const object& o, const Look&) { return plain_cell(o, "url"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
};
constexpr Listing kWebhooks{"webhooks", "webhooks", name_of, kWebhookColumns};

std::string path_of(const std::string& name) { return "/api/webhooks/" + escaped(name); }

std::string webhook_record(const object& o, const Look& look) {
  Record record;
  const Cell state = state_of(o, look);
  record.add("webhook", name_of(o)).add("state", state.text, state.tone);
  const std::string trouble = text_at(o, "trouble");
  if (!trouble.empty()) record.add("trouble", trouble, Tone::kBad);
  record.add("url", text_at(o, "url")).add("kinds", kinds_of(o));
  const std::string dag = text_at(o, "dag");
  record.add("dag", dag.empty() ? "all" : dag);
  record.add("delivered", text_at(o, "delivered")).add("given up", text_at(o, "given_up"));
  record.add("missed", text_at(o, "missed")).add("after event", text_at(o, "after"));
  const std::string last = time_cell(o, "delivered_at", look).text;
  record.add("last delivered", last.empty() ? "never" : last);
  record.add("created", time_cell(o, "created_at", look).text);
  return record.text(look);
}

ExitCode create(const Context& context, const WebhookOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  object body{{"name", options.name}, {"url", options.url}};
  if (!options.kinds.empty()) {
    body["kinds"] = boost::json::array(options.kinds.begin(), options.kinds.end());
  }
  if (!options.dag.empty()) body["dag"] = options.dag;
  if (options.after) body["after"] = *options.after;
  const auto made = (*api)->post("/api/webhooks", compact_json(body));
  if (!made) return report(made.error());
  if (!wants_json(context) && !context.quiet) {
    talk(
        fmt::format("Webhook '{}' receives {}. Messages are signed with this secret, which is "
                    "shown only once.\nTest it with: vortex webhooks test {}",
                    options.name, kinds_of(made->object()), options.name));
  }
  return show_one(context, made->json, {options.name, text_at(made->object(), "secret") + "\n"});
}

ExitCode show_webhook(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto found = (*api)->get(path_of(name));
  if (!found) return report(found.error());
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, found->json, {name, webhook_record(found->object(), look)});
}

ExitCode try_out(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto tried = (*api)->post(path_of(name) + "/test");
  if (!tried) return report(tried.error());
  const object& o = tried->object();
  if (flag_at(o, "taken")) {
    return show_one(context, tried->json,
                    {name, fmt::format("The receiver accepted the test message: {} after {} ms\n",
                                       text_at(o, "status"), text_at(o, "took_ms"))});
  }
  if (wants_json(context)) show_one(context, tried->json, {name, {}});
  complain(fmt::format("the receiver of webhook {} did not accept the test message: {}", name,
                       text_at(o, "trouble")),
           fmt::format("`vortex webhooks show {}` shows its URL", name));
  return ExitCode::kFailed;
}

ExitCode erase(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  if (const auto no = confirm(context, fmt::format("delete the webhook {}", name))) return *no;
  ApiRequest request{net::Method::kDelete, path_of(name), {}, {}, {}};
  return act(context, **api, {std::move(request), name, fmt::format("Webhook {} deleted", name)});
}

void add_create(CommandSpec webhooks, const std::shared_ptr<WebhookOptions>& options,
                Command& chosen) {
  CommandSpec make =
      webhooks.command("create", "Send events to a URL; the secret is shown only once");
  make.option("name", options->name, "Name of the webhook").required();
  make.option("url", options->url, "http:// or https:// URL to POST to").required();
  make.option("--kind", options->kinds,
              "Kind of event; repeat for more (default: run_complete, the end of every run)")
      .value_name("KIND")
      .one_word();
  make.option("--dag", options->dag, "Only events of runs of this DAG").value_name("DAG");
  make.option("--after", options->after,
              "Start after this event, if it is still kept (default: now)")
      .value_name("SEQ");
  make.example(
      "vortex webhooks create ci https://ci.example.org/vortex > ci.secret\n"
      "vortex webhooks create pager https://pager.example.org/in --kind task_dead_lettered");
  make.on_chosen(chosen, [options](Context& context) { return create(context, *options); });
}

}  // namespace

void add_webhooks(CommandSpec app, Command& chosen) {
  CommandSpec webhooks =
      app.command("webhooks", "Manage webhooks: get notified when runs end").group(kOperate);
  webhooks.needs_command();
  webhooks.example("vortex webhooks create ci https://ci.example.org/vortex");
  auto options = std::make_shared<WebhookOptions>();
  add_create(webhooks, options, chosen);
  CommandSpec all = webhooks.command("list", "List webhooks and their status");
  all.example("vortex webhooks list");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kWebhooks, "/api/webhooks"); });
  const auto one = [&](const char* name, const char* help, const char* example,
                       ExitCode (*run)(const Context&, const std::string&)) {
    CommandSpec command = webhooks.command(name, help);
    command.option("name", options->name, "Name of the webhook").required();
    command.example(example);
    command.on_chosen(chosen, [options, run](Context& c) { return run(c, options->name); });
  };
  one("show", "Show a webhook, its progress and its problems", "vortex webhooks show ci",
      show_webhook);
  one("test", "Send one test event now", "vortex webhooks test ci", try_out);
  one("delete", "Delete a webhook", "vortex webhooks delete ci --yes", erase);
}

}  // namespace vortex::cli
