#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/command_spec.h"
#include "cli/commands.h"
#include "codec/json_writer.h"
#include "store/sqlite/backup.h"
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

ExitCode check(Context& context) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const std::string& path = loaded->settings.database.path;
  const auto report = store::check_sqlite(path);
  if (!report) {
    complain(report.error().detail, "name the file with --database.path");
    return ExitCode::kFailed;
  }
  if (wants_json(context)) {
    print(as_json(*report));
  } else {
    for (const std::string& problem : report->problems) complain(problem);
    talk(fmt::format("{}: layout {} of {}, {} runs, {} tasks, {}", path, report->version,
                     report->known_version, report->runs, report->tasks,
                     report->problems.empty() ? "sound" : "NOT SOUND"));
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
    complain(done.error().detail, there ? "choose another name, or move that file away" : "");
    return there ? ExitCode::kConflict : ExitCode::kFailed;
  }
  if (!context.quiet) talk(fmt::format("{} was copied to {}", path, to));
  return ExitCode::kOk;
}

}  // namespace

void add_db(CommandSpec app, Command& chosen) {
  CommandSpec db =
      app.command("db", "The database file: is it sound, and a copy of it").group(kOperate);
  db.needs_command();
  db.example("vortex db check --database.path=/var/lib/vortex/vortex.db");
  CommandSpec sound =
      db.command("check", "Look at every page and every promise of the rows; exit 1 if not sound");
  sound.example(
      "vortex db check --database.path=/var/lib/vortex/vortex.db\n"
      "It works while a controller runs on the file.");
  sound.on_chosen(chosen, check);
  auto to = std::make_shared<std::string>();
  CommandSpec copy = db.command("backup", "Copy the database as it stands, also while it is used");
  copy.option("file", *to, "The new file").required();
  copy.example("vortex db backup /var/backups/vortex.db");
  copy.on_chosen(chosen, [to](Context& context) { return backup(context, *to); });
}

}  // namespace vortex::cli
