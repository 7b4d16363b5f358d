// vortex dlq: tasks that were given up, and what becomes of them.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "model/states.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

constexpr ListColumn kLetterColumns[] = {
    {"TASK", [](const object& o, const Look&) { return plain_cell(o, "task"); }},
    {"DAG", [](const object& o, const Look&) { return plain_cell(o, "dag"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "node"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"REASON", [](const object& o, const Look&) { return plain_cell(o, "reason"); }},
    {"STATE", [](const object& o, const Look& l) { return state_cell(o, "state", l); }},
    {"DIED", [](const object& o, const Look& l) { return time_cell(o, "at", l); }},
    {"EPOCH", [](const object& o, const Look&) { return plain_cell(o, "epoch"); }, Align::kRight,
     Shown::kWide},
    {"MESSAGE", [](const object& o, const Look&) { return plain_cell(o, "message"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
};
constexpr Listing kLetters{"dead_letters", "dead letters",
                           [](const object& o) { return text_at(o, "task"); }, kLetterColumns};

struct LetterFilter {
  ListOptions page;
  std::string state = "open";
  std::string run;
};

// The filter of a list; `any` stands for every state.
std::expected<std::string, Failure> target_of(ApiClient& api, const LetterFilter& filter) {
  QueryItems query{{"state", filter.state == "any" ? "" : filter.state}};
  if (!filter.run.empty()) {
    const auto run = find_run(api, filter.run);
    if (!run) return std::unexpected(run.error());
    query.emplace_back("run", text_at(*run, "id"));
  }
  return with_query("/api/dead-letters", query);
}

ExitCode list_letters(const Context& context, const LetterFilter& filter) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto target = target_of(**api, filter);
  if (!target) return report(target.error());
  const auto fetched = fetch_all(**api, *target, "dead_letters", filter.page);
  if (!fetched) return report(fetched.error());
  return show_list(context, kLetters, *fetched);
}

ExitCode show_letter(const Context& context, const std::string& text) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto id = find_task(**api, text);
  if (!id) return report(id.error());
  const auto letter = (*api)->get("/api/dead-letters/" + escaped(*id));
  if (!letter) return report(letter.error());
  const object& o = letter->object();
  const Look look = look_at(context, STDOUT_FILENO);
  const Cell state = state_cell(o, "state", look);
  Record record;
  record.add("task", *id).add("dag", text_at(o, "dag")).add("name", text_at(o, "node"));
  record.add("reason", text_at(o, "reason"), Tone::kBad).add("state", state.text, state.tone);
  record.add("died", fmt::format("{} ({})", text_at(o, "at"), time_cell(o, "at", look).text));
  record.add("message", text_at(o, "message"));
  return show_one(context, letter->json, {*id, record.text(look)});
}

struct Redrive {
  Texts tasks;
  std::string run;
  bool all = false;
};

bool is_discard(std::string_view verb) { return verb == "discard"; }

std::string outcome(std::string_view verb, std::int64_t done) {
  return fmt::format("{} {}", is_discard(verb) ? "Discarded" : "Retrying",
                     counted(static_cast<std::size_t>(done), "dead letter"));
}

// What was asked about is what is done: the controller refuses if others came or went meanwhile.
ExitCode act_on_open_letters(const Context& context, const char* verb, const Redrive& what) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  object body;
  LetterFilter filter{{}, "open", {}};
  if (!what.run.empty()) {
    const auto run = find_run(**api, what.run);
    if (!run) return report(run.error());
    filter.run = text_at(*run, "id");
    body["run"] = filter.run;
  }
  const auto target = target_of(**api, filter);
  if (!target) return report(target.error());
  const auto letters = fetch_all(**api, *target, "dead_letters", {.limit = 0, .all = true});
  if (!letters) return report(letters.error());
  const std::size_t count = letters->items.size();
  if (count == 0) {
    if (!context.quiet) talk("no dead letters");
    return ExitCode::kOk;
  }
  if (const auto no = confirm(context, fmt::format("{} {}", verb, counted(count, "dead letter")))) {
    return *no;
  }
  body["expected"] = count;
  const auto answer = (*api)->call(
      post_request(fmt::format("/api/dead-letters/{}", verb), boost::json::serialize(body)));
  if (!answer) return report(answer.error());
  const object& said = answer->object();
  const bool table = context.output == Output::kTable || context.output == Output::kWide;
  if (table && !context.quiet) talk(outcome(verb, number_at(said, "done")));
  const auto& refused = said.at("refused").as_array();
  for (const auto& one : refused) {
    const object& letter = one.as_object();
    complain(fmt::format("{}: {}", text_at(letter, "task"), text_at(letter, "detail")), "");
  }
  if (!table) {
    Texts names;
    for (const auto& letter : letters->items) names.push_back(text_at(letter.as_object(), "task"));
    show_one(context, answer->json, {fmt::format("{}", fmt::join(names, "\n")), {}});
  }
  return refused.empty() ? ExitCode::kOk : ExitCode::kConflict;
}

ExitCode act_on_letters(const Context& context, const char* verb, const Redrive& what) {
  if (what.tasks.empty() != what.all) {
    complain(what.all ? "--all and tasks do not go together" : "no dead letters selected",
             "list tasks, or pass --all (add --run for one run)");
    return ExitCode::kUsage;
  }
  if (what.all) return act_on_open_letters(context, verb, what);
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  Texts ids;
  for (const std::string& text : what.tasks) {
    auto id = find_task(**api, text);
    if (!id) return report(id.error());
    ids.push_back(*std::move(id));
  }
  if (is_discard(verb)) {
    const auto no =
        confirm(context, fmt::format("{} {}", verb, counted(ids.size(), "dead letter")));
    if (no) return *no;
  }
  std::vector<Act> acts;
  for (const std::string& id : ids) {
    acts.push_back(
        {post_request(fmt::format("/api/dead-letters/{}/{}", escaped(id), verb)), id,
         fmt::format(fmt::runtime(is_discard(verb) ? "Discarded {}" : "Retrying task {}"), id)});
  }
  return act_on_all(context, **api, std::move(acts));
}

void add_verb(CommandSpec dlq, Command& chosen, const char* verb) {
  const bool discard = is_discard(verb);
  auto what = std::make_shared<Redrive>();
  CommandSpec command = dlq.command(verb, discard ? "Discard dead letters; the tasks stay failed"
                                                  : "Retry dead letters with a fresh set of tries");
  command.option("task", what->tasks, kTaskHelp);
  command.flag("--all", what->all, "All open dead letters");
  command.option("--run", what->run, "With --all: only dead letters of this run").value_name("RUN");
  command.example(fmt::format("vortex dlq {0} r42-L1-7\nvortex dlq {0} --all --run @last", verb));
  command.on_chosen(chosen, [what, verb](Context& c) { return act_on_letters(c, verb, *what); });
}

}  // namespace

void add_dlq(CommandSpec app, Command& chosen) {
  CommandSpec dlq = app.command("dlq", "Manage dead letters: tasks that were given up").group(kAct);
  dlq.needs_command();
  dlq.example("vortex dlq list");
  auto filter = std::make_shared<LetterFilter>();
  CommandSpec all = dlq.command("list", "List dead letters, newest first");
  std::vector<std::string> states(words_of<DeadLetterState>().begin(),
                                  words_of<DeadLetterState>().end());
  states.emplace_back("any");
  all.option("--state", filter->state,
             "Only letters in this state: open, redriven, discarded or any")
      .one_of(states)
      .value_name("STATE")
      .shows_default();
  all.option("--run", filter->run, "Only dead letters of this run").value_name("RUN");
  add_list_options(all, filter->page);
  all.example("vortex dlq list --run @last-failed");
  all.on_chosen(chosen, [filter](Context& c) { return list_letters(c, *filter); });
  auto text = std::make_shared<std::string>();
  CommandSpec one = dlq.command("show", "Show the newest dead letter of a task");
  one.option("task", *text, kTaskHelp).required();
  one.example("vortex dlq show r42-L1-7");
  one.on_chosen(chosen, [text](Context& c) { return show_letter(c, *text); });
  add_verb(dlq, chosen, "retry");
  add_verb(dlq, chosen, "discard");
}

}  // namespace vortex::cli
