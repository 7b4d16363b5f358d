#pragma once
// What RUN and TASK mean on the command line.
//
// RUN: an id (r42, or 42), the unique beginning of one, @last, @last-failed.
// TASK: an id (r42-L1-7), or RUN/name, or RUN/name[3] for one item of a map.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api_client.h"
#include "model/plan.h"

namespace vortex::cli {

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
std::expected<PlanPtr, Failure> plan_of_spec(const boost::json::value& spec);
// "resize" or "resize[3]".
std::string task_name(const DagPlan& plan, std::uint32_t index);

}  // namespace vortex::cli
