// vortex worker-check: plays a controller for a worker somebody else wrote, and says rule by rule
// what it does wrong.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/check/rules.h"
#include "cli/check/stage.h"
#include "cli/commands/commands.h"
#include "cli/local/folder.h"
#include "cli/local/process.h"
#include "codec/json_writer.h"

namespace vortex::cli {
namespace {

struct CheckFlags {
  std::vector<std::string> command;
  bool listen = false;
  std::uint16_t port = 0;
  std::vector<std::string> only;
};

struct Judged {
  const check::Rule* rule = nullptr;
  check::Verdict verdict;
};

using Kind = check::Verdict::Kind;

// The worker must be there before anything else can be asked, and what ends it comes last.
std::vector<const check::Rule*> rules_in_order() {
  std::vector<const check::Rule*> rules;
  const auto exchange = check::exchange_rules();
  rules.push_back(&exchange.front());
  for (const check::Rule& rule : check::command_rules()) rules.push_back(&rule);
  for (const check::Rule& rule : exchange.subspan(1)) rules.push_back(&rule);
  return rules;
}

// As a shell finds it; the word itself when it is nowhere.
std::string program_path(const std::string& word) {
  const char* path = std::getenv("PATH");
  if (word.find('/') != word.npos || path == nullptr) return word;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string whole = (folder.empty() ? "." : folder) + "/" + word;
    if (::access(whole.c_str(), X_OK) == 0) return whole;
  }
  return word;
}

class Checker {
 public:
  Checker(const Context& context, const CheckFlags& flags, check::Stage& stage)
      : context_(context), flags_(flags), stage_(stage) {}

  ExitCode run() {
    std::filesystem::create_directories(folder_.path() + "/work dir");
    if (flags_.listen) {
      talk(fmt::format("waiting for a worker: start yours with {}", stage_.url()));
      stage_.until([](const check::Record& record) { return !record.registrations.empty(); },
                   minutes_of_patience());
    }
    for (const check::Rule* rule : rules_in_order()) {
      if (!wanted(*rule)) continue;
      if (auto complaint = keep_alive()) {
        complain(*complaint, "its output is in " + log_path());
        return ExitCode::kFailed;
      }
      judged_.push_back({rule, rule->play({stage_, folder_.path(), worker_.get()})});
      if (!wants_json(context_)) show(judged_.back());
      // Without a worker every other rule would only repeat it.
      if (rule == rules_in_order().front() && judged_.back().verdict.kind == Kind::kFail) break;
    }
    return finish();
  }

 private:
  static Duration minutes_of_patience() { return seconds(600); }
  std::string log_path() const { return folder_.path() + "/worker.log"; }

  bool wanted(const check::Rule& rule) const {
    return flags_.only.empty() || rule.id == "register" ||
           std::ranges::find(flags_.only, rule.id) != flags_.only.end();
  }

  // A worker that died in one rule is started again for the next.
  std::optional<std::string> keep_alive() {
    if (flags_.listen || (worker_ && worker_->is_alive())) return std::nullopt;
    if (worker_) {
      talk(fmt::format("the worker exited with code {}; restarting it", worker_->exit_code()));
    }
    local::ProcessConfig config;
    for (std::string word : flags_.command) {
      if (const auto at = word.find("{url}"); at != word.npos) word.replace(at, 5, stage_.url());
      config.argv.push_back(std::move(word));
    }
    config.argv.front() = program_path(config.argv.front());
    config.log = log_path();
    config.environment = {"VORTEX_SERVER=" + stage_.url()};
    const std::size_t calls = stage_.record().calls.size();
    auto started = local::Process::spawn(config);
    if (!started) return "cannot start the worker: " + started.error();
    worker_ = *std::move(started);
    if (!judged_.empty()) {
      stage_.until([&](const check::Record& record) { return record.calls.size() > calls; },
                   seconds(30));
    }
    return std::nullopt;
  }

  static void show(const Judged& one) {
    static constexpr const char* kWords[] = {"PASS", "FAIL", "SKIP"};
    print(fmt::format("{}  {:<16} {}\n", kWords[static_cast<int>(one.verdict.kind)], one.rule->id,
                      one.rule->demand));
    if (one.verdict.text.empty()) return;
    print(fmt::format("      {}\n", one.verdict.text));
    if (one.verdict.kind == Kind::kFail) {
      print(fmt::format("      see docs/api.md, \"{}\"\n", one.rule->paragraph));
    }
  }

  // A worker that broke a rule may have left its tasks behind.
  void kill_leftovers() const {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (!file.path().string().ends_with(" pids")) continue;
      std::istringstream pids(check::content_of(file.path().string()));
      for (pid_t pid = 0; pids >> pid;) {
        if (check::is_process(std::to_string(pid))) ::kill(pid, SIGKILL);
      }
    }
  }

  ExitCode finish() {
    kill_leftovers();
    const auto count = [this](Kind kind) {
      return std::ranges::count(judged_, kind, [](const Judged& one) { return one.verdict.kind; });
    };
    const auto failed = count(Kind::kFail);
    if (wants_json(context_)) {
      print_json();
    } else {
      print(fmt::format("{} passed, {} failed, {} skipped\n", count(Kind::kPass), failed,
                        count(Kind::kSkip)));
    }
    return failed == 0 ? ExitCode::kOk : ExitCode::kFailed;
  }

  void print_json() const {
    static constexpr std::string_view kWords[] = {"pass", "fail", "skip"};
    std::string out;
    codec::JsonWriter json(out);
    json.begin_object().key("rules").begin_array();
    for (const auto& [rule, verdict] : judged_) {
      json.begin_object().field("id", rule->id).field("demand", rule->demand);
      json.field("result", kWords[static_cast<int>(verdict.kind)]);
      json.field("detail", std::string_view(verdict.text));
      json.field("paragraph", rule->paragraph).end_object();
    }
    json.end_array().end_object();
    print(out + "\n");
  }

  const Context& context_;
  const CheckFlags& flags_;
  check::Stage& stage_;
  local::TempFolder folder_;
  std::unique_ptr<local::Process> worker_;
  std::vector<Judged> judged_;
};

ExitCode check_worker(const Context& context, const CheckFlags& flags) {
  if (flags.command.empty() == !flags.listen) {
    complain("pass either a command after -- or --listen",
             "vortex worker-check -- ./my-worker {url}");
    return ExitCode::kUsage;
  }
  for (const std::string& id : flags.only) {
    const auto rules = rules_in_order();
    if (std::ranges::none_of(rules, [&](const check::Rule* rule) { return rule->id == id; })) {
      complain(fmt::format("unknown rule '{}'", id), "run without --rule to see all rules");
      return ExitCode::kUsage;
    }
  }
  const auto stage = check::Stage::open({}, flags.port);
  if (!stage) {
    complain(stage.error(), "choose another --port, or omit it");
    return ExitCode::kFailed;
  }
  return Checker(context, flags, **stage).run();
}

}  // namespace

void add_worker_check(CommandSpec app, Command& chosen) {
  const auto flags = std::make_shared<CheckFlags>();
  CommandSpec check =
      app.command("worker-check", "Test your own worker against every rule of the protocol")
          .group(kOperate);
  check.option("command", flags->command,
               "The worker and its arguments, after --; {url} is replaced by the controller's URL, "
               "which is also in VORTEX_SERVER");
  check.flag("--listen", flags->listen, "Print the URL and wait for a worker started by hand");
  check.option("--port", flags->port, "Port on 127.0.0.1 to listen on (default: any free one)");
  check.option("--rule", flags->only, "Check only this rule; repeat for more").one_word();
  check.example(
      "vortex worker-check -- examples/worker.sh {url}\n"
      "vortex worker-check --listen --port 9000");
  check.on_chosen(chosen, [flags](Context& context) { return check_worker(context, *flags); });
}

}  // namespace vortex::cli
