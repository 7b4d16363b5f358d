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
#include "store/copy.h"
#include "store/open.h"
#include "store/sqlite/check.h"
#include "store/upkeep.h"

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
  const DatabaseSettings& database = loaded->settings.database;
  const std::string name = store::name_of_store(database);
  if (repairs && !database.url.empty()) {
    complain(
        "--repair works on SQLite files only",
        "copy the database to a file with `vortex db copy`, repair it there, and copy it back");
    return ExitCode::kUsage;
  }
  if (repairs) {
    if (const ExitCode code = repair(context, name); code != ExitCode::kOk) return code;
  }
  const auto report = store::check_store(database);
  if (!report) {
    complain(report.error().detail, "specify the database with --database.path or --database.url");
    return ExitCode::kFailed;
  }
  if (wants_json(context)) {
    print(as_json(*report));
  } else {
    for (const std::string& problem : report->problems) complain(problem);
    talk(fmt::format("{}: layout {} of {}, {}, {}, {}", name, report->version,
                     report->known_version, counted(report->runs, "run"),
                     counted(report->tasks, "task"),
                     report->problems.empty() ? "sound" : "DAMAGED"));
  }
  return report->problems.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

// PostgreSQL has its own tools for this, which know more than we do.
ExitCode refuse_server(const DatabaseSettings& database, std::string_view command) {
  complain("this works on SQLite files only; PostgreSQL has its own tools",
           fmt::format("run `{} --dbname='{}'`", command, store::name_of_store(database)));
  return ExitCode::kUsage;
}

ExitCode backup(Context& context, const std::string& to) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  if (!loaded->settings.database.url.empty()) {
    return refuse_server(loaded->settings.database, "pg_dump --format=custom --file=" + to);
  }
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

ExitCode restore(Context& context, const std::string& from) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const DatabaseSettings& database = loaded->settings.database;
  if (!database.url.empty()) return refuse_server(database, "pg_restore --clean " + from);
  const auto refused =
      confirm(context, fmt::format("Replace {} by the backup {}?", database.path, from));
  if (refused) return *refused;
  const auto aside = store::restore_sqlite(from, database.path);
  if (!aside) {
    const bool locked = aside.error().fault == store::Fault::kLocked;
    complain(aside.error().detail, locked ? "stop the controller first" : "");
    return locked ? ExitCode::kConflict : ExitCode::kFailed;
  }
  if (context.quiet) return ExitCode::kOk;
  talk(fmt::format("Restored {} from {}", database.path, from));
  if (!aside->empty()) talk("The database that was there is now " + *aside);
  return ExitCode::kOk;
}

ExitCode migrate(Context& context) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const DatabaseSettings& database = loaded->settings.database;
  const auto done = store::migrate_store(database);
  if (!done) {
    complain(done.error().detail);
    return done.error().fault == store::Fault::kLocked ? ExitCode::kConflict : ExitCode::kFailed;
  }
  if (context.quiet) return ExitCode::kOk;
  const std::string name = store::name_of_store(database);
  talk(done->from == done->to
           ? fmt::format("{} already has layout {}", name, done->to)
           : fmt::format("Migrated {} from layout {} to {}", name, done->from, done->to));
  return ExitCode::kOk;
}

struct CopyOptions {
  std::string from;
  std::string to;
};

ExitCode copy(const Context& context, const CopyOptions& options) {
  store::CopyRequest request{.from = options.from, .to = options.to, .progress = {}};
  if (!context.quiet) {
    request.progress = [](const store::CopyProgress& so_far) {
      if (so_far.verifying && so_far.total == 0) return;
      talk(so_far.verifying
               ? fmt::format("verified {}: {}", so_far.table, counted(so_far.total, "row"))
               : fmt::format("copied {}: {} of {}", so_far.table, so_far.rows,
                             counted(so_far.total, "row")));
    };
  }
  const auto done = store::copy_store(request);
  if (!done) {
    const bool locked = done.error().fault == store::Fault::kLocked;
    complain(done.error().detail, locked ? "stop the controllers of both databases first"
                                  : done.error().fault == store::Fault::kUnavailable
                                      ? "run the same command again to continue where it stopped"
                                      : "");
    return locked ? ExitCode::kConflict : ExitCode::kFailed;
  }
  talk(fmt::format("Copied and verified {} in {} tables, hash {:016x}", counted(done->rows, "row"),
                   done->tables, done->hash));
  return ExitCode::kOk;
}

void add_moves(CommandSpec db, Command& chosen) {
  auto from = std::make_shared<std::string>();
  CommandSpec back = db.command("restore", "Replace the database file by a backup");
  back.option("file", *from, "Path of the backup").required();
  back.example(
      "vortex db restore /var/backups/vortex.db --database.path=/var/lib/vortex/vortex.db\n"
      "The backup is checked first, and the file that was there is kept under another name.");
  back.on_chosen(chosen, [from](Context& context) { return restore(context, *from); });
  CommandSpec layout = db.command("migrate", "Change the database to the layout of this version");
  layout.example(
      "vortex db migrate --database.url=postgresql://vortex@db/vortex\n"
      "Controllers do it themselves when they start.");
  layout.on_chosen(chosen, [](Context& context) { return migrate(context); });
  auto ends = std::make_shared<CopyOptions>();
  CommandSpec move = db.command("copy", "Copy everything to an empty database, and verify it");
  move.option("from", ends->from, "Path of a file, or the URL of a PostgreSQL database").required();
  move.option("to", ends->to, "The same; it must be empty, or an unfinished copy").required();
  move.example(
      "vortex db copy /var/lib/vortex/vortex.db postgresql://vortex@db/vortex\n"
      "Stop the controllers of both first. A copy that was interrupted continues.");
  move.on_chosen(chosen, [ends](Context& context) { return copy(context, *ends); });
}

}  // namespace

void add_db(CommandSpec app, Command& chosen) {
  CommandSpec db = app.command("db", "Check, repair, migrate or copy the database").group(kOperate);
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
  CommandSpec save = db.command("backup", "Copy the database, even while it is in use");
  save.option("file", *to, "Path of the copy").required();
  save.example("vortex db backup /var/backups/vortex.db");
  save.on_chosen(chosen, [to](Context& context) { return backup(context, *to); });
  add_moves(db, chosen);
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
