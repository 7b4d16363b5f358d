#pragma once
// Lists of things in every form of -o: fetched page by page, shown as table, JSON or names.
//
// A list is described by a table of columns; commands add filters. What was fetched goes to stdout,
// what is said about it ("there are more") to stderr.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {

// Rows in aligned columns, for people and for tools that cut lines at spaces.
//
// Widths are those on the screen. Only where a width is given are cells shortened, and then only in
// columns that allow it. Lines have no trailing spaces. Pure.

enum class Align : std::uint8_t { kLeft, kRight };
enum class Shown : std::uint8_t { kAlways, kWide };  // kWide: only with -o wide
enum class Shrinks : std::uint8_t { kNever, kMay };  // kMay: shortened when the screen is narrow

struct Column {
  std::string title;
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  Shrinks shrinks = Shrinks::kNever;
};

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<Cell> row);
  std::size_t rows() const { return rows_.size(); }
  std::string text(const Look& look, Shown upto = Shown::kAlways) const;

 private:
  std::vector<std::size_t> widths(const std::vector<std::size_t>& chosen, const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Names and values, one pair a line: what one thing looks like.
class Record {
 public:
  Record& add(std::string name, const std::string& value, Tone tone = Tone::kPlain);
  std::string text(const Look& look) const;

 private:
  struct Line {
    std::string name;
    Cell value;
  };
  std::vector<Line> lines_;
};

struct ListColumn {
  std::string_view title;
  Cell (*cell)(const boost::json::object& item, const Look& look);
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  Shrinks shrinks = Shrinks::kNever;
};

struct Listing {
  std::string_view items;                                // the member that holds the list: "runs"
  std::string_view what;                                 // how people call them: "runs"
  std::string (*name)(const boost::json::object& item);  // for -o name
  std::span<const ListColumn> columns;
};

struct ListOptions {
  std::uint32_t limit = 100;
  bool all = false;
};
void add_list_options(CommandSpec command, ListOptions& options);

// Everything at `target` up to the limit.
struct Fetched {
  boost::json::array items;
  bool more = false;
};
std::expected<Fetched, Failure> fetch_all(ApiClient& api, const std::string& target,
                                          std::string_view items, const ListOptions& options);

ExitCode show_list(const Context& context, const Listing& listing, const Fetched& fetched);
// Fetches and shows.
ExitCode list(const Context& context, const Listing& listing, const std::string& target,
              const ListOptions& options);

// The same for lists that come whole.
ExitCode list_whole(const Context& context, const Listing& listing, const std::string& target);

// One thing: as JSON, as its name, or as the text that `write` makes of it.
struct OneShown {
  std::string name;
  std::string text;
};
ExitCode show_one(const Context& context, const boost::json::value& value, const OneShown& shown);

// Cells that many lists share.
Cell plain_cell(const boost::json::object& item, std::string_view key);
Cell state_cell(const boost::json::object& item, std::string_view key, const Look& look);
Cell time_cell(const boost::json::object& item, std::string_view key, const Look& look);
std::string name_by_id(const boost::json::object& item);

}  // namespace vortex::cli
