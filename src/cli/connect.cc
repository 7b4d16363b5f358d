#include "cli/connect.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/file_text.h"

namespace vortex::cli {
namespace {

constexpr std::uint16_t kDefaultPort = 8080;
constexpr std::size_t kTokenFileBytesMax = 64UL * 1024;

std::expected<std::string, ExitCode> read_token(const std::string& path) {
  if (path.empty()) return std::string{};
  const auto text = read_file_text(path, kTokenFileBytesMax);
  const std::string_view white = " \t\r\n";
  const std::size_t begin = text ? text->find_first_not_of(white) : std::string::npos;
  if (begin != std::string::npos) {
    return text->substr(begin, text->find_first_of(white, begin) - begin);
  }
  complain(fmt::format("the token file {} {}", path, text ? "is empty" : text.error().why),
           "it must contain only the token; it is set by --token-file or VORTEX_TOKEN_FILE");
  return std::unexpected(ExitCode::kAuth);
}

// Each --server may itself be a list with commas.
std::expected<std::vector<net::Endpoint>, ExitCode> read_servers(const Context& context) {
  std::vector<net::Endpoint> found;
  std::vector<std::string> texts = context.servers;
  if (texts.empty()) texts.emplace_back(kDefaultServer);
  for (const std::string& text : texts) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string one = text.substr(at, end - at);
      at = end + 1;
      if (one.empty()) continue;
      const auto endpoint = net::parse_endpoint(one, kDefaultPort);
      if (!endpoint) {
        complain(fmt::format("--server {} is not an address", one), "write it as http://host:port");
        return std::unexpected(ExitCode::kUsage);
      }
      found.push_back(*endpoint);
    }
  }
  if (!found.empty()) return found;
  complain("--server contains no address", "write it as http://host:port");
  return std::unexpected(ExitCode::kUsage);
}

}  // namespace

std::expected<std::vector<net::ClientConfig>, ExitCode> controllers_of(const Context& context) {
  const auto servers = read_servers(context);
  if (!servers) return std::unexpected(servers.error());
  const auto token = read_token(context.token_file);
  if (!token) return std::unexpected(token.error());
  std::vector<net::ClientConfig> controllers;
  for (const net::Endpoint& server : *servers) {
    net::ClientConfig& controller = controllers.emplace_back();
    controller.endpoint = server;
    controller.token = *token;
  }
  return controllers;
}

}  // namespace vortex::cli
