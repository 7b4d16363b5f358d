#include "cli/screen/listing.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "base/assert.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kShrunkMin = 8;

Ellipsis ellipsis_of(const Look& look) { return look.utf8 ? Ellipsis::kUnicode : Ellipsis::kAscii; }

struct ColumnForm {
  std::size_t width = 0;
  Align align = Align::kLeft;
};

void append_cell(std::string& line, const Cell& cell, const ColumnForm& form, const Look& look) {
  const std::string text = cut_to_width(cell.text, form.width, ellipsis_of(look));
  const std::size_t pad = form.width - std::min(form.width, display_width(text));
  if (form.align == Align::kRight) line.append(pad, ' ');
  line += paint(text, cell.tone, look);
  if (form.align == Align::kLeft) line.append(pad, ' ');
}

void end_line(std::string& out, std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  VX_ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = one_line(cell.text);
  rows_.push_back(std::move(row));
}

// Columns that may shrink give away what is missing, the widest first.
std::vector<std::size_t> Table::widths(const std::vector<std::size_t>& chosen,
                                       const Look& look) const {
  std::vector<std::size_t> all;
  for (const std::size_t c : chosen) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    all.push_back(width);
  }
  if (look.width == 0 || all.empty()) return all;
  std::size_t total = std::accumulate(all.begin(), all.end(), kGap * (all.size() - 1));
  while (total > look.width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool may = columns_[chosen[i]].shrinks == Shrinks::kMay && all[i] > kShrunkMin;
      if (may && (widest == nullptr || all[i] > *widest)) widest = &all[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return all;
}

std::string Table::text(const Look& look, Shown upto) const {
  std::vector<std::size_t> chosen;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].shown <= upto) chosen.push_back(c);
  }
  const std::vector<std::size_t> width = widths(chosen, look);
  std::string out;
  const auto write_row = [&](auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      append_cell(line, cell_of(chosen[i]), {width[i], columns_[chosen[i]].align}, look);
    }
    end_line(out, std::move(line));
  };
  write_row([&](std::size_t c) { return Cell{columns_[c].title, Tone::kDim}; });
  for (const auto& row : rows_) write_row([&](std::size_t c) { return row[c]; });
  return out;
}

Record& Record::add(std::string name, const std::string& value, Tone tone) {
  lines_.push_back({std::move(name), {one_line(value), tone}});
  return *this;
}

std::string Record::text(const Look& look) const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, display_width(line.name));
  std::string out;
  for (const Line& line : lines_) {
    std::string text = paint(line.name, Tone::kDim, look);
    text.append(width - display_width(line.name) + kGap, ' ');
    text += paint(line.value.text, line.value.tone, look);
    end_line(out, std::move(text));
  }
  return out;
}

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
