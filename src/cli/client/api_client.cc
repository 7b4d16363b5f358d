#include "cli/client/api_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <fmt/format.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/file_text.h"
#include "cli/client/login.h"
#include "net/socket.h"

namespace vortex::cli {
namespace {

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    is_plain(c) ? out += c : out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  // A segment of dots alone would be taken for a way up.
  if (out == "." || out == "..") out = out == "." ? "%2E" : "%2E%2E";
  return out;
}

std::string with_query(std::string_view path, const QueryItems& items) {
  std::string out(path);
  char separator = path.contains('?') ? '&' : '?';
  for (const auto& [name, value] : items) {
    if (value.empty()) continue;
    out += fmt::format("{}{}={}", separator, name, escaped(value));
    separator = '&';
  }
  return out;
}

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

// A file that was named, or else what the environment holds: a task finds the token of its attempt.
std::expected<std::string, ExitCode> token_of(const Context& context) {
  if (!context.token.empty()) return context.token;
  if (!context.token_file.empty()) return read_token(context.token_file);
  const char* given = std::getenv("VORTEX_TOKEN");
  return given == nullptr ? std::string() : std::string(given);
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

// Only for a port of this machine, and only in a connection to it.
std::function<std::string()> finder_for(const net::Endpoint& server, local::TokenFor whom) {
  const bool here = net::is_loopback(server.host) || server.host == "localhost";
  if (!here || server.tls) return {};
  return [port = server.port, whom] { return local::find_token(port, whom); };
}

bool leads_to(const Login& login, const net::Endpoint& server) {
  const auto known = net::parse_endpoint(login.url, kDefaultPort);
  return known && net::url_of(*known) == net::url_of(server);
}

}  // namespace

std::expected<std::shared_ptr<net::ClientTrust>, ExitCode> trust_of(const Context& context) {
  if (context.ca_file.empty() && context.cert_file.empty() && context.key_file.empty()) {
    return nullptr;
  }
  auto trust = net::ClientTrust::open({context.ca_file, context.cert_file, context.key_file});
  if (trust) return *std::move(trust);
  complain(trust.error(), "see --ca-file, --cert-file and --key-file");
  return std::unexpected(ExitCode::kInvalid);
}

std::expected<std::vector<net::ClientConfig>, ExitCode> controllers_of(const Context& context,
                                                                       local::TokenFor whom) {
  const auto login = read_login();
  Context chosen = context;
  if (chosen.servers.empty() && login) chosen.servers.push_back(login->url);
  const auto servers = read_servers(chosen);
  if (!servers) return std::unexpected(servers.error());
  auto token = token_of(context);
  if (!token) return std::unexpected(token.error());
  // What was given for one controller is shown to no other.
  const bool ours = login && servers->size() == 1 && leads_to(*login, servers->front());
  if (ours && token->empty()) token = login->token;
  if (ours && context.ca_file.empty()) chosen.ca_file = login->ca_file;
  const auto trust = trust_of(chosen);
  if (!trust) return std::unexpected(trust.error());
  std::vector<net::ClientConfig> controllers;
  for (const net::Endpoint& server : *servers) {
    net::ClientConfig& controller = controllers.emplace_back();
    controller.endpoint = server;
    controller.token = *token;
    if (token->empty()) controller.find_token = finder_for(server, whom);
    controller.trust = *trust;
  }
  return controllers;
}

namespace {

namespace asio = boost::asio;
using Tried = std::expected<net::Response, net::CallError>;

// Codes that leave open whether it was done. Everything else with 503 says that nothing happened.
constexpr std::array<std::string_view, 2> kMayHaveHappened{"VX-STORE-003", "VX-CTL-003"};
constexpr std::string_view kNotLeader = "VX-CTL-001";

Duration retry_after(const net::Response& response) {
  const auto header = net::find_header(response.headers, "Retry-After");
  std::int64_t wanted = 0;
  if (header) std::from_chars(header->data(), header->data() + header->size(), wanted);
  return seconds(std::clamp<std::int64_t>(wanted, 0, 3'600));
}

bool is_json(const net::Response& response) {
  return response.content_type.find("json") != std::string::npos;
}

ApiResult to_answer(net::Response response) {
  ApiAnswer answer;
  answer.status = response.status;
  answer.headers = std::move(response.headers);
  if (is_json(response) && !response.body.empty()) {
    boost::system::error_code ec;
    boost::json::parse_options options;
    options.max_depth = 128;
    answer.json = boost::json::parse(response.body, ec, {}, options);
    if (ec) {
      Failure failure;
      failure.status = response.status;
      failure.what = "the response is not valid JSON: " + ec.message();
      return std::unexpected(std::move(failure));
    }
  }
  answer.text = std::move(response.body);
  return answer;
}

}  // namespace

// What one try came to, when it did not succeed.
struct ApiClient::Judged {
  Failure failure;
  bool may_repeat = false;
  bool elsewhere = false;  // another controller may do better, at once
  Duration wait;           // at least so long before the same one is asked again
};

const boost::json::object& ApiAnswer::object() const {
  static const boost::json::object none;
  return json.is_object() ? json.get_object() : none;
}

bool is_repeatable(const ApiRequest& request) {
  return request.method == net::Method::kGet || request.method == net::Method::kHead ||
         request.method == net::Method::kPut ||
         net::find_header(request.headers, "Idempotency-Key").has_value();
}

std::string fresh_idempotency_key() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    bits[0] = static_cast<std::uint64_t>(wall_clock_now().us);
  }
  return fmt::format("cli-{:016x}{:016x}", bits[0], bits[1]);
}

std::expected<std::unique_ptr<ApiClient>, ExitCode> ApiClient::open(const Context& context) {
  const auto controllers = controllers_of(context);
  if (!controllers) return std::unexpected(controllers.error());
  ApiConfig config;
  for (const net::ClientConfig& controller : *controllers) {
    config.servers.push_back(controller.endpoint);
  }
  config.token = controllers->front().token;
  config.trust = controllers->front().trust;
  config.limit = context.timeout;
  if (context.verbose) config.trace = [](const std::string& line) { talk(line); };
  return std::make_unique<ApiClient>(std::move(config));
}

ApiClient::ApiClient(ApiConfig config) : config_(std::move(config)) {}

ApiResult ApiClient::call(ApiRequest request) {
  ApiResult result = std::unexpected(Failure{});
  asio::co_spawn(io_, send(std::move(request)),
                 [&](const std::exception_ptr& thrown, ApiResult answer) {
                   if (!thrown) result = std::move(answer);
                 });
  io_.restart();
  io_.run();
  return result;
}

asio::awaitable<ApiResult> ApiClient::send(ApiRequest request) {
  const Instant deadline = boot_clock_now() + config_.limit;
  std::uint32_t retries = 0;
  std::size_t moved = 0;  // controllers tried since the last wait
  for (;;) {
    const Duration left = std::max(deadline - boot_clock_now(), millis(1));
    // What can be repeated leaves time to ask again; what cannot gets it all.
    const Duration limit = is_repeatable(request) ? left / 2 : left;
    Tried answer = co_await try_once(request, limit);
    if (answer && answer->status < 400) co_return to_answer(*std::move(answer));
    Judged judged = judge(request, answer);
    if (!judged.may_repeat || given_up_ || request.repeat == Repeat::kNever) {
      co_return std::unexpected(std::move(judged.failure));
    }
    try_next_server();
    if (judged.elsewhere && ++moved < config_.servers.size()) continue;
    moved = 0;
    const Duration wait = std::max(config_.first_wait * (std::int64_t{1} << retries), judged.wait);
    const bool too_late = boot_clock_now() + wait >= deadline;
    if (retries++ == config_.retries_max || too_late) {
      co_return std::unexpected(std::move(judged.failure));
    }
    co_await sleep_for(wait);
  }
}

asio::awaitable<Tried> ApiClient::try_once(ApiRequest request, Duration limit) {
  std::unique_ptr<net::Client> client;
  if (!idle_.empty()) {
    client = std::move(idle_.back());
    idle_.pop_back();
  } else {
    client = connect();
  }
  const std::size_t asked = current_;
  const Instant begin = boot_clock_now();
  net::Call call;
  call.method = request.method;
  call.target = std::move(request.target);
  call.headers = std::move(request.headers);
  call.body = std::move(request.body);
  call.limit = limit;
  const std::string line = fmt::format("{} {}{}", net::to_text(call.method), server(), call.target);
  busy_.push_back(client.get());
  Tried answer = co_await client->send(std::move(call));
  std::erase(busy_, client.get());
  if (config_.trace) {
    const std::string end = answer ? fmt::format("{}", answer->status) : answer.error().detail;
    config_.trace(
        fmt::format("{} -> {} in {} ms", line, end, (boot_clock_now() - begin).us / 1'000));
  }
  if (answer && asked == current_) idle_.push_back(std::move(client));
  co_return answer;
}

asio::awaitable<void> ApiClient::sleep_for(Duration wait) {
  asio::steady_timer timer(io_, std::chrono::microseconds(wait.us));
  waiting_.push_back(&timer);
  const auto [ec] = co_await timer.async_wait(asio::as_tuple(asio::deferred));
  static_cast<void>(ec);
  std::erase(waiting_, &timer);
}

void ApiClient::give_up() {
  given_up_ = true;
  break_off();
}

void ApiClient::break_off() {
  for (net::Client* client : busy_) client->close();
  for (asio::steady_timer* timer : waiting_) timer->cancel();
}

ApiClient::Judged ApiClient::judge(const ApiRequest& request, const Tried& answer) const {
  Judged judged;
  if (!answer) {
    const net::CallFault fault = answer.error().fault;
    judged.failure = failure_of(answer.error(), server());
    const bool unsent = fault == net::CallFault::kRefused || fault == net::CallFault::kNotSent;
    const bool settled = fault == net::CallFault::kMalformed || fault == net::CallFault::kUntrusted;
    judged.may_repeat = unsent || (is_repeatable(request) && !settled);
    judged.elsewhere = true;
    if (judged.may_repeat && !unsent) {
      judged.failure.help = "check it with `vortex health`; increase the limit with --timeout";
    }
    return judged;
  }
  judged.failure = failure_of(*answer);
  const std::string& code = judged.failure.code;
  const bool busy = answer->status == 503 || answer->status == 429;
  const bool unknown = std::ranges::find(kMayHaveHappened, code) != kMayHaveHappened.end();
  // Something between us and the controller answered: nobody knows what it passed on.
  const bool foreign = code.empty();
  judged.may_repeat = busy && (is_repeatable(request) || (!unknown && !foreign));
  judged.elsewhere = code == kNotLeader || foreign;
  judged.wait = std::min(retry_after(*answer), config_.retry_after_max);
  return judged;
}

net::ClientConfig ApiClient::client_config() const {
  net::ClientConfig config;
  config.endpoint = config_.servers[current_];
  config.token = config_.token;
  if (config.token.empty()) {
    config.find_token = finder_for(config.endpoint, local::TokenFor::kCommands);
  }
  config.trust = config_.trust;
  return config;
}

std::unique_ptr<net::Client> ApiClient::connect() {
  return std::make_unique<net::Client>(io_.get_executor(), client_config());
}

void ApiClient::try_next_server() {
  if (config_.servers.size() < 2) return;
  current_ = (current_ + 1) % config_.servers.size();
  idle_.clear();
}

std::string ApiClient::server() const { return net::url_of(config_.servers[current_]); }

}  // namespace vortex::cli
