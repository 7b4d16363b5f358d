#include "worker/agent_shell.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/version.h"
#include "base/wiped.h"
#include "codec/json_writer.h"
#include "codec/sync_json.h"
#include "net/socket.h"
#include "worker/answers.h"
#include "worker/known_controllers.h"

namespace vortex::worker {

namespace asio = boost::asio;

class AgentShell::Impl : public std::enable_shared_from_this<AgentShell::Impl> {
 public:
  Impl(asio::io_context& io, agent::AgentConfig config,
       const std::vector<net::ClientConfig>& controllers, ShellHooks hooks)
      : io_(io), timer_(io), hooks_(std::move(hooks)), agent_(std::move(config)) {
    for (const net::ClientConfig& controller : controllers) {
      lines_.push_back(line_to(controller));
    }
    given_ = lines_.size();
  }

  // The agent is asked on the thread that has the news: a slot that is free gets its next task at
  // once, and the thread of the calls is woken only for a call or for an earlier wake-up.
  void tell(agent::Input input) {
    const std::scoped_lock guard(mutex_);
    step(std::move(input));
    if ((calls_.empty() && wake_ >= armed_for_) || std::exchange(asked_, true)) return;
    asio::post(io_, [self = shared_from_this()] { self->attend(); });
  }

  // After this nothing is told or called any more.
  void close() {
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    timer_.cancel();
    for (Line& line : lines_) {
      if (line.poll.client) line.poll.client->close();
      if (line.report.client) line.report.client->close();
    }
  }

  ShellState state() const {
    const std::scoped_lock guard(mutex_);
    ShellState out;
    out.registered = registered_;
    out.fenced = agent_.fenced();
    out.held = agent_.table().attempts().size();
    out.incarnation = agent_.incarnation();
    out.heard_at = heard_at_;
    return out;
  }

 private:
  using Ordered = std::variant<agent::SendRegister, agent::SendSync, agent::HangUp>;

  // Reports never wait behind the parked poll: each controller is called over two connections.
  struct Connection {
    std::unique_ptr<net::Client> client;
    agent::CallId under_way;  // 0: none
  };
  struct Line {
    Connection poll;
    Connection report;
    std::string name;
    net::ClientConfig config;
  };

  static Line line_to(const net::ClientConfig& controller) {
    return {{},
            {},
            fmt::format("{}:{}", controller.endpoint.host, controller.endpoint.port),
            controller};
  }

  // Precondition: locked. Starts and kills are passed on before anybody else can ask the agent, so
  // that the executor has them in the order they were decided in.
  void step(agent::Input input) {
    if (closed_ || agent_.exited()) return;
    agent::Outbox outbox = agent_.on(std::move(input), boot_clock_now());
    hooks_.renewed(agent_.tasks_until());
    for (agent::Output& output : outbox) {
      std::visit([this](auto& order) { take(order); }, output);
    }
    wake_ = agent_.exited() ? kNever : agent_.next_wake();
  }
  void take(agent::StartProcess& start) const { hooks_.start(std::move(start.assignment)); }
  void take(agent::KillProcess& kill) const { hooks_.kill(kill.attempt); }
  void take(agent::Exit& exit) const { hooks_.exited(exit.how); }
  void take(agent::SendRegister& send) { calls_.emplace_back(std::move(send)); }
  void take(agent::SendSync& send) { calls_.emplace_back(std::move(send)); }
  void take(agent::HangUp& hang_up) { calls_.emplace_back(hang_up); }

  void feed(agent::Input input) {
    {
      const std::scoped_lock guard(mutex_);
      step(std::move(input));
    }
    attend();
  }

  // Makes the calls that were decided on, in that order, and sets the timer.
  void attend() {
    std::vector<Ordered> calls;
    {
      const std::scoped_lock guard(mutex_);
      asked_ = false;
      calls.swap(calls_);
      arm();
    }
    for (Ordered& call : calls) {
      std::visit([this](auto& order) { perform(order); }, call);
    }
  }

  void perform(agent::SendRegister& send) {
    registering_ = send.incarnation;
    hooks_.registering(send.incarnation);
    net::Call call;
    call.method = net::Method::kPost;
    call.target = "/api/workers";
    call.body = codec::write_register({send.info, send.incarnation});
    if (!told_.empty()) call.headers.emplace_back(kControllersHeader, told_);
    call.limit = send.time_limit;
    make({send.controller, agent::Channel::kReport, send.call}, std::move(call), Kind::kRegister);
  }

  void perform(agent::SendSync& send) {
    send.request.worker_clock = wall_clock_now();
    net::Call call;
    call.method = net::Method::kPost;
    call.target = "/api/workers/" + send.request.worker.text + "/sync";
    call.body = codec::write_sync(send.request);
    add_session(call, send.session);
    if (!told_.empty()) call.headers.emplace_back(kControllersHeader, told_);
    call.limit = send.time_limit;
    call.wiped = true;
    make({send.controller, send.channel, send.call}, std::move(call), Kind::kSync);
  }

  void perform(const agent::HangUp& hang_up) {
    Connection& connection = connection_of({hang_up.controller, hang_up.channel, hang_up.call});
    if (connection.under_way != hang_up.call) return;  // it has just ended by itself
    connection.under_way = {};
    const std::scoped_lock guard(mutex_);  // close() may come from another thread
    connection.client.reset();
  }

  enum class Kind : std::uint8_t { kRegister, kSync };
  struct Made {
    agent::ControllerIx controller;
    agent::Channel channel{};
    agent::CallId id;
  };

  void make(Made made, net::Call call, Kind kind) {
    Line& line = lines_[made.controller.value];
    Connection& connection = connection_of(made);
    VX_ASSERT(connection.under_way == agent::CallId{});
    if (!connection.client) {
      const std::scoped_lock guard(mutex_);  // close() may come from another thread
      if (closed_) return;
      connection.client = std::make_unique<net::Client>(io_.get_executor(), line.config);
    }
    connection.under_way = made.id;
    // The coroutine keeps the shell, and with it the client, alive until the call is over.
    asio::co_spawn(io_, connection.client->send(std::move(call)),
                   [self = shared_from_this(), made, kind](const std::exception_ptr& error,
                                                           CallResult result) {
                     Connection& used = self->connection_of(made);
                     if (used.under_way == made.id) used.under_way = {};
                     if (error) return self->failed(made, "internal client error", {});
                     self->over(made, kind, result);
                     if (result) wipe(result->body);  // secrets may have come with it
                   });
  }

  Connection& connection_of(const Made& made) {
    Line& line = lines_[made.controller.value];
    return made.channel == agent::Channel::kPoll ? line.poll : line.report;
  }

  void over(const Made& made, Kind kind, const CallResult& result) {
    if (closed_) return;
    auto answer = kind == Kind::kRegister ? read_register_answer(made.id, result)
                                          : read_sync_answer(made.id, result);
    if (!answer) return failed(made, answer.error().why, answer.error().retry_after);
    well(made, *answer);
    if (const auto told = net::find_header(result->headers, kControllersHeader)) {
      learn(lines_[made.controller.value].config, std::string(*told));
    }
    feed(*std::move(answer));
  }

  void well(const Made& made, const agent::Input& answer) {
    if (const auto* reply = std::get_if<agent::RegisterAnswer>(&answer)) {
      const auto* accepted = std::get_if<agent::RegisterAccepted>(&reply->result);
      if (accepted == nullptr) return;
      hooks_.registered(registering_, accepted->session);
      if (!std::exchange(registered_, true)) hooks_.ready();
      hooks_.log(LogLevel::kInfo,
                 fmt::format("registered with {}", lines_[made.controller.value].name));
    }
    heard_at_ = boot_clock_now();
    if (!std::exchange(trouble_, {}).empty()) {
      hooks_.log(LogLevel::kInfo,
                 fmt::format("{} answers again", lines_[made.controller.value].name));
    }
  }

  // Controllers that this one names are called as well, with the same token, when it is their turn.
  // Not without TLS if this one was reached with it: the token would be sent in clear.
  void learn(net::ClientConfig teller, std::string told) {
    const std::vector<net::Endpoint> named = named_controllers(teller, told);
    hooks_.learned(teller, told);
    for (const net::Endpoint& endpoint : named) {
      const auto is_it = [&endpoint](const Line& line) { return is_same(line, endpoint); };
      if (std::ranges::any_of(lines_, is_it)) continue;
      net::ClientConfig config = teller;
      config.endpoint = endpoint;
      const std::scoped_lock guard(mutex_);  // close() may come from another thread
      Line* place = forgotten(named);
      if (place != nullptr) *place = line_to(config);
      if (place == nullptr && lines_.size() < given_ + kLearnedMax) {
        lines_.push_back(line_to(config));
      }
    }
    told_ = std::move(told);
    feed(agent::ControllersKnown{static_cast<std::uint32_t>(lines_.size())});
  }

  static bool is_same(const Line& line, const net::Endpoint& endpoint) {
    return net::url_of(line.config.endpoint) == net::url_of(endpoint);
  }

  // A place of one that was learned, is not named any more and is not being called.
  Line* forgotten(const std::vector<net::Endpoint>& named) {
    for (std::size_t i = given_; i < lines_.size(); ++i) {
      Line& line = lines_[i];
      const bool idle =
          line.poll.under_way == agent::CallId{} && line.report.under_way == agent::CallId{};
      const auto is_it = [&line](const net::Endpoint& one) { return is_same(line, one); };
      if (idle && std::ranges::none_of(named, is_it)) return &line;
    }
    return nullptr;
  }

  // The same trouble is told once, however often it is met.
  void failed(const Made& made, const std::string& why, Duration retry_after) {
    if (closed_) return;
    std::string told = fmt::format("{}: {}", lines_[made.controller.value].name, why);
    if (told != trouble_) hooks_.log(LogLevel::kWarn, told);
    trouble_ = std::move(told);
    feed(agent::CallFailed{made.id, retry_after, {}});
  }

  // Precondition: locked. A tick that comes too soon does no harm, so a timer is only ever set anew
  // for an earlier time: with short tasks the wish changes thousands of times a second.
  void arm() {
    if (wake_ >= armed_for_ || closed_) return;
    armed_for_ = wake_;
    const Duration wait = std::max(wake_ - boot_clock_now(), micros(0));
    timer_.expires_after(std::chrono::microseconds(wait.us));
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error) return;
      self->tick();
    });
  }

  void tick() {
    {
      const std::scoped_lock guard(mutex_);
      armed_for_ = kNever;
    }
    feed(agent::Tick{});
  }

  asio::io_context& io_;
  asio::steady_timer timer_;
  ShellHooks hooks_;
  std::deque<Line> lines_;  // grows; those that were given come first
  std::size_t given_ = 0;

  // Held for the microseconds of one step and never while anything is waited for.
  mutable std::mutex mutex_;
  agent::Agent agent_;
  std::vector<Ordered> calls_;  // not made yet
  Instant wake_ = kNever;       // when the agent wants to be asked again
  Instant armed_for_ = kNever;
  bool asked_ = false;  // `attend` is on its way
  bool closed_ = false;

  // On the thread of `io_` alone.
  bool registered_ = false;
  Incarnation registering_;
  Instant heard_at_;
  std::string told_;     // what controllers are there, as it was told last
  std::string trouble_;  // told last; empty: all is well
};

AgentShell::AgentShell(asio::io_context& io, agent::AgentConfig config,
                       const std::vector<net::ClientConfig>& controllers, ShellHooks hooks)
    : impl_(std::make_shared<Impl>(io, std::move(config), controllers, std::move(hooks))) {}

AgentShell::~AgentShell() { close(); }

void AgentShell::close() { impl_->close(); }
void AgentShell::tell(agent::Input input) { impl_->tell(std::move(input)); }
ShellState AgentShell::state() const { return impl_->state(); }

namespace {

constexpr std::uint32_t kConnectionsMax = 64;
constexpr int kNotFound = 404;
constexpr int kUnwell = 503;

// It is well while its heartbeats are answered: a worker that beats into the void is of no use.
bool is_well(const ShellState& state, Duration beat) {
  return state.registered && !state.fenced && boot_clock_now() - state.heard_at < beat * 3;
}

net::Response answer(const HealthConfig& config, const net::Request& request) {
  net::Response response;
  const std::string path = request.segments.size() == 1 ? request.segments[0] : "";
  if (path != "health" && path != "livez" && path != "readyz") {
    response.status = kNotFound;
    response.body = "{\"error\":\"a worker serves /health, /livez and /readyz\"}\n";
    return response;
  }
  const ShellState state = config.state();
  const bool well = path == "livez" || is_well(state, config.beat);
  const bool heard = state.heard_at > Instant{};
  codec::JsonWriter json(response.body);
  json.begin_object();
  json.field("status", well ? "healthy" : "unhealthy");
  json.field("id", config.worker).field("agent_id", config.worker);
  json.field("version", std::string_view(version()));
  json.field("uptime_seconds", (boot_clock_now() - config.started_at).us / 1'000'000);
  json.field("active_leases", state.held);
  if (heard) {
    json.field("last_heartbeat_age_ms", (boot_clock_now() - state.heard_at).us / 1'000);
  } else {
    json.key("last_heartbeat_age_ms").null();
  }
  const bool connected = is_well(state, config.beat);
  json.field("last_heartbeat_success", connected);
  json.field("store_connected", connected).field("metadata_store_connected", connected);
  json.field("fenced", state.fenced);
  json.field("incarnation", state.incarnation.value);
  json.end_object();
  response.body += '\n';
  if (!well) response.status = kUnwell;
  return response;
}

}  // namespace

std::expected<std::unique_ptr<net::Server>, std::string> serve_health(asio::io_context& io,
                                                                      HealthConfig config) {
  net::ServerConfig server;
  server.address = config.listen;
  server.port = config.port;
  server.connections_max = kConnectionsMax;
  server.body_bytes_max = 0;
  auto shared = std::make_shared<const HealthConfig>(std::move(config));
  net::Handler handler = [shared](net::Exchange& exchange) -> asio::awaitable<net::Response> {
    co_return answer(*shared, exchange.request());
  };
  net::Complain complain = [](int status, std::string_view detail) {
    net::Response response;
    response.status = status;
    codec::JsonWriter json(response.body);
    json.begin_object().field("error", detail).end_object();
    return response;
  };
  return net::Server::listen(io, server, std::move(handler), std::move(complain));
}

std::string own_address_towards(const net::Endpoint& towards) {
  // Connecting a datagram socket sends nothing; it asks the routing table.
  asio::io_context io;
  boost::system::error_code error;
  asio::ip::udp::resolver resolver(io);
  const auto found = resolver.resolve(towards.host, std::to_string(towards.port), error);
  for (const auto& entry : found) {
    asio::ip::udp::socket socket(io);
    socket.connect(entry.endpoint(), error);
    if (error) continue;
    const auto own = socket.local_endpoint(error);
    if (!error) return own.address().to_string();
  }
  return "127.0.0.1";
}

}  // namespace vortex::worker
