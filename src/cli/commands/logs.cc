// vortex logs: what tasks have written, of one task, of a map, or of a whole run.
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/log_source.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr long kTailPauseNs = 300'000'000;
// So many errors in a row while following, each already tried several times, and it gives up.
constexpr int kLogFaultsMax = 20;

struct LogsOptions {
  std::string what;
  std::string grep;
  LogWanted wanted;
  bool follow = false;
  bool raw = false;
};

// Which tasks are meant: one, those of a node, or all of a run.
struct Chosen {
  std::string task;  // set: this one alone
  std::string run;
  std::string node;  // empty: all
};

std::expected<Chosen, Failure> choose(ApiClient& api, const std::string& text) {
  if (parse_task_id(text)) return Chosen{text, {}, {}};
  const TaskPath path = split_task_path(text);
  const auto run = find_run(api, path.run);
  if (!run) return std::unexpected(run.error());
  const std::string id = text_at(*run, "id");
  if (path.name.empty()) return Chosen{{}, id, {}};
  const auto plan = fetch_plan(api, id);
  if (!plan) return std::unexpected(plan.error());
  for (std::uint32_t node = 0; node < (*plan)->nodes.size(); ++node) {
    const bool this_map = (*plan)->node_spec(node).name == path.name && (*plan)->tasks_of(node) > 1;
    if (this_map && !path.item) return Chosen{{}, id, path.name};
  }
  auto task = find_task(api, text);
  if (!task) return std::unexpected(task.error());
  return Chosen{*task, id, {}};
}

class Logs {
 public:
  Logs(const Context& context, ApiClient& api, const LogsOptions& options)
      : api_(api), options_(options), look_(look_at(context, STDOUT_FILENO)) {}

  std::optional<Failure> run(const Chosen& chosen, const LinePattern* pattern);

 private:
  struct Stream {
    Stream(LogSource from, LineWriter to) : source(std::move(from)), out(std::move(to)) {}
    LogSource source;
    LineWriter out;
    bool over = false;
  };

  std::optional<Failure> look_once(const Chosen& chosen, const LinePattern* pattern);
  std::optional<Failure> look_at_one(const std::string& task, bool final_state,
                                     const std::string& prefix, const LinePattern* pattern);
  std::optional<Failure> look_at_run(const Chosen& chosen, const LinePattern* pattern);
  bool all_over() const;

  ApiClient& api_;
  const LogsOptions& options_;
  Look look_;
  PlanPtr plan_;  // for names, when there are several tasks
  std::map<std::string, Stream> streams_;
  bool ended_ = false;  // nothing more can come
  bool unread_ = false;
};

std::optional<Failure> Logs::look_at_one(const std::string& task, bool final_state,
                                         const std::string& prefix, const LinePattern* pattern) {
  auto found = streams_.find(task);
  if (found == streams_.end()) {
    LineWriter out(prefix, pattern, [this](std::string_view text) {
      if (!(options_.raw ? print_raw_now(text) : print_now(text))) unread_ = true;
    });
    found = streams_.emplace(task, Stream(LogSource(api_, task, options_.wanted), std::move(out)))
                .first;
  }
  Stream& stream = found->second;
  if (stream.over) return std::nullopt;
  auto read = stream.source.read_on(stream.out);
  if (!read) return std::move(read.error());
  while (options_.follow && stream.source.drained()) {
    auto next = stream.source.next_attempt();
    if (!next) return std::move(next.error());
    if (!*next) break;
    read = stream.source.read_on(stream.out);
    if (!read) return std::move(read.error());
  }
  const bool drained = stream.source.drained() || !options_.follow;
  if (drained && (final_state || options_.wanted.attempt > 0 || !options_.follow)) {
    stream.out.finish();
    stream.over = true;
  }
  return std::nullopt;
}

std::optional<Failure> Logs::look_at_run(const Chosen& chosen, const LinePattern* pattern) {
  const std::string target =
      with_query(fmt::format("/api/runs/{}/tasks", escaped(chosen.run)), {{"node", chosen.node}});
  auto run = api_.get("/api/runs/" + escaped(chosen.run));
  if (!run) return std::move(run.error());
  const auto tasks = fetch_all(api_, target, "tasks", {.limit = 0, .all = true});
  if (!tasks) return tasks.error();
  for (const auto& item : tasks->items) {
    const object& task = item.as_object();
    if (number_at(task, "attempts") == 0 || unread_) continue;
    const std::string name =
        task_name(*plan_, static_cast<std::uint32_t>(number_at(task, "index")));
    const std::string state = text_at(task, "state");
    const bool final_state =
        state == "Completed" || state == "Failed" || state == "Cancelled" || state == "Skipped";
    auto fault = look_at_one(text_at(task, "id"), final_state,
                             paint(name + " | ", Tone::kDim, look_), pattern);
    if (fault) return fault;
  }
  ended_ = text_at(run->object(), "state") != "Running" && all_over();
  return std::nullopt;
}

bool Logs::all_over() const {
  for (const auto& [task, stream] : streams_) {
    if (!stream.over) return false;
  }
  return true;
}

std::optional<Failure> Logs::look_once(const Chosen& chosen, const LinePattern* pattern) {
  if (chosen.task.empty()) return look_at_run(chosen, pattern);
  auto task = api_.get("/api/tasks/" + escaped(chosen.task));
  if (!task) return std::move(task.error());
  const std::string state = text_at(task->object(), "state");
  const bool final_state =
      state == "Completed" || state == "Failed" || state == "Cancelled" || state == "Skipped";
  auto fault = look_at_one(chosen.task, final_state, {}, pattern);
  // A task that never had an attempt has nothing to drain.
  ended_ = all_over() || (final_state && number_at(task->object(), "attempts") == 0);
  return fault;
}

std::optional<Failure> Logs::run(const Chosen& chosen, const LinePattern* pattern) {
  if (chosen.task.empty()) {
    auto plan = fetch_plan(api_, chosen.run);
    if (!plan) return std::move(plan.error());
    plan_ = *std::move(plan);
  }
  int faults = 0;
  for (;;) {
    auto fault = look_once(chosen, pattern);
    if (unread_ || (!fault && (ended_ || !options_.follow))) return std::nullopt;
    const bool gone = fault && fault->exit == ExitCode::kUnreachable;
    faults = fault ? faults + 1 : 0;
    if (fault && (!gone || !options_.follow || faults > kLogFaultsMax)) return fault;
    const timespec pause{0, kTailPauseNs};
    ::nanosleep(&pause, nullptr);
  }
}

ExitCode show_json(const Context& context, ApiClient& api, const Chosen& chosen,
                   const LogsOptions& options) {
  boost::json::array all;
  boost::json::array tasks;
  if (chosen.task.empty()) {
    const std::string target =
        with_query(fmt::format("/api/runs/{}/tasks", escaped(chosen.run)), {{"node", chosen.node}});
    auto fetched = fetch_all(api, target, "tasks", {.limit = 0, .all = true});
    if (!fetched) return report(fetched.error());
    for (const auto& item : fetched->items) tasks.emplace_back(text_at(item.as_object(), "id"));
  } else {
    tasks.emplace_back(chosen.task);
  }
  for (const auto& task : tasks) {
    ApiRequest request;
    const std::string attempt =
        options.wanted.attempt > 0 ? std::to_string(options.wanted.attempt) : "";
    request.target = with_query(fmt::format("/api/tasks/{}/logs", escaped(text_of(task))),
                                {{"attempt", attempt}});
    request.headers.emplace_back("Accept", "application/json");
    auto answer = api.call(std::move(request));
    if (!answer) return report(answer.error());
    all.push_back(std::move(answer->json));
  }
  if (context.output == Output::kJsonl) {
    for (const auto& log : all) print(compact_json(log) + "\n");
  } else {
    print(pretty_json(chosen.task.empty() ? boost::json::value(object{{"logs", all}}) : all[0]));
  }
  return ExitCode::kOk;
}

ExitCode logs(const Context& context, const LogsOptions& options) {
  std::optional<LinePattern> pattern;
  if (!options.grep.empty()) {
    auto made = LinePattern::make(options.grep);
    if (!made) {
      complain(fmt::format("--grep '{}': {}", options.grep, made.error()),
               "use an extended regular expression, as in `grep -E`");
      return ExitCode::kUsage;
    }
    pattern = *std::move(made);
  }
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto chosen = choose(**api, options.what);
  if (!chosen) return report(chosen.error());
  if (wants_json(context)) return show_json(context, **api, *chosen, options);
  Logs work(context, **api, options);
  const auto fault = work.run(*chosen, pattern ? &*pattern : nullptr);
  return fault ? report(*fault) : ExitCode::kOk;
}

}  // namespace

void add_logs(CommandSpec app, Command& chosen) {
  auto options = std::make_shared<LogsOptions>();
  CommandSpec command =
      app.command("logs", "Show the output of a task, a map or a whole run").group(kLook);
  command.option("what", options->what, "RUN, RUN/name, RUN/name[3] or a task id").required();
  command.flag("-f,--follow", options->follow, "Follow the output until the task or run ends");
  command.option("--tail", options->wanted.tail, "Only the last N lines of each task")
      .value_name("LINES");
  command
      .option("--attempt", options->wanted.attempt, "Number of the attempt (default: the latest)")
      .value_name("NUMBER");
  command.option("--grep", options->grep, "Only lines that match this pattern (as in `grep -E`)")
      .value_name("REGEX");
  command.flag("--raw", options->raw,
               "Write control characters to the terminal as they are (default: show them)");
  command.example("vortex logs @last/resize[3] --tail 50\nvortex logs @last -f --grep ERROR");
  command.on_chosen(chosen, [options](Context& c) { return logs(c, *options); });
}

}  // namespace vortex::cli
