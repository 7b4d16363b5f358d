// What `vortex doctor` looks at, one function each: what is there, whether it is good, and the fix.
//
// Checks only look: they change nothing, take no lock, and write no file.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/life.h"
#include "cli/screen/listing.h"
#include "store/open.h"
#include "store/upkeep.h"
#include "worker/cgroup.h"
#include "worker/spawn_worker.h"

namespace vortex::cli {

struct Check {
  enum class Mark : std::uint8_t { kOk, kWarn, kFail };
  std::string name;
  Mark mark = Mark::kOk;
  std::string found;
  std::string fix;  // empty: nothing to do
};
std::string_view to_text(Check::Mark mark);

using Checks = std::vector<Check>;

// This machine.
Check check_open_files();
Check check_processes();
Check check_cgroups();
Check check_containers(Launcher launcher);
Check check_temporary_folder();
Check check_token_file(const std::string& path);

// Where a controller with these settings would keep its database.
Checks check_database(const DatabaseSettings& settings);

// Every controller that --server names: there, well, of this version, and its clock.
Checks check_servers(const Context& context);

namespace {

namespace fs = std::filesystem;
using Mark = Check::Mark;

constexpr std::uint64_t kFilesMin = 4'096;
constexpr std::uint64_t kProcessesMin = 1'024;
constexpr std::uint64_t kSpaceWarn = 1ULL << 30U;
constexpr std::uint64_t kSpaceFail = 64ULL << 20U;

std::string limit_text(rlim_t value) {
  return value == RLIM_INFINITY ? std::string("no limit") : fmt::format("{}", value);
}

bool may_write(const fs::path& path) { return ::access(path.c_str(), W_OK) == 0; }

std::optional<std::uint64_t> free_bytes(const fs::path& folder) {
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) return std::nullopt;
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

Check check_space(const fs::path& folder) {
  const auto bytes = free_bytes(folder);
  Check check{"database space", Mark::kOk, "", ""};
  if (!bytes) return {"database space", Mark::kWarn, "cannot be determined", ""};
  check.found = fmt::format("{} free in {}", human_bytes(*bytes), folder.string());
  if (*bytes < kSpaceWarn) {
    check.mark = *bytes < kSpaceFail ? Mark::kFail : Mark::kWarn;
    check.fix = "free some space, or move the database with --database.path";
  }
  return check;
}

// Who holds the lock, asked of the kernel: trying it could get in the way of a controller.
std::string lock_holder(const fs::path& lock) {
  struct stat info{};
  if (::stat(lock.c_str(), &info) != 0) return {};
  const std::string inode = fmt::format(":{}", info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") == std::string::npos) continue;
    const auto at = line.find(inode + " ");
    if (at == std::string::npos) continue;
    // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
    const auto end = line.rfind(' ', at);
    const auto begin = line.rfind(' ', end - 1);
    return line.substr(begin + 1, end - begin - 1);
  }
  return {};
}

Check check_lock(const std::string& database) {
  const fs::path lock = database + ".lock";
  std::error_code ec;
  const std::string holder = lock_holder(lock);
  if (!holder.empty()) {
    return {"database lock", Mark::kOk, fmt::format("held by process {}", holder), ""};
  }
  const bool there = fs::exists(lock, ec);
  return {"database lock", Mark::kOk, there ? "free (the leftover file is harmless)" : "free", ""};
}

bool may_hold_groups(const fs::path& group) {
  return !group.empty() && may_write(group) && may_write(group / "cgroup.procs");
}

// By version 2 of control groups, where it passes the controller on, or by version 1.
bool may_limit(const char* controller, const std::string& unified, const std::string& one) {
  std::ifstream file(fs::path(unified) / "cgroup.controllers");
  for (std::string word; file >> word;) {
    if (word == controller) return may_hold_groups(unified);
  }
  return may_hold_groups(one);
}

}  // namespace

std::string_view to_text(Check::Mark mark) {
  switch (mark) {
    case Mark::kOk:
      return "ok";
    case Mark::kWarn:
      return "warn";
    case Mark::kFail:
      return "fail";
  }
  return "fail";
}

Check check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Check check{
      "open files", Mark::kOk,
      fmt::format("{} (hard limit {})", limit_text(limit.rlim_cur), limit_text(limit.rlim_max)),
      ""};
  if (limit.rlim_cur < kFilesMin) {
    check.mark = Mark::kWarn;
    check.fix =
        "run `ulimit -n 65536`, or set LimitNOFILE=65536 in the service: each worker uses a "
        "connection";
  }
  return check;
}

Check check_processes() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  Check check{"processes", Mark::kOk, limit_text(limit.rlim_cur), ""};
  if (limit.rlim_cur < kProcessesMin) {
    check.mark = Mark::kWarn;
    check.fix = "run `ulimit -u 4096`, or set TasksMax= in the service: tasks are processes";
  }
  return check;
}

Check check_cgroups() {
  const std::string name = "cgroups";
  const worker::CgroupRoots roots = worker::find_cgroup_roots({});
  const bool memory = may_limit("memory", roots.unified, roots.memory);
  const bool cpu = may_limit("cpu", roots.unified, roots.cpu);
  const bool all = memory && cpu;
  std::string limits = "memory and CPU limits of tasks work";
  if (!all) limits = "limits of tasks do not work:";
  if (!memory) limits += " memory";
  if (!cpu) limits += " cpu";
  const std::string fix = "run the worker as a service with Delegate=yes, or as root";
  if (roots.unified.empty()) {
    return {name, Mark::kWarn, "no cgroup v2: tasks are killed by process tree; " + limits,
            "boot with systemd.unified_cgroup_hierarchy=1"};
  }
  if (!may_hold_groups(roots.unified)) {
    return {name, Mark::kWarn,
            fmt::format("{} is not writable: tasks are killed by process tree; {}", roots.unified,
                        limits),
            fix};
  }
  return {name, all ? Mark::kOk : Mark::kWarn,
          fmt::format("{} is writable: tasks are killed as a group; {}", roots.unified, limits),
          all ? "" : fix};
}

Check check_containers(Launcher launcher) {
  const std::string why = worker::why_no_container();
  const std::string name = "containers";
  if (why.empty()) {
    return {name, Mark::kOk, "available (--launcher container)", ""};
  }
  if (launcher == Launcher::kContainer) {
    return {name, Mark::kFail, "worker.launcher is container: " + why,
            std::string(worker::kContainerHelp)};
  }
  return {name, Mark::kOk, why + " (only --launcher container needs it)", ""};
}

Check check_temporary_folder() {
  std::error_code ec;
  const fs::path folder = fs::temp_directory_path(ec);
  if (!ec && may_write(folder)) return {"temp directory", Mark::kOk, folder.string(), ""};
  return {"temp directory", Mark::kFail, "none is writable", "set TMPDIR to a writable directory"};
}

Check check_token_file(const std::string& path) {
  const std::string name = "token file";
  if (path.empty()) return {name, Mark::kOk, "not used", ""};
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || ::access(path.c_str(), R_OK) != 0) {
    return {name, Mark::kFail, fmt::format("{} cannot be read", path),
            "check --token-file and VORTEX_TOKEN_FILE"};
  }
  if ((info.st_mode & 077U) == 0) return {name, Mark::kOk, path, ""};
  return {name, Mark::kWarn, fmt::format("{} is readable by others", path),
          fmt::format("chmod 600 {}", path)};
}

namespace {

// Looks, and makes nothing: the tables come with the first controller.
Check check_server(const DatabaseSettings& settings) {
  const std::string name = store::name_of_store(settings);
  const auto layout = store::layout_of(settings);
  if (layout)
    return {"database", Mark::kOk, fmt::format("{} answers, layout {}", name, *layout), ""};
  return {"database", Mark::kFail, layout.error().detail,
          "only a controller needs it: check --database.url and that the server is up"};
}

}  // namespace

Checks check_database(const DatabaseSettings& settings) {
  if (!settings.url.empty()) return {check_server(settings)};
  fs::path folder = fs::path(settings.path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    return {{"database directory", Mark::kWarn, fmt::format("{} does not exist", folder.string()),
             "only a controller needs it: create it, or choose another with --database.path"}};
  }
  Checks checks;
  if (may_write(folder)) {
    checks.push_back({"database directory", Mark::kOk, folder.string(), ""});
  } else {
    checks.push_back({"database directory", Mark::kWarn,
                      fmt::format("{} is not writable by this user", folder.string()),
                      "only a controller needs it: run as its owner, or change --database.path"});
  }
  checks.push_back(check_space(folder));
  checks.push_back(check_lock(settings.path));
  return checks;
}

// The part of `vortex doctor` that asks controllers.

namespace {

constexpr Duration kSkewWarn = seconds(1);
constexpr Duration kLimit = seconds(5);

Check check_health(const ApiResult& answer, const std::string& server) {
  const std::string name = "controller " + server;
  if (!answer && answer.error().status == 0) {
    return {name, Mark::kFail, answer.error().what, answer.error().help};
  }
  if (!answer) {
    return {name, Mark::kFail, fmt::format("unhealthy (status {})", answer.error().status),
            "check its log, its database and its disk space"};
  }
  const auto& o = answer->object();
  const bool leads = flag_at(o, "leader");
  const bool brake = flag_at(o, "brake_engaged");
  Check check{
      name, Mark::kOk,
      fmt::format("healthy, {}, {}, up {}", leads ? "leader" : "standby",
                  counted(static_cast<std::uint64_t>(number_at(o, "live_workers")), "worker"),
                  human_duration(seconds(number_at(o, "uptime_seconds")))),
      ""};
  if (brake) {
    check.mark = Mark::kWarn;
    check.found += ", brake engaged";
    check.fix = "many workers went silent at once; see `vortex workers list`";
  }
  if (const auto& damaged = list_at(o, "damaged"); !damaged.empty()) {
    const auto& first = damaged.front().as_object();
    check.mark = Mark::kFail;
    check.found +=
        fmt::format(", {} (table {}, row {}, column {})", counted(damaged.size(), "damaged row"),
                    text_at(first, "table"), text_at(first, "row"), text_at(first, "column"));
    check.fix = "stop the controller and run `vortex db check --repair`";
  }
  return check;
}

Check check_version(const boost::json::object& health) {
  const std::string theirs = text_at(health, "version");
  if (theirs == version()) return {"version", Mark::kOk, theirs, ""};
  return {"version", Mark::kWarn,
          fmt::format("the controller is version {}, this is {}", theirs, version()),
          "use the same version for both"};
}

Check check_tls(const boost::json::object& health) {
  constexpr Duration kRenewWithin = hours(24 * 14);
  const auto until = time_at(health, "certificate_expires_at");
  if (!flag_at(health, "tls") || !until) {
    return {"tls", Mark::kOk, "off: the controller speaks plain HTTP", ""};
  }
  const Duration left = *until - wall_clock_now();
  const std::string found =
      left > Duration{} ? fmt::format("on, the certificate expires in {}", human_duration(left))
                        : std::string("the certificate has expired");
  if (left >= kRenewWithin) return {"tls", Mark::kOk, found, ""};
  return {"tls", left > Duration{} ? Mark::kWarn : Mark::kFail, found,
          "renew it, for example with `vortex tls renew DIR`; the controller reloads it by itself"};
}

// The answer was made somewhere between asking and hearing: half of that is the doubt.
Check check_clock(ApiClient& api) {
  const Instant before = wall_clock_now();
  const auto answer = api.get("/api/status");
  const Instant after = wall_clock_now();
  if (!answer) {
    const bool auth = answer.error().exit == ExitCode::kAuth;
    return {"access", auth ? Mark::kFail : Mark::kWarn, answer.error().what, answer.error().help};
  }
  const auto theirs = time_at(answer->object(), "now");
  if (!theirs) return {"clock", Mark::kWarn, "the controller does not report its time", ""};
  const Duration skew = *theirs - (before + (after - before) / 2);
  Check check{"clock", Mark::kOk,
              fmt::format("differs by {} (affects display only)", human_duration(skew)), ""};
  if (std::abs(skew.us) > kSkewWarn.us) {
    check.mark = Mark::kWarn;
    check.fix = "ages are off by that much; run an NTP client on both machines";
  }
  return check;
}

}  // namespace

namespace {

// Unset: this caller may not know.
std::optional<Check> check_sealing(ApiClient& api) {
  ApiRequest request;
  request.target = "/api/master-key";
  request.repeat = Repeat::kNever;
  const auto answer = api.call(std::move(request));
  if (!answer) return std::nullopt;
  const boost::json::object& o = answer->object();
  if (const auto other = number_at(o, "other_keys"); other > 0) {
    return Check{"secrets", Mark::kFail,
                 fmt::format("master keys that sealed something and are not configured: {}", other),
                 "set secrets.previous_master_key_file, or set the secrets again"};
  }
  const auto plain = number_at(o, "plain_webhooks");
  if (plain > 0) {
    return Check{"secrets", Mark::kWarn,
                 fmt::format("webhooks whose signing secret is stored in plain text: {}", plain),
                 "make a master key with `vortex secrets init` and set secrets.master_key_file"};
  }
  if (!flag_at(o, "configured")) {
    return Check{"secrets", Mark::kOk, "disabled: there is no master key", ""};
  }
  return Check{"secrets", Mark::kOk, fmt::format("sealed with master key {}", text_at(o, "key_id")),
               ""};
}

// Tasks that no worker will run until somebody acts, each kind as a check of its own.
void check_standstills(ApiClient& api, Checks& checks) {
  const auto status = api.get("/api/status");
  if (!status) return;  // said by the check of the clock
  const auto& all = list_at(status->object(), "standstills");
  if (all.empty()) checks.push_back({"tasks", Mark::kOk, "nothing waits for somebody to act", ""});
  for (const auto& item : all) {
    if (!item.is_object()) continue;
    const Remedy remedy = remedy_of(item.get_object());
    checks.push_back({"tasks", Mark::kWarn, remedy.found, remedy.fix});
  }
}

}  // namespace

Checks check_servers(const Context& context) {
  Checks checks;
  Context asked = context;
  asked.timeout = std::min(asked.timeout, kLimit);
  const auto api = ApiClient::open(asked);
  if (!api) return {{"controller", Mark::kFail, "--server or --token-file is wrong", "see above"}};
  for (std::size_t i = 0; i < (*api)->servers(); ++i) {
    const std::string server = (*api)->server();
    ApiRequest request;
    request.target = "/health";
    request.repeat = Repeat::kNever;  // this one, not another in its place
    const auto health = (*api)->call(std::move(request));
    checks.push_back(check_health(health, server));
    if (health) {
      checks.push_back(check_version(health->object()));
      checks.push_back(check_tls(health->object()));
      checks.push_back(check_clock(**api));
      check_standstills(**api, checks);
      if (auto sealed = check_sealing(**api)) checks.push_back(*std::move(sealed));
    }
    (*api)->try_next_server();
  }
  return checks;
}

// vortex doctor: looks at everything that is often wrong, and says how to put it right.

namespace {

using boost::json::object;

constexpr ListColumn kFindingColumns[] = {
    {"", [](const object& o, const Look& l) { return state_cell(o, "mark", l); }},
    {"CHECK", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"FOUND", [](const object& o, const Look&) { return plain_cell(o, "found"); }},
    {"FIX", [](const object& o, const Look&) { return plain_cell(o, "fix"); }},
};
constexpr Listing kChecks{"checks", "checks", [](const object& o) { return text_at(o, "name"); },
                          kFindingColumns};

// Long texts: one check a paragraph reads better than a table.
void print_checks(const Context& context, const Checks& checks) {
  const Look look = look_at(context, STDOUT_FILENO);
  for (const Check& check : checks) {
    const std::string_view mark = to_text(check.mark);
    print(
        fmt::format("{}  {}: {}\n",
                    paint(fmt::format("{:<6}", state_text(mark, look)), tone_of_state(mark), look),
                    check.name, check.found));
    if (!check.fix.empty()) print(fmt::format("        = help: {}\n", check.fix));
  }
}

Checks all_checks(const Context& context) {
  Checks checks;
  const auto loaded = load(context);
  checks.push_back(loaded ? Check{"settings", Check::Mark::kOk, "valid", ""}
                          : Check{"settings", Check::Mark::kFail, "invalid, see above",
                                  "`vortex config check` shows the same errors"});
  const auto add = [&](Checks more) { checks.insert(checks.end(), more.begin(), more.end()); };
  add(check_servers(context));
  checks.push_back(check_token_file(context.token_file));
  if (loaded) add(check_database(loaded->settings.database));
  const Launcher launcher = loaded ? loaded->settings.worker.launcher : Launcher::kSubprocess;
  add({check_open_files(), check_processes(), check_cgroups(), check_containers(launcher),
       check_temporary_folder()});
  return checks;
}

ExitCode doctor(const Context& context) {
  const Checks checks = all_checks(context);
  if (wants_json(context) || context.output == Output::kName) {
    Fetched all;
    for (const Check& check : checks) {
      all.items.push_back(object{{"name", check.name},
                                 {"mark", to_text(check.mark)},
                                 {"found", check.found},
                                 {"fix", check.fix}});
    }
    show_list(context, kChecks, all);
  } else {
    print_checks(context, checks);
  }
  const bool failed = std::ranges::any_of(
      checks, [](const Check& check) { return check.mark == Check::Mark::kFail; });
  return failed ? ExitCode::kFailed : ExitCode::kOk;
}

}  // namespace

void add_doctor(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("doctor", "Check for common problems; exit 1 if there are any").group(kOperate);
  command.example("vortex doctor --server http://10.0.0.5:8080");
  command.on_chosen(chosen, doctor);
}

}  // namespace vortex::cli
