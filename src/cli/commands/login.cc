#include "cli/client/login.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include "base/file_text.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/local/folder.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"
#include "net/socket.h"

namespace vortex::cli {
namespace {

constexpr std::uint16_t kLoginPort = 8080;
constexpr std::size_t kCaBytesMax = std::size_t{1024} * 1024;

struct LoginFlags {
  std::string url;
  std::string fingerprint;
};

// Whether this CA is the one that the user means. Off a terminal only a fingerprint can say so.
std::optional<ExitCode> not_this_one(const LoginFlags& flags, const net::UntrustedPeer& shown) {
  const std::string& theirs = shown.top.fingerprint;
  if (!flags.fingerprint.empty()) {
    if (net::same_fingerprint(flags.fingerprint, theirs)) return std::nullopt;
    complain(fmt::format("the fingerprint of the server's CA is {}", theirs),
             "it is not the one you passed: check the address, or whether somebody is in between");
    return ExitCode::kAuth;
  }
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    complain(
        fmt::format("the server's CA is not trusted yet; its fingerprint is {}", theirs),
        fmt::format("if that is what `vortex tls init` printed, pass --fingerprint {}", theirs));
    return ExitCode::kAuth;
  }
  talk(fmt::format("The server at {} has a certificate of this CA:\n  {}\n  {}", flags.url,
                   shown.top.subject, theirs));
  say_here("Compare it with what `vortex tls init` printed. Trust it? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  talk("nothing was done");
  return ExitCode::kFailed;
}

// The CA to trust from now on, as PEM; empty: what the system trusts is enough.
std::expected<std::string, ExitCode> agree_on_ca(const Context& context, const LoginFlags& flags,
                                                 const net::Endpoint& server) {
  if (!server.tls) return std::string();
  const auto trust = trust_of(context);
  if (!trust) return std::unexpected(trust.error());
  net::ClientConfig config;
  config.endpoint = server;
  config.trust = *trust;
  net::Call call;
  call.target = "/livez";
  call.limit = context.timeout;
  const auto answer = net::send_and_wait(config, std::move(call));
  if (answer) {
    if (!flags.fingerprint.empty()) {
      complain("the server's certificate is already trusted", "omit --fingerprint");
      return std::unexpected(ExitCode::kUsage);
    }
    if (context.ca_file.empty()) return std::string();
    return read_file_text(context.ca_file, kCaBytesMax).value_or(std::string());
  }
  const auto& shown = answer.error().shown;
  const bool unknown = shown && shown->why.starts_with("unknown CA");
  if (!unknown) return std::unexpected(report(failure_of(answer.error(), net::url_of(server))));
  if (!shown->top.self_signed) {
    complain("the server does not send the certificate of its CA", "pass it with --ca-file");
    return std::unexpected(ExitCode::kAuth);
  }
  if (const auto no = not_this_one(flags, *shown)) return std::unexpected(*no);
  return shown->top_pem;
}

// A line of standard input, not shown while it is typed.
std::string read_secret_line() {
  const bool typed = is_terminal(STDIN_FILENO);
  termios before{};
  const bool hidden = typed && ::tcgetattr(STDIN_FILENO, &before) == 0;
  if (typed) say_here("Token (empty if none is needed): ");
  if (hidden) {
    termios quiet = before;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  std::string line;
  std::getline(std::cin, line);
  if (hidden) {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    say_here("\n");
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

// Who may not see the status is known all the same.
std::optional<ExitCode> refuses(const Context& context, const net::ClientConfig& controller) {
  ApiConfig config;
  config.servers = {controller.endpoint};
  config.token = controller.token;
  config.trust = controller.trust;
  config.limit = context.timeout;
  ApiClient api(std::move(config));
  const auto answer = api.get("/api/status");
  if (answer || answer.error().status == 403) return std::nullopt;
  return report(answer.error());
}

ExitCode log_in(const Context& context, const LoginFlags& flags) {
  const auto server = net::parse_endpoint(flags.url, kLoginPort);
  if (!server) {
    complain(fmt::format("{} is not an address", flags.url), "write it as https://host:port");
    return ExitCode::kUsage;
  }
  if (net::is_in_clear(*server)) {
    complain(fmt::format("not sending a token to {} in clear text", net::url_of(*server)),
             "use https://; `vortex tls init` makes the certificates that a controller needs");
    return ExitCode::kAuth;
  }
  const auto ca = agree_on_ca(context, flags, *server);
  if (!ca) return ca.error();
  const local::TempFolder folder;
  Context asked = context;
  if (!ca->empty()) {
    asked.ca_file = folder.path() + "/ca.pem";
    std::ofstream(asked.ca_file) << *ca;
  }
  asked.servers = {net::url_of(*server)};
  auto controllers = controllers_of(asked);
  if (!controllers) return controllers.error();
  net::ClientConfig& controller = controllers->front();
  if (context.token_file.empty()) controller.token = read_secret_line();
  if (const auto no = refuses(context, controller)) return *no;
  const auto kept = write_login({net::url_of(*server), controller.token, {}}, *ca);
  if (!kept) {
    complain(kept.error());
    return ExitCode::kFailed;
  }
  if (!context.quiet) {
    print(fmt::format("Logged in to {}; kept in {}\n", net::url_of(*server), *kept));
  }
  return ExitCode::kOk;
}

ExitCode log_out(const Context& context) {
  const auto login = read_login();
  const bool gone = remove_login();
  if (!context.quiet) {
    print(gone && login ? fmt::format("Logged out of {}\n", login->url) : "Not logged in\n");
  }
  return ExitCode::kOk;
}

}  // namespace

void add_login(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("login", "Store a controller's address, CA and token for later commands")
          .group(kOperate);
  auto flags = std::make_shared<LoginFlags>();
  command.option("url", flags->url, "Address of the controller").required();
  command
      .option("--fingerprint", flags->fingerprint,
              "Trust the server's CA if it has this fingerprint; required off a terminal")
      .value_name("SHA256");
  command.example(
      "vortex login https://controller:8443 --token-file admin.token\n"
      "vortex login https://10.0.0.5:8443 --fingerprint SHA256:3A:... < admin.token");
  command.on_chosen(chosen, [flags](Context& context) { return log_in(context, *flags); });
}

void add_logout(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("logout", "Delete what `vortex login` has stored").group(kOperate);
  command.example("vortex logout");
  command.on_chosen(chosen, [](Context& context) { return log_out(context); });
}

}  // namespace vortex::cli
