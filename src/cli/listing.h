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

#include "cli/address.h"
#include "cli/api_client.h"
#include "cli/command_spec.h"
#include "cli/table.h"

namespace vortex::cli {

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
