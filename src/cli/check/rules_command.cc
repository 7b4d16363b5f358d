// How a command is run and what is said of its end.
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/check/rules.h"

namespace vortex::cli::check {

WorkOrder order_of(std::vector<std::string> argv) {
  WorkOrder order;
  order.command.argv = std::move(argv);
  return order;
}

WorkOrder script(const std::string& text, std::vector<std::string> arguments) {
  std::vector<std::string> argv{"sh", "-euc", text};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return order_of(std::move(argv));
}

std::string path_in(const Scene& scene, std::string_view name) {
  return scene.folder + "/" + std::string(name);
}

std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

std::string describe(const ReportBody& body) {
  if (const auto* failed = std::get_if<Failed>(&body)) {
    return fmt::format("failed (cause {}, code {}{}{})", to_text(failed->cause), failed->code,
                       failed->message.empty() ? "" : ", ", failed->message);
  }
  if (const auto* released = std::get_if<Released>(&body)) {
    return fmt::format("released (cause {})", to_text(released->cause));
  }
  if (std::holds_alternative<Completed>(body)) return "completed";
  if (std::holds_alternative<TimedOut>(body)) return "timed_out";
  return std::holds_alternative<Started>(body) ? "started" : "checkpoint";
}

std::optional<ReportBody> end_of(const Scene& scene, Attempt attempt, Duration limit) {
  std::optional<ReportBody> end;
  scene.stage.until(
      [&](const Record& record) {
        for (const SeenReport& seen : record.reports) {
          const bool open = std::holds_alternative<Started>(seen.report.body) ||
                            std::holds_alternative<Checkpoint>(seen.report.body);
          if (seen.report.attempt == attempt && !open && !end) end = seen.report.body;
        }
        return end.has_value();
      },
      limit);
  return end;
}

Verdict want_completed(const Scene& scene, Attempt attempt) {
  const auto end = end_of(scene, attempt);
  if (!end) return wrong("no report ended the attempt within 10 s; expected completed");
  if (std::holds_alternative<Completed>(*end)) return passed();
  return wrong(fmt::format("reported {}; expected completed", describe(*end)));
}

std::string wait_for_line(const std::string& path, Duration limit) {
  const Instant give_up = boot_clock_now() + limit;
  while (boot_clock_now() < give_up) {
    const std::string text = content_of(path);
    if (text.ends_with('\n')) return text.substr(0, text.find('\n'));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

bool is_process(const std::string& pid) {
  const std::string stat = content_of("/proc/" + pid + "/stat");
  const auto state = stat.rfind(") ");
  return state != stat.npos && stat[state + 2] != 'Z';
}

bool gone_within(const std::string& pids_path, Duration limit) {
  const Instant give_up = boot_clock_now() + limit;
  while (true) {
    std::istringstream pids(content_of(pids_path));
    bool any = false;
    for (std::string pid; pids >> pid;) any = any || is_process(pid);
    if (!any) return true;
    if (boot_clock_now() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

namespace {

// Its arguments, each with a zero byte behind it, as they came.
std::string keep_arguments(const std::string& path) {
  return "printf '%s\\0' \"$@\" > " + quoted(path);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(word).push_back('\0');
  return out;
}

Verdict runs_argv(const Scene& scene) {
  const std::string path = path_in(scene, "argv");
  const std::vector<std::string> words{"two words", "",   "$HOME", "*",         "it's \"quoted\"",
                                       "a\nb",      "-n", "\\",    "&& touch x"};
  std::vector<std::string> arguments{"name"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Attempt attempt = scene.stage.assign(script(keep_arguments(path), arguments));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  if (content_of(path) == joined(words)) return passed();
  return wrong(
      "the program did not get the arguments of 'run' unchanged: they were split, joined, expanded "
      "or dropped");
}

Verdict runs_scripts(const Scene& scene) {
  const std::string path = path_in(scene, "script");
  const Attempt attempt = scene.stage.assign(script(
      "for i in 1 2; do echo \"$i $1\"; done > " + quoted(path) + "\ntest -s " + quoted(path),
      {"name", "x y"}));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  if (content_of(path) == "1 x y\n2 x y\n") return passed();
  return wrong("the script was reported as completed, but did not run completely");
}

Verdict gives_environment(const Scene& scene) {
  const std::string path = path_in(scene, "env");
  WorkOrder order = script(
      "printf '%s|%s|%s|%s|%s|%s' \"$PLAIN\" \"$LINES2\" \"${EMPTY-unset}\" "
      "\"$VORTEX_TASK_ID\" \"$VORTEX_EPOCH\" \"$VORTEX_ATTEMPT\" > " +
      quoted(path));
  order.command.env = {{"PLAIN", "a b=$c"}, {"LINES2", "one\ntwo"}, {"EMPTY", ""}};
  const Attempt attempt = scene.stage.assign(std::move(order));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  const std::string wanted =
      fmt::format("a b=$c|one\ntwo||{}|{}|1", to_text(attempt.task), attempt.epoch.value);
  if (content_of(path) == wanted) return passed();
  return wrong(fmt::format("the task's environment contained '{}'; expected '{}'", content_of(path),
                           wanted));
}

Verdict uses_workdir(const Scene& scene) {
  const std::string path = path_in(scene, "pwd");
  WorkOrder order = script("pwd > " + quoted(path));
  order.command.workdir = path_in(scene, "work dir");
  const std::string wanted = order.command.workdir + "\n";
  const Attempt attempt = scene.stage.assign(std::move(order));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  if (content_of(path) != wanted) return wrong("the task ran in " + content_of(path));
  WorkOrder lost = order_of({"true"});
  lost.command.workdir = path_in(scene, "not there");
  const auto end = end_of(scene, scene.stage.assign(std::move(lost)));
  if (end && std::holds_alternative<Failed>(*end)) return passed();
  return wrong("a workdir that does not exist: " + (end ? describe(*end) : "no report") +
               "; expected failed");
}

Verdict want_failed(const Scene& scene, WorkOrder order, Failed::Cause cause,
                    std::optional<std::int32_t> code) {
  const auto end = end_of(scene, scene.stage.assign(std::move(order)));
  const std::string wanted = describe(Failed{cause, code.value_or(0), {}});
  if (!end) return wrong("no report ended the attempt within 10 s; expected " + wanted);
  const auto* failed = std::get_if<Failed>(&*end);
  if (failed != nullptr && failed->cause == cause && (!code || failed->code == *code)) {
    return passed();
  }
  return wrong(fmt::format("reported {}; expected {}", describe(*end), wanted));
}

Verdict reports_exit_code(const Scene& scene) {
  return want_failed(scene, script("exit 7"), Failed::Cause::kExitCode, 7);
}

Verdict reports_failing_script(const Scene& scene) {
  return want_failed(scene, script("false\ntrue"), Failed::Cause::kExitCode, 1);
}

Verdict reports_signal(const Scene& scene) {
  return want_failed(scene, script("kill -9 $$"), Failed::Cause::kSignal, 9);
}

Verdict reports_missing_program(const Scene& scene) {
  return want_failed(scene, order_of({path_in(scene, "no such program"), "x"}),
                     Failed::Cause::kCouldNotStart, std::nullopt);
}

Verdict reads_outputs(const Scene& scene) {
  WorkOrder order = script("printf '{ \"n\" : [1, \"two\"] }' > \"$VORTEX_OUTPUTS\"");
  order.outputs = {"n"};
  const auto end = end_of(scene, scene.stage.assign(std::move(order)));
  const auto* completed = end ? std::get_if<Completed>(&*end) : nullptr;
  if (completed == nullptr) {
    return wrong((end ? "reported " + describe(*end) : "no report") + "; expected completed");
  }
  if (completed->outputs == R"({"n":[1,"two"]})") return passed();
  return wrong(
      fmt::format("its outputs are '{}'; {{\"n\":[1,\"two\"]}} was written to "
                  "$VORTEX_OUTPUTS",
                  completed->outputs));
}

Verdict misses_outputs(const Scene& scene) {
  WorkOrder order = script("printf '{\"m\": 1}' > \"$VORTEX_OUTPUTS\"");
  order.outputs = {"m", "n"};
  return want_failed(scene, std::move(order), Failed::Cause::kExitCode, std::nullopt);
}

Verdict passes_checkpoints(const Scene& scene) {
  const std::string path = path_in(scene, "checkpoint");
  const Attempt attempt = scene.stage.assign(script("cat \"$VORTEX_CHECKPOINT\" > " + quoted(path) +
                                                    "\nprintf 'step 2' > \"$VORTEX_CHECKPOINT\""),
                                             {}, "step 1");
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  if (content_of(path) != "step 1") {
    return wrong("the checkpoint of the attempt before was not in $VORTEX_CHECKPOINT");
  }
  for (const SeenReport& seen : scene.stage.record().reports) {
    const auto* checkpoint = std::get_if<Checkpoint>(&seen.report.body);
    if (checkpoint != nullptr && seen.report.attempt == attempt && checkpoint->data == "step 2") {
      return passed();
    }
  }
  return wrong("what the task wrote to $VORTEX_CHECKPOINT was not reported");
}

Verdict ships_logs(const Scene& scene) {
  const Attempt attempt = scene.stage.assign(script("echo out; echo err >&2; printf last"));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  std::string log;
  const bool came = scene.stage.until(
      [&](const Record& record) {
        const auto at = record.logs.find(attempt);
        if (at != record.logs.end()) log = at->second;
        return log.size() >= std::string_view("out\nerr\nlast").size();
      },
      seconds(5));
  const bool whole = came && log.find("out\n") != log.npos && log.find("err\n") != log.npos &&
                     log.ends_with("last");
  if (whole) return passed();
  return wrong(fmt::format("only '{}' of the output arrived", log));
}

// A child in the background keeps the pipe and the group open.
std::string with_child(const std::string& pids) {
  return "sleep 300 & echo $$ $! > " + quoted(pids) + "; wait";
}

Verdict times_out(const Scene& scene) {
  const std::string pids = path_in(scene, "timeout pids");
  const Attempt attempt = scene.stage.assign(script(with_child(pids)), seconds(1));
  const auto end = end_of(scene, attempt, seconds(15));
  if (wait_for_line(pids, seconds(1)).empty()) return wrong("the task was not started");
  if (!gone_within(pids, seconds(1))) {
    return wrong("the task, or a process it started, ran far longer than its timeout_ms of 1000");
  }
  if (!end) return wrong("the task ended, but nothing was reported");
  if (std::holds_alternative<TimedOut>(*end)) return passed();
  return wrong(fmt::format("reported {}; expected timed_out", describe(*end)));
}

constexpr Rule kCommandRules[] = {
    {"argv", "starts 'run' exactly as given: no splitting, no expansion, no shell", "Assignments",
     runs_argv},
    {"script", "runs a script with the shell given in front", "Assignments", runs_scripts},
    {"env", "passes env and the VORTEX_ variables to the task", "What a task finds",
     gives_environment},
    {"workdir", "starts the task in its workdir, or fails it", "Assignments", uses_workdir},
    {"exit-code", "reports a failing command as failed, with its exit code", "Reports",
     reports_exit_code},
    {"failing-script", "reports a failing script as failed, not completed", "Reports",
     reports_failing_script},
    {"signal", "reports death by a signal", "Reports", reports_signal},
    {"no-program", "reports a missing program as could_not_start", "Reports",
     reports_missing_program},
    {"outputs", "reports what the task wrote to its outputs file", "What a task finds",
     reads_outputs},
    {"missing-outputs", "fails a task that did not write a declared output", "What a task finds",
     misses_outputs},
    {"checkpoint", "passes checkpoints to the task and reports new ones", "What a task finds",
     passes_checkpoints},
    {"logs", "sends all output, stdout and stderr", "Output", ships_logs},
    {"timeout", "kills every process of a task whose timeout_ms has expired", "Timing", times_out},
};

}  // namespace

std::span<const Rule> command_rules() { return kCommandRules; }

}  // namespace vortex::cli::check
