// What people tell runs: vortex runs signal, approve and reject, and vortex approvals.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file_text.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "model/check.h"
#include "model/ids.h"

namespace vortex::cli {
namespace {

using boost::json::object;

struct Payload {
  std::string json;
  std::string file;
};

void add_payload(CommandSpec& command, Payload& payload, const char* help) {
  command.option("--data", payload.json, help).value_name("JSON");
  command.option("--data-file", payload.file, "Read the data from a file; - is standard input")
      .value_name("FILE");
}

// An object; none is given: unset. The outer error has been said.
std::expected<std::optional<boost::json::value>, ExitCode> read_payload(const Payload& payload) {
  if (payload.json.empty() && payload.file.empty()) return std::nullopt;
  std::string text = payload.json;
  if (!payload.file.empty()) {
    if (!payload.json.empty()) {
      complain("--data and --data-file are both given", "use only one of them");
      return std::unexpected(ExitCode::kUsage);
    }
    auto read = read_file_text(payload.file == "-" ? "/dev/stdin" : payload.file, kSignalBytesMax);
    if (!read) {
      complain(fmt::format("cannot read {}", payload.file),
               fmt::format("it must be a file of at most {} bytes", kSignalBytesMax));
      return std::unexpected(ExitCode::kUsage);
    }
    text = *std::move(read);
  }
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  if (!error && value.is_object()) return std::optional(std::move(value));
  complain("the data is not a JSON object", R"(write it as '{"version": "1.2"}')");
  return std::unexpected(ExitCode::kUsage);
}

struct SignalFlags {
  std::string run;
  std::string name;
  Payload payload;
  std::string key;
};

ExitCode send_signal(const Context& context, const SignalFlags& flags) {
  const auto data = read_payload(flags.payload);
  if (!data) return data.error();
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, flags.run);
  if (!run) return report(run.error());
  const std::string id = text_at(*run, "id");
  object body;
  if (*data) body["data"] = **data;
  ApiRequest request = post_request(
      fmt::format("/api/runs/{}/signals/{}", escaped(id), escaped(flags.name)), compact_json(body));
  request.headers.emplace_back("Idempotency-Key",
                               flags.key.empty() ? fresh_idempotency_key() : flags.key);
  return act(context, **api,
             {std::move(request), id, fmt::format("Signal {} sent to run {}", flags.name, id)});
}

// The task that is meant: by itself, or the only open approval of a run.
std::expected<std::string, ExitCode> find_approval(ApiClient& api, const std::string& text) {
  if (text.contains('/') || parse_task_id(text)) {
    const auto task = find_task(api, text);
    if (!task) return std::unexpected(report(task.error()));
    return *task;
  }
  const auto run = find_run(api, text);
  if (!run) return std::unexpected(report(run.error()));
  const std::string id = text_at(*run, "id");
  const auto all = api.get("/api/approvals");
  if (!all) return std::unexpected(report(all.error()));
  std::vector<std::string> tasks;
  std::vector<std::string> names;
  for (const auto& item : list_at(all->object(), "approvals")) {
    if (!item.is_object() || text_at(item.get_object(), "run") != id) continue;
    tasks.push_back(text_at(item.get_object(), "task"));
    names.push_back(id + "/" + text_at(item.get_object(), "node"));
  }
  if (tasks.size() == 1) return tasks.front();
  if (tasks.empty()) {
    complain(fmt::format("run {} does not wait for an approval", id),
             "vortex approvals list shows the open ones");
    return std::unexpected(ExitCode::kConflict);
  }
  complain(fmt::format("run {} waits for {} approvals", id, tasks.size()),
           fmt::format("name one of them: {}", fmt::join(names, ", ")));
  return std::unexpected(ExitCode::kUsage);
}

struct AnswerFlags {
  std::string which;
  std::string comment;
  Payload payload;
};

ExitCode approve(const Context& context, const AnswerFlags& flags) {
  const auto data = read_payload(flags.payload);
  if (!data) return data.error();
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto task = find_approval(**api, flags.which);
  if (!task) return task.error();
  object body;
  if (!flags.comment.empty()) body["comment"] = flags.comment;
  if (*data) body["data"] = **data;
  return act(
      context, **api,
      {post_request(fmt::format("/api/tasks/{}/approve", escaped(*task)), compact_json(body)),
       *task, fmt::format("Approved {}", *task)});
}

ExitCode reject(const Context& context, const AnswerFlags& flags) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto task = find_approval(**api, flags.which);
  if (!task) return task.error();
  const object body{{"reason", flags.comment}};
  return act(context, **api,
             {post_request(fmt::format("/api/tasks/{}/reject", escaped(*task)), compact_json(body)),
              *task, fmt::format("Rejected {}", *task)});
}

constexpr const char* kWhichHelp =
    "Run with one open approval, or RUN/TASK: @last/ok, r42/ok, r42-L1-7";

Cell roles_cell(const object& approval, const Look& /*look*/) {
  std::vector<std::string> roles;
  for (const auto& role : list_at(approval, "by")) roles.push_back(text_of(role));
  return {fmt::format("{}", fmt::join(roles, ",")), Tone::kPlain};
}

constexpr ListColumn kApprovalColumns[] = {
    {"TASK", [](const object& o, const Look&) { return plain_cell(o, "task"); }},
    {"DAG", [](const object& o, const Look&) { return plain_cell(o, "dag"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "node"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"QUESTION", [](const object& o, const Look&) { return plain_cell(o, "question"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"BY", roles_cell},
    {"TIMES OUT", [](const object& o, const Look& l) { return time_cell(o, "times_out_at", l); }},
};
constexpr Listing kApprovals{"approvals", "open approvals",
                             [](const object& o) { return text_at(o, "task"); }, kApprovalColumns};

}  // namespace

void add_run_answers(CommandSpec runs, Command& chosen) {
  auto said = std::make_shared<SignalFlags>();
  CommandSpec signal = runs.command("signal", "Send a signal to a run that waits for it, or will");
  signal.option("run", said->run, kRunHelp).required();
  signal.option("name", said->name, "Name of the signal").required();
  add_payload(signal, said->payload, "Data as a JSON object: the outputs of the task that waits");
  signal.option("--idempotency-key", said->key,
                "Repeating the command with the same key sends the signal once");
  signal.example("vortex runs signal r42 release --data '{\"version\": \"1.2\"}'");
  signal.on_chosen(chosen, [said](Context& c) { return send_signal(c, *said); });

  auto yes = std::make_shared<AnswerFlags>();
  CommandSpec good = runs.command("approve", "Approve what a run asks");
  good.option("run", yes->which, kWhichHelp).required();
  good.option("--comment", yes->comment, "Comment for the record").value_name("TEXT");
  add_payload(good, yes->payload, "Data as a JSON object: more outputs of the task");
  good.example("vortex runs approve r42\nvortex runs approve r42/ok --comment \"checked\"");
  good.on_chosen(chosen, [yes](Context& c) { return approve(c, *yes); });

  auto no = std::make_shared<AnswerFlags>();
  CommandSpec bad = runs.command("reject", "Reject what a run asks, which fails the task");
  bad.option("run", no->which, kWhichHelp).required();
  bad.option("--reason", no->comment, "Why").value_name("TEXT").required();
  bad.example("vortex runs reject r42/ok --reason \"tests are red\"");
  bad.on_chosen(chosen, [no](Context& c) { return reject(c, *no); });
}

void add_approvals(CommandSpec app, Command& chosen) {
  CommandSpec approvals = app.command("approvals", "List what waits for a person").group(kLook);
  approvals.needs_command();
  approvals.example("vortex approvals list");
  CommandSpec all = approvals.command("list", "List the approvals that nobody has answered");
  all.example("vortex approvals list -o json");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kApprovals, "/api/approvals"); });
}

}  // namespace vortex::cli
