// vortex events: the monitor log, as it stands and as it goes on.
#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/client/follow.h"
#include "cli/commands/commands.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"
#include "model/event.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr std::uint64_t kPage = 10'000;
constexpr std::uint64_t kLookBack = 100'000;  // events that a filter looks through from the end

struct EventsOptions {
  std::optional<std::uint64_t> after;
  std::uint64_t limit = 50;
  std::string kind;
  std::string run;
  std::string worker;
  bool follow = false;
};

// "task_failed r42-L1-7 w1 code=3 message=..." after time and level.
std::string line_of(const object& event, const Look& look) {
  const auto at = time_at(event, "ts");
  const std::string level = text_at(event, "level");
  std::string out = paint(at ? clock_text(*at) : std::string("--:--:--"), Tone::kDim, look);
  out += fmt::format(" {}", paint(fmt::format("{:<5}", level), tone_of_state(level), look));
  out += fmt::format(" {:<20}", text_at(event, "event"));
  std::string subject = text_at(event, "task_id");
  if (subject.empty()) subject = text_at(event, "run_id");
  if (!subject.empty()) out += " " + subject;
  const std::string worker = text_at(event, "worker_id");
  if (!worker.empty()) out += " @" + one_line(worker);
  for (const auto& field : object_at(event, "data")) {
    out += fmt::format(" {}={}", std::string_view(field.key()), one_line(text_of(field.value())));
  }
  out.resize(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string shown(const Context& context, const object& event, const Look& look) {
  if (wants_json(context)) return compact_json(event) + "\n";
  if (context.output == Output::kName) return text_at(event, "seq") + "\n";
  return line_of(event, look);
}

std::expected<std::uint64_t, Failure> last_sequence(ApiClient& api) {
  auto answer = api.get("/api/events?limit=1");
  if (!answer) return std::unexpected(std::move(answer.error()));
  return static_cast<std::uint64_t>(number_at(answer->object(), "last_seq"));
}

struct Page {
  boost::json::array events;
  std::uint64_t next_after = 0;
};

// Up to `limit` events behind `after`, or the last `limit` ones there are.
std::expected<Page, Failure> read_page(ApiClient& api, const EventsOptions& options,
                                       const QueryItems& filter) {
  const auto last = last_sequence(api);
  if (!last) return std::unexpected(last.error());
  const bool filtered =
      std::ranges::any_of(filter, [](const auto& i) { return !i.second.empty(); });
  const std::uint64_t back = filtered ? std::max(kLookBack, options.limit) : options.limit;
  Page page;
  page.next_after = options.after.value_or(*last > back ? *last - back : 0);
  while (page.next_after < *last) {
    QueryItems query = filter;
    const std::uint64_t wanted = options.after ? options.limit - page.events.size() : kPage;
    query.emplace_back("after", std::to_string(page.next_after));
    query.emplace_back("limit", std::to_string(std::min(wanted, kPage)));
    const auto answer = api.get(with_query("/api/events", query));
    if (!answer) return std::unexpected(answer.error());
    for (const auto& event : list_at(answer->object(), "events")) page.events.push_back(event);
    const auto next = static_cast<std::uint64_t>(number_at(answer->object(), "next_after"));
    if (next <= page.next_after) break;
    page.next_after = next;
    if (options.after && page.events.size() >= options.limit) break;
  }
  if (!options.after && page.events.size() > options.limit) {
    const auto extra = static_cast<std::ptrdiff_t>(page.events.size() - options.limit);
    page.events.erase(page.events.begin(), page.events.begin() + extra);
  }
  return page;
}

ExitCode show_page(const Context& context, const Page& page) {
  if (context.output == Output::kJson) {
    print(pretty_json(object{{"events", page.events}, {"next_after", page.next_after}}));
    return ExitCode::kOk;
  }
  const Look look = look_at(context, STDOUT_FILENO);
  for (const auto& event : page.events) {
    if (event.is_object()) print(shown(context, event.get_object(), look));
  }
  if (page.events.empty() && !context.quiet && !wants_json(context)) talk("no events");
  return ExitCode::kOk;
}

// Until Ctrl-C, or until nobody reads any more.
ExitCode follow(const Context& context, ApiClient& api, Feed feed) {
  const Look look = look_at(context, STDOUT_FILENO);
  feed.on_event = [&](const object& event) { return print_now(shown(context, event, look)); };
  feed.on_link = [&](Link link, const std::string& detail) {
    if (link == Link::kLost && !context.quiet) talk("lost: " + detail);
  };
  Follower follower(api, std::move(feed));
  boost::asio::signal_set signals(api.io(), SIGINT, SIGTERM);
  bool interrupted = false;
  signals.async_wait([&](const boost::system::error_code& ec, int) {
    if (ec) return;
    interrupted = true;
    follower.stop();
  });
  std::optional<Failure> refused;
  boost::asio::co_spawn(api.io(), follower.run(),
                        [&](const std::exception_ptr& thrown, std::optional<Failure> failure) {
                          if (!thrown) refused = std::move(failure);
                          signals.cancel();
                        });
  api.io().restart();
  api.io().run();
  if (refused) return report(*refused);
  return interrupted ? ExitCode::kInterrupted : ExitCode::kOk;
}

// False: one of them is none; told to the user.
bool are_kinds(const std::string& list) {
  std::vector<std::string_view> known(words_of<EventKind>().begin(), words_of<EventKind>().end());
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view kind = std::string_view(list).substr(at, end - at);
    at = end + 1;
    if (std::ranges::find(known, kind) != known.end()) continue;
    const std::string_view near = nearest_name(kind, known);
    std::ranges::sort(known);
    complain(fmt::format("'{}' is not a kind of event", kind),
             near.empty() ? fmt::format("the kinds are {}", fmt::join(known, ", "))
                          : fmt::format("did you mean '{}'?", near));
    return false;
  }
  return true;
}

ExitCode events(const Context& context, const EventsOptions& options) {
  if (!are_kinds(options.kind)) return ExitCode::kUsage;
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  QueryItems filter{{"kind", options.kind}, {"worker", options.worker}};
  if (!options.run.empty()) {
    const auto run = find_run(**api, options.run);
    if (!run) return report(run.error());
    filter.emplace_back("run", text_at(*run, "id"));
  }
  if (!options.follow) {
    const auto page = read_page(**api, options, filter);
    return page ? show_page(context, *page) : report(page.error());
  }
  Feed feed;
  feed.target = with_query("/api/events", filter);
  const auto last = last_sequence(**api);
  if (!last) return report(last.error());
  feed.after = options.after.value_or(*last);
  return follow(context, **api, std::move(feed));
}

}  // namespace

void add_events(CommandSpec app, Command& chosen) {
  auto options = std::make_shared<EventsOptions>();
  CommandSpec command =
      app.command("events", "Show the latest events of the monitor log, or follow it").group(kLook);
  command.flag("-f,--follow", options->follow, "Follow new events until Ctrl-C");
  command.option("--after", options->after, "Only events after this sequence number")
      .value_name("SEQ");
  command.option("--limit", options->limit, "Maximum number of events")
      .between(1, 1'000'000)
      .shows_default();
  command.option("--kind", options->kind, "Only events of these kinds, separated by commas")
      .value_name("KINDS");
  command.option("--run", options->run, "Only events of this run").value_name("RUN");
  command.option("--worker", options->worker, "Only events of this worker").value_name("ID");
  command.example(
      "vortex events -f --run @last\nvortex events --kind worker_offline,task_requeued");
  command.on_chosen(chosen, [options](Context& c) { return events(c, *options); });
}

}  // namespace vortex::cli
