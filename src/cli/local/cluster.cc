#include "cli/local/cluster.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/local/own_tokens.h"
#include "net/client.h"
#include "net/socket.h"

namespace vortex::cli::local {
namespace {

constexpr Duration kLookAtController = millis(5);

std::string read_log(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_private(const std::string& path, const std::string& text) {
  const std::ofstream made(path);  // empty first, so that nobody reads it before it has its mode
  std::error_code ignored;
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  std::ofstream(path) << text << "\n";
}

}  // namespace

std::expected<std::unique_ptr<ControllerProcess>, std::string> ControllerProcess::start(
    ControllerConfig config, Duration limit) {
  if (config.port == 0) config.port = free_port();
  if (config.program.empty()) config.program = own_program();
  std::unique_ptr<ControllerProcess> child(new ControllerProcess(std::move(config)));
  child->client_.endpoint = {"127.0.0.1", child->port(), child->config_.secured};
  if (child->config_.secured) {
    if (auto made = child->secure(); !made) return std::unexpected(made.error());
  } else if (child->config_.tokens) {
    child->client_.find_token = [port = child->port()] {
      return find_token(port, TokenFor::kCommands);
    };
  }
  if (auto spawned = child->spawn(); !spawned) return std::unexpected(spawned.error());
  if (auto ready = child->wait_ready(limit); !ready) return std::unexpected(ready.error());
  return child;
}

// A CA, a certificate and the first token, as an operator would make them.
std::expected<void, std::string> ControllerProcess::secure() {
  const std::string& folder = config_.folder;
  const std::string said = folder + "/secure.log";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"tls", "init", folder + "/tls"},
        {"tokens", "create", "local", "--role", "admin", "--offline",
         "--database.path=" + database()}}) {
    ProcessConfig config;
    config.argv = {config_.program};
    config.argv.insert(config.argv.end(), command.begin(), command.end());
    config.log = said;
    auto process = Process::spawn(config);
    if (!process) return std::unexpected(process.error());
    if ((*process)->wait(seconds(30)) != 0) return std::unexpected(read_log(said));
  }
  std::istringstream lines(read_log(said));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("vx_")) client_.token = line;
  }
  if (client_.token.empty()) return std::unexpected("no token was made:\n" + read_log(said));
  write_private(folder + "/token", client_.token);
  auto trust = net::ClientTrust::open({folder + "/tls/ca.pem", {}, {}});
  if (!trust) return std::unexpected(trust.error());
  client_.trust = *std::move(trust);
  config_.flags.push_back("--controller.tls-cert-file=" + folder + "/tls/server.pem");
  config_.flags.push_back("--controller.tls-key-file=" + folder + "/tls/server.key");
  config_.flags.emplace_back("--controller.require-tokens=true");
  return {};
}

std::expected<void, std::string> ControllerProcess::spawn() {
  ProcessConfig config;
  config.argv = {config_.program, "controller", "--database.path=" + database(),
                 fmt::format("--controller.listen=127.0.0.1:{}", config_.port)};
  config.argv.insert(config.argv.end(), config_.flags.begin(), config_.flags.end());
  if (!config_.tokens && !config_.secured) config.argv.emplace_back("--no-tokens");
  config.environment = config_.environment;
  config.log = log();
  auto process = Process::spawn(config);
  if (!process) return std::unexpected(process.error());
  process_ = *std::move(process);
  return {};
}

std::expected<void, std::string> ControllerProcess::wait_ready(Duration limit) {
  const Instant until = boot_clock_now() + limit;
  while (boot_clock_now() < until) {
    net::Call call;
    call.target = "/readyz";
    call.limit = seconds(2);
    const auto answer = net::send_and_wait(client_, std::move(call));
    if (answer && answer->status == 200) return {};
    if (!is_alive()) {
      return std::unexpected("the controller exited:\n" + read_log(log()));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(kLookAtController.us));
  }
  return std::unexpected(std::string("the controller did not start in time"));
}

namespace {

constexpr Duration kClusterLook = millis(10);
constexpr std::size_t kRevivalsMax = 5;
constexpr Duration kRevivalsWithin = minutes(10);
constexpr int kStartTries = 20;
constexpr Duration kReadyLimit = seconds(30);
constexpr Duration kStopLimit = seconds(120);
constexpr std::size_t kLastWords = 2'000;

std::string last_words(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.size() > kLastWords ? all.substr(all.size() - kLastWords) : all;
}

// How many workers the controller knows as alive.
std::size_t live_workers(const net::ClientConfig& config) {
  net::Call call;
  call.target = "/api/workers?live";
  call.limit = seconds(2);
  const auto answer = net::send_and_wait(config, std::move(call));
  if (!answer || answer->status != 200) return 0;
  boost::system::error_code error;
  const auto json = boost::json::parse(answer->body, error);
  const auto* object = error ? nullptr : json.if_object();
  const auto* workers = object == nullptr ? nullptr : object->if_contains("workers");
  return workers != nullptr && workers->is_array() ? workers->as_array().size() : 0;
}

}  // namespace

std::expected<std::unique_ptr<Cluster>, std::string> Cluster::start(ClusterConfig config) {
  if (config.program.empty()) config.program = own_program();
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(config)));
  if (auto started = cluster->start_postgres(); !started) return std::unexpected(started.error());
  if (auto started = cluster->start_controllers(); !started) {
    return std::unexpected(started.error());
  }
  cluster->supervisors_.resize(cluster->config_.supervisors);
  for (std::size_t i = 0; i < cluster->supervisors_.size(); ++i) {
    if (auto started = cluster->start_supervisor(i); !started) {
      return std::unexpected(started.error());
    }
  }
  if (auto ready = cluster->wait_for_workers(); !ready) return std::unexpected(ready.error());
  return cluster;
}

Cluster::~Cluster() { stop(); }

std::string Cluster::url() const { return net::url_of(endpoint()); }

net::Endpoint Cluster::endpoint() const { return client().endpoint; }

std::string Cluster::urls() const {
  std::string all;
  for (const auto& controller : controllers_) {
    if (!all.empty()) all += ',';
    all += net::url_of(controller->client().endpoint);
  }
  return all;
}

std::expected<void, std::string> Cluster::start_postgres() {
  if (!config_.postgres) return {};
  auto started = PostgresServer::start({.folder = config_.folder + "/postgres",
                                        .sockets = {},
                                        .tcp = false,
                                        .durable = true,
                                        .settings = {}});
  if (!started) return std::unexpected(started.error());
  postgres_ = *std::move(started);
  return {};
}

std::expected<std::unique_ptr<ControllerProcess>, std::string> Cluster::start_controller(
    std::size_t index, std::uint16_t port) const {
  ControllerConfig child;
  child.program = config_.program;
  child.folder = config_.folder;
  child.port = port;
  child.flags = config_.settings;
  child.tokens = config_.tokens;
  child.secured = config_.secured;
  if (postgres_) child.flags.push_back("--database.url=" + postgres_->url());
  if (index > 0) {
    child.log = fmt::format("controller-{}.log", index + 1);
    child.flags.push_back(
        fmt::format("--monitoring.monitor-log={}/monitor-{}.log", config_.folder, index + 1));
  }
  return ControllerProcess::start(std::move(child));
}

std::expected<void, std::string> Cluster::start_controllers() {
  for (std::size_t i = 0; i < config_.controllers; ++i) {
    // Next to each other where that is possible, so that people remember them.
    std::uint16_t port = config_.port;
    if (i > 0) {
      const auto next = static_cast<std::uint16_t>(controllers_.back()->port() + 1);
      port = is_free(next) ? next : std::uint16_t{0};
    }
    auto started = start_controller(i, port);
    if (!started) return std::unexpected(started.error());
    controllers_.push_back(*std::move(started));
  }
  return {};
}

std::expected<void, std::string> Cluster::start_controller_again(std::size_t index) {
  auto started = start_controller(index, controllers_[index]->port());
  if (!started) return std::unexpected(started.error());
  controllers_[index] = *std::move(started);
  return {};
}

std::string Cluster::supervisor_log(std::size_t index) const {
  return fmt::format("{}/workers{}.log", config_.folder,
                     index == 0 ? "" : fmt::format("-{}", index + 1));
}

std::expected<void, std::string> Cluster::start_supervisor(std::size_t index) {
  ProcessConfig process;
  // The port is in the name: two clusters on one host keep apart.
  const std::string name = fmt::format(
      "local-{}{}", controllers_.front()->port(),
      supervisors_.size() == 1 ? std::string() : std::string(1, static_cast<char>('a' + index)));
  process.argv = {config_.program,
                  "worker",
                  "--server",
                  urls(),
                  "--name",
                  name,
                  "--count",
                  std::to_string(config_.workers),
                  "--slots",
                  std::to_string(config_.slots),
                  "--state-dir",
                  config_.folder + "/state",
                  "--work-dir",
                  config_.folder + "/work",
                  "--monitoring.monitor-log=" + config_.folder + "/monitor.log"};
  if (config_.secured) {
    process.argv.insert(process.argv.end(), {"--token-file", config_.folder + "/token", "--ca-file",
                                             config_.folder + "/tls/ca.pem"});
  } else if (config_.tokens) {
    process.argv.insert(
        process.argv.end(),
        {"--token-file", token_path(controllers_.front()->database(), TokenFor::kWorkers)});
  }
  process.argv.insert(process.argv.end(), config_.worker_flags.begin(), config_.worker_flags.end());
  process.argv.insert(process.argv.end(), config_.settings.begin(), config_.settings.end());
  process.log = supervisor_log(index);
  process.workdir = config_.workdir;
  auto started = Process::spawn(process);
  if (!started) return std::unexpected(started.error());
  supervisors_[index] = *std::move(started);
  return {};
}

std::expected<void, std::string> Cluster::wait_for_workers() {
  const std::size_t wanted = std::size_t{config_.workers} * config_.supervisors;
  const Instant until = boot_clock_now() + kReadyLimit;
  while (boot_clock_now() < until) {
    if (live_workers(client()) >= wanted) return {};
    if (const std::string wrong = trouble(); !wrong.empty()) return std::unexpected(wrong);
    std::this_thread::sleep_for(std::chrono::microseconds(kClusterLook.us));
  }
  return std::unexpected("the workers did not start in time:\n" + last_words(supervisor_log(0)));
}

std::expected<std::string, std::string> Cluster::revive_postgres() {
  if (!postgres_ || postgres_->is_alive()) return std::string();
  const Instant now = boot_clock_now();
  std::erase_if(revivals_, [now](Instant at) { return at + kRevivalsWithin < now; });
  if (revivals_.size() >= kRevivalsMax) {
    return std::unexpected(fmt::format("PostgreSQL exited {} times within {} minutes:\n{}",
                                       revivals_.size() + 1, kRevivalsWithin.us / 60'000'000,
                                       last_words(postgres_->log())));
  }
  revivals_.push_back(now);
  std::expected<void, std::string> started;
  // What is left of a killed server may hold its memory for a moment longer.
  for (int tries = 0; tries < kStartTries; ++tries) {
    started = postgres_->start_again();
    if (started) return std::string("PostgreSQL exited; it was started again");
    std::this_thread::sleep_for(std::chrono::microseconds(kClusterLook.us));
  }
  return std::unexpected("PostgreSQL exited, and " + started.error());
}

std::string Cluster::trouble() {
  if (postgres_ && !postgres_->is_alive()) {
    return "PostgreSQL exited:\n" + last_words(postgres_->log());
  }
  for (const auto& controller : controllers_) {
    if (!controller->is_alive()) return "a controller exited:\n" + last_words(controller->log());
  }
  for (std::size_t i = 0; i < supervisors_.size(); ++i) {
    if (supervisors_[i] && !supervisors_[i]->is_alive()) {
      return "the supervisor of the workers exited:\n" + last_words(supervisor_log(i));
    }
  }
  return {};
}

void Cluster::stop() {
  for (const auto& supervisor : supervisors_) {
    if (supervisor) supervisor->signal(SIGTERM);
  }
  for (const auto& supervisor : supervisors_) {
    if (supervisor) supervisor->wait(kStopLimit);
  }
  supervisors_.clear();
  for (const auto& controller : controllers_) controller->signal(SIGTERM);
  for (const auto& controller : controllers_) controller->stop();
  if (postgres_) postgres_->stop();
}

}  // namespace vortex::cli::local
