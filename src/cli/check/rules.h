#pragma once
// What an independent worker must do, rule by rule, for `vortex worker-check`.
//
// Each rule plays one scene on the stage and says in a sentence what the worker did wrong, or
// nothing. The rules run in their order against one worker, because its session goes on from one to
// the next; those that end something (the fence, the session, the worker) come last. Tasks leave
// their traces in a folder that worker and rules share: both are on this machine.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/check/stage.h"
#include "cli/local/process.h"

namespace vortex::cli::check {

struct Scene {
  Stage& stage;
  std::string folder;
  local::Process* worker = nullptr;  // null: somebody else started it
};

struct Verdict {
  enum class Kind : std::uint8_t { kPass, kFail, kSkip };
  Kind kind = Kind::kPass;
  std::string text;  // what was wrong, or why it was not tried
};
inline Verdict passed() { return {}; }
inline Verdict wrong(std::string text) { return {Verdict::Kind::kFail, std::move(text)}; }
inline Verdict skipped(std::string text) { return {Verdict::Kind::kSkip, std::move(text)}; }

struct Rule {
  std::string_view id;
  std::string_view demand;
  std::string_view paragraph;  // of docs/api.md
  Verdict (*play)(const Scene& scene);
};

// How a command is run and what is said of its end.
std::span<const Rule> command_rules();
// The exchange, and everything that can go wrong in it.
std::span<const Rule> exchange_rules();

// ---- For the scenes ----

constexpr Duration kSoon = seconds(10);  // an unhurried worker on a busy machine

WorkOrder order_of(std::vector<std::string> argv);
WorkOrder script(const std::string& text, std::vector<std::string> arguments = {});
std::string path_in(const Scene& scene, std::string_view name);
std::string content_of(const std::string& path);
std::string quoted(const std::string& path);  // for a shell
std::string describe(const ReportBody& body);

// The report that ended it; unset: none came in time.
std::optional<ReportBody> end_of(const Scene& scene, Attempt attempt, Duration limit = kSoon);
// Wrong unless it was completed.
Verdict want_completed(const Scene& scene, Attempt attempt);
// Waits until the file holds a line; empty: it never did.
std::string wait_for_line(const std::string& path, Duration limit = kSoon);
bool is_process(const std::string& pid);
// Waits until none of the processes named in the file is left.
bool gone_within(const std::string& pids_path, Duration limit);

}  // namespace vortex::cli::check
