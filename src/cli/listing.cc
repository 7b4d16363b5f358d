#include "cli/listing.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/json_view.h"

namespace vortex::cli {
namespace {

constexpr std::uint32_t kPageMax = 1'000;

Table make_table(const Listing& listing, const boost::json::array& items, const Look& look) {
  std::vector<Column> columns;
  for (const ListColumn& column : listing.columns) {
    columns.push_back({std::string(column.title), column.align, column.shown, column.shrinks});
  }
  Table table(std::move(columns));
  for (const auto& item : items) {
    if (!item.is_object()) continue;
    std::vector<Cell> row;
    for (const ListColumn& column : listing.columns) {
      row.push_back(column.cell(item.get_object(), look));
      if (row.back().text.empty()) row.back() = {"-", Tone::kDim};
    }
    table.add(std::move(row));
  }
  return table;
}

void print_table(const Context& context, const Listing& listing, const boost::json::array& items) {
  if (items.empty()) {
    if (!context.quiet) talk(fmt::format("no {}", listing.what));
    return;
  }
  const Look look = look_at(context, STDOUT_FILENO);
  const Shown upto = context.output == Output::kWide ? Shown::kWide : Shown::kAlways;
  print(make_table(listing, items, look).text(look, upto));
}

}  // namespace

void add_list_options(CommandSpec command, ListOptions& options) {
  command.option("--limit", options.limit, "Maximum number of rows")
      .between(1, 1'000'000)
      .shows_default();
  command.flag("--all", options.all, "Show all rows");
}

std::expected<Fetched, Failure> fetch_all(ApiClient& api, const std::string& target,
                                          std::string_view items, const ListOptions& options) {
  Fetched out;
  std::string cursor;
  do {
    const std::size_t wanted = options.all ? kPageMax : options.limit - out.items.size();
    const QueryItems page{{"limit", std::to_string(std::min<std::size_t>(wanted, kPageMax))},
                          {"cursor", cursor}};
    auto answer = api.get(with_query(target, page));
    if (!answer) return std::unexpected(std::move(answer.error()));
    for (const auto& item : list_at(answer->object(), items)) out.items.push_back(item);
    cursor = text_at(answer->object(), "next_cursor");
  } while (!cursor.empty() && (options.all || out.items.size() < options.limit));
  out.more = !cursor.empty();
  return out;
}

ExitCode show_list(const Context& context, const Listing& listing, const Fetched& fetched) {
  switch (context.output) {
    case Output::kJson:
      print(pretty_json(boost::json::object{{listing.items, fetched.items}}));
      break;
    case Output::kJsonl:
      for (const auto& item : fetched.items) print(compact_json(item) + "\n");
      break;
    case Output::kName:
      for (const auto& item : fetched.items) {
        if (item.is_object()) print(listing.name(item.get_object()) + "\n");
      }
      break;
    case Output::kTable:
    case Output::kWide:
      print_table(context, listing, fetched.items);
      break;
  }
  if (fetched.more && !context.quiet) {
    talk(fmt::format("there are more {}: pass --all, or a higher --limit", listing.what));
  }
  return ExitCode::kOk;
}

ExitCode list(const Context& context, const Listing& listing, const std::string& target,
              const ListOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto fetched = fetch_all(**api, target, listing.items, options);
  if (!fetched) return report(fetched.error());
  return show_list(context, listing, *fetched);
}

ExitCode list_whole(const Context& context, const Listing& listing, const std::string& target) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto answer = (*api)->get(target);
  if (!answer) return report(answer.error());
  return show_list(context, listing, {list_at(answer->object(), listing.items), false});
}

ExitCode show_one(const Context& context, const boost::json::value& value, const OneShown& shown) {
  switch (context.output) {
    case Output::kJson:
      print(pretty_json(value));
      break;
    case Output::kJsonl:
      print(compact_json(value) + "\n");
      break;
    case Output::kName:
      print(shown.name + "\n");
      break;
    case Output::kTable:
    case Output::kWide:
      print(shown.text);
      break;
  }
  return ExitCode::kOk;
}

Cell plain_cell(const boost::json::object& item, std::string_view key) {
  return {text_at(item, key), Tone::kPlain};
}

Cell state_cell(const boost::json::object& item, std::string_view key, const Look& look) {
  const std::string state = text_at(item, key);
  return {state_text(state, look), tone_of_state(state)};
}

Cell time_cell(const boost::json::object& item, std::string_view key, const Look& look) {
  const auto at = time_at(item, key);
  return {at ? human_time(*at, look.now) : std::string(), Tone::kPlain};
}

std::string name_by_id(const boost::json::object& item) { return text_at(item, "id"); }

}  // namespace vortex::cli
