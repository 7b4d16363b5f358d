#include "cli/server.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace vortex::cli {
namespace {

std::expected<std::string, ExitCode> read_token(const std::string& path) {
  if (path.empty()) return std::string{};
  std::ifstream file(path);
  std::string token;
  if (file >> token) return token;
  complain(fmt::format("the token file {} can not be read", path));
  return std::unexpected(ExitCode::kAuth);
}

}  // namespace

std::expected<net::Response, ExitCode> call_server(const Context& context, net::Method method,
                                                   std::string target, std::string body) {
  const auto endpoint = net::parse_endpoint(context.server, 8080);
  if (!endpoint) {
    complain(fmt::format("--server {} is not an address", context.server),
             "write it as http://host:port");
    return std::unexpected(ExitCode::kUsage);
  }
  auto token = read_token(context.token_file);
  if (!token) return std::unexpected(token.error());
  net::ClientConfig config;
  config.endpoint = *endpoint;
  config.token = std::move(*token);
  net::Call call;
  call.method = method;
  call.target = std::move(target);
  call.body = std::move(body);
  auto answer = net::send_and_wait(config, std::move(call));
  if (answer) return std::move(*answer);
  complain(fmt::format("no answer from {}: {}", context.server, answer.error().detail),
           "is a controller running there? start one with `vortex controller`");
  return std::unexpected(ExitCode::kUnreachable);
}

}  // namespace vortex::cli
