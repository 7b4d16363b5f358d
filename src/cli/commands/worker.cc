#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/logger.h"
#include "codec/units.h"
#include "net/socket.h"
#include "vault/key_source.h"
#include "worker/supervisor.h"
#include "worker/worker_process.h"

namespace vortex::cli {
namespace {

struct WorkerFlags {
  std::string name;
  std::uint32_t count = 1;
  std::uint32_t slots = 0;
  std::vector<std::string> queues;
  std::vector<std::string> labels;
  std::vector<std::string> runtimes;
  std::vector<std::string> named;
  std::string zone;
  std::string group;
  std::string memory;
  double cpu = 0;
  std::string state_dir;
  std::string work_dir;
  std::string launcher;
  std::string container_root;
  std::string health_address;
  std::string health_port;
  // Between the supervisor and its worker processes.
  std::string process;
  std::uint64_t incarnation = 0;
  std::string record_path;
  std::string supervisor;
  std::string life;
  std::string machine;
  int news_fd = -1;
};

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "worker";
  return name;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A folder of the user's own that no other user can prepare; `otherwise` below the home.
std::string below_home(const char* xdg, const char* otherwise) {
  if (const std::string base = variable(xdg); base.starts_with('/')) return base + "/vortex";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? fmt::format("{}/{}/vortex", home, otherwise) : std::string();
}

std::string default_work_dir() {
  struct stat seen{};
  const std::string tmp = variable("TMPDIR");
  if (!tmp.empty() && ::stat(tmp.c_str(), &seen) == 0 && seen.st_uid == ::geteuid() &&
      (seen.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return tmp + "/vortex-work";
  }
  if (::geteuid() == 0 && ::access("/var/lib", W_OK) == 0) return "/var/lib/vortex/work";
  const std::string own = below_home("XDG_CACHE_HOME", ".cache");
  return own.empty() ? fmt::format("/tmp/vortex-work-{}", ::geteuid()) : own + "/work";
}

// "gpu=a100"; unset: told to the user.
std::optional<std::pair<std::string, std::string>> split_pair(const std::string& text,
                                                              const char* flag) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    complain(fmt::format("{} expects NAME=VALUE, not '{}'", flag, text));
    return std::nullopt;
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

bool read_labels(const WorkerFlags& flags, WorkerInfo& info) {
  for (const std::string& text : flags.labels) {
    auto label = split_pair(text, "--label");
    if (!label) return false;
    info.labels.push_back(*std::move(label));
  }
  std::ranges::sort(info.labels);
  return true;
}

bool read_resources(const WorkerFlags& flags, WorkerInfo& info) {
  info.resources.cpu_milli = static_cast<std::int64_t>(flags.cpu * 1'000);
  if (!flags.memory.empty()) {
    const auto bytes = codec::parse_size(flags.memory);
    if (!bytes) {
      complain(fmt::format("--memory: '{}' is not a size", flags.memory), "write it as 512MiB");
      return false;
    }
    info.resources.memory_bytes = *bytes;
  }
  for (const std::string& text : flags.named) {
    const auto amount = split_pair(text, "--resource");
    if (!amount) return false;
    char* end = nullptr;
    const long long value = std::strtoll(amount->second.c_str(), &end, 10);
    if (*end != '\0' || amount->second.empty() || value < 0) {
      complain(
          fmt::format("--resource {}: '{}' is not a whole number", amount->first, amount->second));
      return false;
    }
    info.resources.named.emplace_back(amount->first, value);
  }
  std::ranges::sort(info.resources.named);
  return true;
}

// The settings that have a short flag here.
Context with_short_flags(Context context, const WorkerFlags& flags) {
  const auto set = [&context](const char* flag, const std::string& value) {
    if (!value.empty()) context.setting_flags.push_back(fmt::format("{}={}", flag, value));
  };
  set("--worker.name", flags.name);
  set("--worker.zone", flags.zone);
  set("--worker.group", flags.group);
  set("--worker.launcher", flags.launcher);
  set("--worker.container-root", flags.container_root);
  set("--worker.health-address", flags.health_address);
  set("--worker.health-port", flags.health_port);
  return context;
}

// The folders that a container must find under the same name. False: told to the user.
bool find_folders(const WorkerFlags& flags, worker::WorkerOptions& options) {
  std::error_code fault;
  options.state_dir = flags.state_dir.empty() ? local::default_state_dir() : flags.state_dir;
  options.work_dir = flags.work_dir.empty() ? default_work_dir() : flags.work_dir;
  options.work_dir = std::filesystem::absolute(options.work_dir, fault).lexically_normal().string();
  if (options.work_dir.size() > 1 && options.work_dir.ends_with('/')) options.work_dir.pop_back();
  std::string& root = options.settings.worker.container_root;
  if (root.empty()) return true;
  const auto whole = std::filesystem::canonical(root, fault);
  if (fault || !std::filesystem::is_directory(whole, fault)) {
    complain(fmt::format("worker.container_root: {} is not a directory", root),
             "pass the directory of an unpacked image");
    return false;
  }
  root = whole.string();
  return true;
}

// Each worker has a port of its own. False: told to the user.
bool health_ports_fit(const WorkerFlags& flags, const WorkerSettings& settings) {
  constexpr std::uint32_t kPortLast = 65'535;
  const std::uint32_t first = settings.health_port;
  if (first == 0 || first + flags.count - 1 <= kPortLast) return true;
  complain(fmt::format("worker.health_port: {} workers starting at port {} exceed port {}",
                       flags.count, first, kPortLast),
           "use a lower port, or 0 for any free ports");
  return false;
}

std::optional<worker::WorkerOptions> worker_options(const Context& context,
                                                    const WorkerFlags& flags) {
  auto loaded = load(with_short_flags(context, flags));
  if (!loaded) return std::nullopt;
  worker::WorkerOptions options;
  options.settings = loaded->settings;
  if (flags.process.empty()) {  // the supervisor says it for all
    for (const std::string& notice : loaded->notices) talk("note: " + notice);
  }
  auto controllers = controllers_of(context, local::TokenFor::kWorkers);
  if (!controllers) return std::nullopt;
  options.controllers = *std::move(controllers);
  for (net::ClientConfig& client : options.controllers) {
    client.user_timeout = options.settings.worker.tcp_user_timeout;
  }
  options.url = net::url_of(options.controllers.front().endpoint);
  WorkerInfo& info = options.info;
  // In a container the host has the name of the worker.
  info.machine = MachineId(flags.machine.empty() ? host_name() : flags.machine);
  info.zone = options.settings.worker.zone;
  info.group = options.settings.worker.group;
  info.slots = flags.slots > 0 ? flags.slots : std::max(1U, std::thread::hardware_concurrency());
  if (!flags.queues.empty()) info.queues = flags.queues;
  info.runtimes = flags.runtimes;
  for (auto* list : {&info.queues, &info.runtimes}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  if (!read_labels(flags, info) || !read_resources(flags, info)) return std::nullopt;
  if (!find_folders(flags, options)) return std::nullopt;
  if (!health_ports_fit(flags, options.settings.worker)) return std::nullopt;
  auto confinement = worker::confinement_of(options.settings.worker, options.work_dir);
  if (!confinement) {
    complain(confinement.error());
    return std::nullopt;
  }
  options.confinement = *std::move(confinement);
  for (const auto& user : options.confinement.allowed) info.users.push_back(user.as);
  return options;
}

void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

ExitCode run_process(const WorkerFlags& flags, worker::WorkerOptions options) {
  const auto logger = make_logger(options.settings.monitoring.log_level, flags.process);
  worker::ProcessOptions process;
  process.worker = std::move(options);
  process.worker.info.id = WorkerId(flags.process);
  process.worker.info.name = flags.process;
  process.incarnation = {flags.incarnation};
  process.record_path = flags.record_path;
  process.supervisor = flags.supervisor;
  process.life = flags.life;
  process.news_fd = flags.news_fd;
  return static_cast<ExitCode>(worker::run_worker_process(std::move(process), lines_to(logger)));
}

ExitCode supervise(const Context& context, const WorkerFlags& flags,
                   worker::WorkerOptions options) {
  const auto logger = make_logger(options.settings.monitoring.log_level, "supervisor");
  worker::SupervisorOptions supervisor;
  supervisor.worker = std::move(options);
  const std::string& name = supervisor.worker.settings.worker.name;
  supervisor.name = name.empty() ? host_name() : name;
  supervisor.name_is_given = !name.empty();
  if (name == "." || name == "..") {
    complain(fmt::format("--name '{}' is not allowed: it names a folder in paths and URLs", name));
    return ExitCode::kUsage;
  }
  supervisor.count = flags.count;
  supervisor.program = context.program;
  supervisor.arguments = context.arguments;
  supervisor.log = lines_to(logger);
  return static_cast<ExitCode>(worker::run_supervisor(std::move(supervisor)));
}

// Tasks inherit what the worker trusts, however it was given, but not the directory that a relative
// path starts in.
void make_trust_absolute(const Context& context) {
  const auto hand_on = [](const char* name, const std::string& path) {
    if (!path.empty()) ::setenv(name, path.c_str(), 1);
  };
  hand_on("VORTEX_CA_FILE", context.ca_file);
  hand_on("VORTEX_CERT_FILE", context.cert_file);
  hand_on("VORTEX_KEY_FILE", context.key_file);
  for (const char* name :
       {"SSL_CERT_FILE", "SSL_CERT_DIR", "VORTEX_CA_FILE", "VORTEX_CERT_FILE", "VORTEX_KEY_FILE"}) {
    const std::string path = variable(name);
    std::error_code fault;
    if (path.empty() || path.starts_with('/')) continue;
    const auto whole = std::filesystem::absolute(path, fault);
    if (!fault) ::setenv(name, whole.c_str(), 1);
  }
}

ExitCode work(const Context& context, const WorkerFlags& flags) {
  make_trust_absolute(context);
  vault::forget_key_variable();  // of a controller in the same environment: no task may see it
  auto options = worker_options(context, flags);
  if (!options) return ExitCode::kInvalid;
  block_signals();
  if (!flags.process.empty()) return run_process(flags, *std::move(options));
  return supervise(context, flags, *std::move(options));
}

void add_hidden(CommandSpec command, WorkerFlags& flags) {
  command.option("--process", flags.process).hidden();
  command.option("--incarnation", flags.incarnation).hidden();
  command.option("--record", flags.record_path).hidden();
  command.option("--supervisor", flags.supervisor).hidden();
  command.option("--life", flags.life).hidden();
  command.option("--machine", flags.machine).hidden();
  command.option("--news-fd", flags.news_fd).hidden();
}

}  // namespace

void add_worker(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("worker", "Run workers on this machine, supervised");
  command.group(kRunThings);
  auto flags = std::make_shared<WorkerFlags>();
  command.option("--name", flags->name, "Name workers NAME-1, NAME-2, ... (default: host name)");
  command.option("--count", flags->count, "Number of worker processes")
      .between(1, 1000)
      .shows_default();
  command.option("--slots", flags->slots, "Concurrent tasks per worker (default: number of cores)")
      .between(1, 10'000);
  command.option("--queue", flags->queues, "Take tasks from this queue; repeat for more")
      .default_text("default");
  command.option("--label", flags->labels,
                 "Label that tasks can require, NAME=VALUE; repeat for more");
  command.option("--runtime", flags->runtimes, "Runtime that tasks can require");
  command.option("--cpu", flags->cpu, "CPU cores for tasks (default: unlimited)");
  command.option("--memory", flags->memory, "Memory for tasks, such as 8GiB");
  command.option("--resource", flags->named, "Custom resource for tasks, NAME=AMOUNT");
  command.option("--zone", flags->zone, "Zone, for display and filtering");
  command.option("--group", flags->group, "Group, for display and filtering");
  command
      .option("--state-dir", flags->state_dir,
              "Directory for what must be cleaned up after a crash")
      .default_text(local::default_state_dir());
  command.option("--work-dir", flags->work_dir, "Directory for the files of tasks")
      .default_text(default_work_dir());
  command
      .option("--launcher", flags->launcher,
              "Start each worker as a subprocess or in its own container")
      .value_name("WORD")
      .default_text("subprocess");
  command
      .option("--container-root", flags->container_root,
              "Root directory of tasks in a container, such as an unpacked image (default: the "
              "machine's)")
      .value_name("DIR");
  command
      .option("--health-address", flags->health_address,
              "Address for /health, /livez and /readyz (default: the one facing the controller)")
      .value_name("ADDRESS");
  command
      .option("--health-port", flags->health_port,
              "Health port of NAME-1; NAME-2 uses the next one (default: any free port)")
      .value_name("PORT");
  add_hidden(command, *flags);
  command.example(
      "vortex worker --server http://controller:8080 --slots 8\n"
      "vortex worker --count 2 --queue gpu --label gpu=a100 --memory 64GiB\n"
      "vortex worker --launcher container --container-root /srv/images/small");
  command.on_chosen(chosen, [flags](Context& context) { return work(context, *flags); });
}

}  // namespace vortex::cli
