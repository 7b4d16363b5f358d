// vortex audit: who did what, when, and with which outcome.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "codec/units.h"
#include "model/states.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr std::chrono::seconds kLookAgain{1};
// Entries may be written a moment after later ones; numbers are microseconds.
constexpr std::uint64_t kAuditLookBack = 5'000'000;

struct AuditOptions {
  ListOptions page;
  std::string who;
  std::string what;
  std::string outcome;
  std::string since;
  bool follow = false;
};

std::string name_by_seq(const object& entry) { return text_at(entry, "seq"); }

Cell outcome_cell(const object& entry, const Look&) {
  const std::string outcome = text_at(entry, "outcome");
  const Tone tone = outcome == "ok" ? Tone::kPlain : Tone::kWarn;
  const std::string code = text_at(entry, "code");
  return {code.empty() ? outcome : fmt::format("{} {}", outcome, code), tone};
}

Cell operation_cell(const object& entry, const Look&) {
  const std::string operation = text_at(entry, "operation");
  const std::int64_t count = number_at(entry, "count");
  if (count <= 1) return {operation};
  return {fmt::format("{}{}({} more)", operation, operation.empty() ? "" : " ", count)};
}

constexpr ListColumn kAuditColumns[] = {
    {"WHEN", [](const object& o, const Look& l) { return time_cell(o, "at", l); }},
    {"WHO", [](const object& o, const Look&) { return plain_cell(o, "who"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"FROM", [](const object& o, const Look&) { return plain_cell(o, "address"); }},
    {"OPERATION", operation_cell},
    {"TARGET", [](const object& o, const Look&) { return plain_cell(o, "target"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"OUTCOME", outcome_cell},
    {"STATUS", [](const object& o, const Look&) { return plain_cell(o, "status"); }, Align::kRight,
     Shown::kWide},
    {"TIME", [](const object& o, const Look&) { return plain_cell(o, "at"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kAudit{"entries", "audit entries", name_by_seq, kAuditColumns};

// "2h" is two hours ago; anything else is left to the controller.
std::string since_text(const std::string& since) {
  const auto ago = codec::parse_duration(since);
  if (!ago) return since;
  const TimeText text = time_text(wall_clock_now() - *ago);
  std::string out(text.begin(), text.end());
  std::ranges::replace(out, ' ', 'T');
  return out + "Z";
}

std::string line_of_entry(const object& entry, const Look& look) {
  const auto at = time_at(entry, "at");
  std::string out = paint(at ? clock_text(*at) : std::string("--:--:--"), Tone::kDim, look);
  const auto add = [&](const std::string& text) {
    out += " " + one_line(text.empty() ? "-" : text);
  };
  add(text_at(entry, "who"));
  add(text_at(entry, "address"));
  add(operation_cell(entry, look).text);
  add(text_at(entry, "target"));
  const Cell outcome = outcome_cell(entry, look);
  return out + " " + paint(one_line(outcome.text), outcome.tone, look) + "\n";
}

// False: nobody reads any more.
bool show_entry(const Context& context, const object& entry, const Look& look) {
  if (wants_json(context)) return print_now(compact_json(entry) + "\n");
  if (context.output == Output::kName) return print_now(name_by_seq(entry) + "\n");
  return print_now(line_of_entry(entry, look));
}

// Until Ctrl-C, or until nobody reads any more.
ExitCode follow_audit(const Context& context, const QueryItems& filter) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto newest = (*api)->get("/api/audit?limit=1");
  if (!newest) return report(newest.error());
  const Look look = look_at(context, STDOUT_FILENO);
  std::uint64_t last = 0;
  const auto seq_of = [](const object& entry) {
    return static_cast<std::uint64_t>(number_at(entry, "seq"));
  };
  for (const auto& entry : list_at(newest->object(), "entries")) last = seq_of(entry.as_object());
  std::uint64_t begin = last;
  std::set<std::uint64_t> shown;
  while (true) {
    QueryItems query = filter;
    query.emplace_back("after",
                       std::to_string(std::max(begin, last - std::min(last, kAuditLookBack))));
    const auto fetched =
        fetch_all(**api, with_query("/api/audit", query), "entries", {.limit = 0, .all = true});
    if (!fetched) return report(fetched.error());
    for (const auto& item : fetched->items) {
      if (!item.is_object() || !shown.insert(seq_of(item.get_object())).second) continue;
      if (!show_entry(context, item.get_object(), look)) return ExitCode::kOk;
      last = std::max(last, seq_of(item.get_object()));
    }
    shown.erase(shown.begin(), shown.lower_bound(last - std::min(last, kAuditLookBack)));
    std::this_thread::sleep_for(kLookAgain);
  }
}

ExitCode audit(const Context& context, const AuditOptions& options) {
  const QueryItems filter{{"who", options.who},
                          {"what", options.what},
                          {"outcome", options.outcome},
                          {"since", since_text(options.since)}};
  if (options.follow) return follow_audit(context, filter);
  return list(context, kAudit, with_query("/api/audit", filter), options.page);
}

}  // namespace

void add_audit(CommandSpec app, Command& chosen) {
  auto options = std::make_shared<AuditOptions>();
  CommandSpec command =
      app.command("audit", "Show who changed what, and which requests were refused").group(kLook);
  command.option("--who", options->who, "Only entries of this token or address").value_name("NAME");
  command.option("--what", options->what, "Only entries of this operation, run, worker, ...")
      .value_name("ID");
  command.option("--outcome", options->outcome, "Only entries with this outcome")
      .one_of({words_of<AuditOutcome>().begin(), words_of<AuditOutcome>().end()})
      .value_name("WORD");
  command.option("--since", options->since, "Only entries since then: 2h, or 2026-02-22T22:59:55Z")
      .value_name("TIME");
  command.flag("-f,--follow", options->follow, "Follow new entries until Ctrl-C");
  add_list_options(command, options->page);
  command.example(
      "vortex audit --outcome refused --since 1d\nvortex audit --what create_token -o jsonl --all");
  command.on_chosen(chosen, [options](Context& c) { return audit(c, *options); });
}

}  // namespace vortex::cli
