#include "cli/local/controller_process.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "net/client.h"

namespace vortex::cli::local {
namespace {

constexpr Duration kLook = millis(5);

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::expected<std::unique_ptr<ControllerProcess>, std::string> ControllerProcess::start(
    ControllerConfig config, Duration limit) {
  if (config.port == 0) config.port = free_port();
  if (config.program.empty()) config.program = own_program();
  std::unique_ptr<ControllerProcess> child(new ControllerProcess(std::move(config)));
  if (auto spawned = child->spawn(); !spawned) return std::unexpected(spawned.error());
  if (auto ready = child->wait_ready(limit); !ready) return std::unexpected(ready.error());
  return child;
}

std::expected<void, std::string> ControllerProcess::spawn() {
  ProcessConfig config;
  config.argv = {config_.program, "controller", "--database.path=" + database(),
                 fmt::format("--controller.listen=127.0.0.1:{}", config_.port)};
  config.argv.insert(config.argv.end(), config_.flags.begin(), config_.flags.end());
  config.environment = config_.environment;
  config.log = config_.folder + "/controller.log";
  auto process = Process::spawn(config);
  if (!process) return std::unexpected(process.error());
  process_ = *std::move(process);
  return {};
}

std::expected<void, std::string> ControllerProcess::wait_ready(Duration limit) {
  const Instant until = boot_clock_now() + limit;
  net::ClientConfig config;
  config.endpoint.port = config_.port;
  while (boot_clock_now() < until) {
    net::Call call;
    call.target = "/readyz";
    call.limit = seconds(2);
    const auto answer = net::send_and_wait(config, std::move(call));
    if (answer && answer->status == 200) return {};
    if (!is_alive()) {
      return std::unexpected("the controller exited:\n" +
                             read_file(config_.folder + "/controller.log"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(kLook.us));
  }
  return std::unexpected(std::string("the controller did not start in time"));
}

}  // namespace vortex::cli::local
