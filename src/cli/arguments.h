#pragma once
// What RUN and TASK mean on the command line.
//
// RUN: an id (r42, or 42), the unique beginning of one, @last, @last-failed.
// TASK: an id (r42-L1-7), or RUN/name, or RUN/name[3] for one item of a map.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/client/api_client.h"
#include "cli/context.h"
#include "model/plan.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser calls itself so
class App;
class Option;
}  // namespace CLI

namespace vortex::cli {

// How a command describes itself: its place in the tree, its options, its help.
//
// Handles into the parser's tree, copied freely, valid as long as the tree. The parser's own
// headers are all templates and cost seconds in every file that reads them, so they stay behind
// this one. Durations are written with a unit ("90s"); every command that does something shows an
// example.

// Groups of the main help.
inline constexpr const char* kRunThings = "Run";
inline constexpr const char* kLook = "Inspect";
inline constexpr const char* kAct = "Manage";
inline constexpr const char* kOperate = "Operate";

// One option or argument. Values are checked while arguments are read; a bad one is a usage error.
class OptionSpec {
 public:
  explicit OptionSpec(CLI::Option* option) : option_(option) {}

  OptionSpec required();
  OptionSpec not_empty();
  OptionSpec between(std::int64_t least, std::int64_t most);
  OptionSpec one_of(const std::vector<std::string>& words);
  OptionSpec value_name(const std::string& name);    // --run RUN
  OptionSpec default_text(const std::string& text);  // what the help shows
  OptionSpec shows_default();                        // the value it has before arguments are read
  OptionSpec environment(const std::string& name);   // where it is taken from when it is not given
  OptionSpec one_word();                             // the next word is no second value of it
  OptionSpec hidden();

 private:
  CLI::Option* option_;
};

class CommandSpec {
 public:
  explicit CommandSpec(CLI::App& app) : app_(&app) {}

  CommandSpec command(const std::string& name, const std::string& help);  // one below this
  CommandSpec group(const std::string& title);
  CommandSpec needs_command();  // it does nothing by itself

  // "-p,--param" is an option, "run" an argument. The value must outlive the tree.
  OptionSpec option(const std::string& name, std::string& value, const std::string& help = {});
  OptionSpec option(const std::string& name, std::vector<std::string>& value,
                    const std::string& help = {});
  OptionSpec option(const std::string& name, int& value, const std::string& help = {});
  OptionSpec option(const std::string& name, std::uint16_t& value, const std::string& help = {});
  OptionSpec option(const std::string& name, std::uint32_t& value, const std::string& help = {});
  OptionSpec option(const std::string& name, std::uint64_t& value, const std::string& help = {});
  OptionSpec option(const std::string& name, std::optional<std::uint64_t>& value,
                    const std::string& help = {});
  OptionSpec option(const std::string& name, double& value, const std::string& help = {});
  OptionSpec flag(const std::string& name, bool& value, const std::string& help);
  OptionSpec duration(const std::string& name, Duration& value, const std::string& help);

  // At the end of the help. Lines after the first are aligned under it.
  void example(const std::string& lines);
  // What the command does once all arguments were read.
  void on_chosen(Command& chosen, Command act);

  const CLI::App& tree() const { return *app_; }  // for what walks all commands

 private:
  CLI::App* app_;
};

// Adds a command to the tree; what shall be done when it is chosen goes into `chosen`.
using AddCommand = void (*)(CommandSpec parent, Command& chosen);

inline constexpr const char* kRunHelp = "Run: id, unique prefix, @last or @last-failed";
inline constexpr const char* kTaskHelp = "Task: id (r42-L1-7), RUN/name or RUN/name[3]";

// The run as the controller knows it.
std::expected<boost::json::object, Failure> find_run(ApiClient& api, const std::string& text);
std::expected<std::string, Failure> find_task(ApiClient& api, const std::string& text);

// RUN/name[3] taken apart; what is not a path of this form has an empty name.
struct TaskPath {
  std::string run;
  std::string name;
  std::optional<std::uint32_t> item;
};
TaskPath split_task_path(std::string_view text);

// What the run was made from; names and numbers of its tasks follow from it.
std::expected<PlanPtr, Failure> fetch_plan(ApiClient& api, const std::string& run);
// The same from the answer that shows the DAG of a run.
std::expected<PlanPtr, Failure> plan_of_run(const boost::json::object& dag);
std::expected<PlanPtr, Failure> plan_of_spec(const boost::json::value& spec);
// "resize" or "resize[3]".
std::string task_name(const DagPlan& plan, std::uint32_t index);

}  // namespace vortex::cli
