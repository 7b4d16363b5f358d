#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "codec/json_writer.h"
#include "store/sqlite/check.h"

namespace vortex::cli {
namespace {

std::string as_json(const store::CheckReport& report) {
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object().field("version", report.version);
  json.field("known_version", report.known_version);
  json.field("runs", report.runs).field("tasks", report.tasks);
  json.key("problems").begin_array();
  for (const std::string& problem : report.problems) json.text(problem);
  json.end_array().end_object();
  return out + "\n";
}

// Repairs before it checks, so that what is shown then is what is left.
ExitCode repair(const Context& context, const std::string& path) {
  const auto did = store::repair_sqlite(path);
  if (!did) {
    const bool locked = did.error().fault == store::Fault::kLocked;
    complain(
        did.error().detail,
        locked ? "stop the controller first; use `vortex reconcile` to check a running one" : "");
    return locked ? ExitCode::kConflict : ExitCode::kFailed;
  }
  if (context.quiet || wants_json(context)) return ExitCode::kOk;
  for (const std::string& what : *did) talk("repaired: " + what);
  if (did->empty()) talk("nothing to repair");
  return ExitCode::kOk;
}

ExitCode check(Context& context, bool repairs) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const std::string& path = loaded->settings.database.path;
  if (repairs) {
    if (const ExitCode code = repair(context, path); code != ExitCode::kOk) return code;
  }
  const auto report = store::check_sqlite(path);
  if (!report) {
    complain(report.error().detail, "specify the file with --database.path");
    return ExitCode::kFailed;
  }
  if (wants_json(context)) {
    print(as_json(*report));
  } else {
    for (const std::string& problem : report->problems) complain(problem);
    talk(fmt::format("{}: layout {} of {}, {}, {}, {}", path, report->version,
                     report->known_version, counted(report->runs, "run"),
                     counted(report->tasks, "task"),
                     report->problems.empty() ? "sound" : "DAMAGED"));
  }
  return report->problems.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

ExitCode backup(Context& context, const std::string& to) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const std::string& path = loaded->settings.database.path;
  const auto done = store::backup_sqlite(path, to);
  if (!done) {
    const bool there = done.error().fault == store::Fault::kBadRequest;
    complain(done.error().detail, there ? "choose another name, or move that file" : "");
    return there ? ExitCode::kConflict : ExitCode::kFailed;
  }
  if (!context.quiet) talk(fmt::format("Copied {} to {}", path, to));
  return ExitCode::kOk;
}

}  // namespace

void add_db(CommandSpec app, Command& chosen) {
  CommandSpec db = app.command("db", "Check, repair or copy the database file").group(kOperate);
  db.needs_command();
  db.example("vortex db check --database.path=/var/lib/vortex/vortex.db");
  CommandSpec sound = db.command(
      "check", "Check every page, row and constraint; exit 1 if the database is damaged");
  auto repairs = std::make_shared<bool>(false);
  sound.flag("--repair", *repairs, "Repair what can be repaired; the controller must be stopped");
  sound.example(
      "vortex db check --database.path=/var/lib/vortex/vortex.db\n"
      "vortex db check --repair --database.path=/var/lib/vortex/vortex.db\n"
      "Without --repair, it is safe while a controller is using the file.");
  sound.on_chosen(chosen, [repairs](Context& context) { return check(context, *repairs); });
  auto to = std::make_shared<std::string>();
  CommandSpec copy = db.command("backup", "Copy the database, even while it is in use");
  copy.option("file", *to, "Path of the copy").required();
  copy.example("vortex db backup /var/backups/vortex.db");
  copy.on_chosen(chosen, [to](Context& context) { return backup(context, *to); });
}

namespace {

ExitCode reconcile(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  ApiRequest request = post_request("/api/reconcile");
  request.repeat = Repeat::kNever;
  const auto answer = (*api)->call(std::move(request));
  if (!answer) return report(answer.error());
  const auto& o = answer->object();
  const auto count = [&](const char* key, std::string_view noun) {
    return counted(static_cast<std::uint64_t>(number_at(o, key)), noun);
  };
  const auto& findings = list_at(o, "findings");
  const auto& damaged = list_at(o, "damaged");
  std::string text = fmt::format(
      "Checked {} and {} in {} ms: {}\n", count("runs", "run"), count("tasks", "task"),
      number_at(o, "took_us") / 1'000,
      findings.empty() ? "no problems found" : counted(findings.size(), "problem") + " found");
  for (const auto& finding : findings) text += "  " + text_of(finding) + "\n";
  if (flag_at(o, "reloaded")) text += "The state is being reloaded from the database.\n";
  for (const auto& row : damaged) {
    text += fmt::format("Damaged: table {}, row {}, column {}: {}\n",
                        text_at(row.as_object(), "table"), text_at(row.as_object(), "row"),
                        text_at(row.as_object(), "column"), text_at(row.as_object(), "what"));
  }
  const ExitCode shown = show_one(context, answer->json, {"reconcile", text});
  if (shown != ExitCode::kOk) return shown;
  return findings.empty() && damaged.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

void add_reconcile(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("reconcile",
                  "Check the live state thoroughly and repair it; exit 1 if something was wrong")
          .group(kOperate);
  command.example("vortex reconcile\nvortex reconcile -o json");
  command.on_chosen(chosen, [](Context& context) { return reconcile(context); });
}

}  // namespace vortex::cli
