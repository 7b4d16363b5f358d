#include "sim/cli.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "sim/demo.h"
#include "sim/fleet.h"
#include "sim/hunt.h"
#include "sim/mutants.h"
#include "sim/regress.h"
#include "sim/shrink.h"

namespace vortex::sim {

namespace {

constexpr std::string_view kHelp = R"(vortex-sim: simulate clusters under faults

  --seeds N [--from S]    run N seeds of faults; ends with `seeds=N violations=V`
  --seed S [--trace]      replay one seed, with a readable trace
  --case FILE [--trace]   replay one saved case
  --regress DIR           replay all saved cases in a directory; ends with `traces=N violations=V`
  --mutants               check that every planted bug is found; ends with `mutants=K found=F`
  --hunt N [--cases A,B]  run up to N cases of all directed scenarios, or of these, until the first
                          violation; ends with `tried=T found=INVARIANT|nothing ...`
  --demo                  show a DAG on five workers, two of which are killed

  --jobs J                number of processes (default: one per core)
  --scenario NAME         with --seed: the directed scenario to run
  --budget N              with --mutants: seeds per bug
  --save DIR              with --seeds: save failing cases, shrunk, in this directory
  --no-shrink             with --seeds: do not shrink failing cases
  --reached               with --seeds: print how often each mark was reached
  --coverage              with --seeds: print how often each feature was drawn, and its checkers
)";

// From this many seeds on, a mark that none of them reached is a failure.
constexpr std::uint64_t kSeedsForMarks = 5000;
constexpr std::size_t kShrunkMax = 3;

struct Options {
  std::optional<std::uint64_t> seeds;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> hunt;
  std::vector<std::uint64_t> cases;
  std::uint64_t from = 1;
  std::uint64_t budget = 12'000;  // the hardest one takes about 3,500
  std::uint32_t jobs = std::max(1U, std::thread::hardware_concurrency());
  Scenario scenario = Scenario::kBySeed;
  std::string case_file;
  std::string regress;
  std::string save;
  bool trace = false;
  bool mutants = false;
  bool demo = false;
  bool reached = false;
  bool coverage = false;
  bool no_shrink = false;
  bool help = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  explicit Parser(std::span<const std::string_view> arguments) : rest_(arguments) {}

  std::expected<Options, std::string> parse() {
    while (!rest_.empty()) {
      std::string_view name = rest_[0];
      rest_ = rest_.subspan(1);
      inline_value_.reset();
      if (const auto equals = name.find('='); equals != std::string_view::npos) {
        inline_value_ = name.substr(equals + 1);
        name = name.substr(0, equals);
      }
      if (!read(name)) {
        if (!error_.empty()) return std::unexpected(error_);
        return std::unexpected(unknown(name));
      }
    }
    return options_;
  }

 private:
  bool read(std::string_view name) {
    Options& o = options_;
    if (name == "--trace") return o.trace = true;
    if (name == "--mutants") return o.mutants = true;
    if (name == "--demo") return o.demo = true;
    if (name == "--reached") return o.reached = true;
    if (name == "--coverage") return o.coverage = true;
    if (name == "--no-shrink") return o.no_shrink = true;
    if (name == "--help" || name == "-h") return o.help = true;
    if (name == "--seeds") return take_number(name, o.seeds.emplace());
    if (name == "--seed") return take_number(name, o.seed.emplace());
    if (name == "--hunt") return take_number(name, o.hunt.emplace());
    if (name == "--cases") return take_numbers(name, o.cases);
    if (name == "--from") return take_number(name, o.from);
    if (name == "--budget") return take_number(name, o.budget);
    if (name == "--jobs") return take_jobs(name);
    if (name == "--case") return take_text(name, o.case_file);
    if (name == "--regress") return take_text(name, o.regress);
    if (name == "--save") return take_text(name, o.save);
    if (name == "--scenario") return take_scenario(name);
    return false;
  }

  std::optional<std::string_view> value(std::string_view name) {
    if (inline_value_) return inline_value_;
    if (rest_.empty()) {
      error_ = fmt::format("{} needs a value", name);
      return std::nullopt;
    }
    const std::string_view text = rest_[0];
    rest_ = rest_.subspan(1);
    return text;
  }

  bool take_number(std::string_view name, std::uint64_t& to) {
    const auto text = value(name);
    if (!text) return false;
    const auto parsed = number(*text);
    if (!parsed) error_ = fmt::format("{} expects a number, not `{}`", name, *text);
    to = parsed.value_or(0);
    return parsed.has_value();
  }

  bool take_numbers(std::string_view name, std::vector<std::uint64_t>& to) {
    auto text = value(name);
    while (text && !text->empty()) {
      const std::size_t end = std::min(text->find(','), text->size());
      const auto parsed = number(text->substr(0, end));
      if (!parsed) error_ = fmt::format("{} expects numbers, not `{}`", name, *text);
      if (!parsed) return false;
      to.push_back(*parsed);
      text->remove_prefix(std::min(end + 1, text->size()));
    }
    return text.has_value();
  }

  bool take_jobs(std::string_view name) {
    std::uint64_t jobs = 0;
    if (!take_number(name, jobs)) return false;
    options_.jobs = static_cast<std::uint32_t>(std::max<std::uint64_t>(jobs, 1));
    return true;
  }

  bool take_text(std::string_view name, std::string& to) {
    const auto text = value(name);
    if (text) to = *text;
    return text.has_value();
  }

  bool take_scenario(std::string_view name) {
    const auto text = value(name);
    if (!text) return false;
    for (std::size_t i = 0; i < kScenarios; ++i) {
      if (to_text(static_cast<Scenario>(i)) != *text) continue;
      options_.scenario = static_cast<Scenario>(i);
      return true;
    }
    error_ = fmt::format("unknown scenario `{}`", *text);
    return false;
  }

  static std::string unknown(std::string_view name) {
    constexpr std::array<std::string_view, 18> kKnown{
        "--coverage", "--hunt",     "--cases",   "--seeds",   "--from",      "--seed",
        "--trace",    "--case",     "--regress", "--mutants", "--demo",      "--jobs",
        "--save",     "--scenario", "--budget",  "--help",    "--no-shrink", "--reached"};
    const std::string_view near = nearest_name(name, kKnown);
    if (near.empty()) return fmt::format("unknown option `{}`; see --help", name);
    return fmt::format("unknown option `{}`; did you mean {}?", name, near);
  }

  std::span<const std::string_view> rest_;
  std::optional<std::string_view> inline_value_;
  std::string error_;
  Options options_;
};

void print_line(const TraceLine& line) {
  fmt::print("{:>5}.{:06} {:<8} {}\n", line.at.us / 1'000'000, line.at.us % 1'000'000, line.who,
             line.what);
}

int replay(const Case& c, bool trace) {
  const Result result = run_case(c, trace ? TraceSink(print_line) : TraceSink{});
  for (const Violation& broken : result.violations) {
    fmt::print("violated {}: {}\n", broken.invariant, broken.detail);
  }
  const Setup setup = draw_setup(c);
  fmt::print("seed={} scenario={} steps={} history={:016x} violations={}\n", c.seed,
             to_text(setup.scenario), result.happened, result.hash, result.violations.size());
  return result.violations.empty() ? 0 : 1;
}

int replay_file(const Options& options) {
  std::ifstream in(options.case_file);
  if (!in) {
    fmt::print(stderr, "cannot read {}\n", options.case_file);
    return 2;
  }
  const auto parsed = parse_case(std::string{std::istreambuf_iterator<char>(in), {}});
  if (!parsed) {
    fmt::print(stderr, "{}: {}\n", options.case_file, parsed.error());
    return 2;
  }
  return replay(*parsed, options.trace);
}

void explain_failure(const Options& options, const FailedSeed& failed, bool shrinks) {
  Case c;
  c.seed = failed.seed;
  fmt::print("\nseed {} violates {}\n  {}\n  replay: {}\n", failed.seed, failed.failure.invariant,
             failed.failure.detail, replay_command(c));
  if (!shrinks) return;
  Shrunk shrunk = shrink(c, failed.failure);
  shrunk.small.note = shrunk.failure.invariant + ": " + shrunk.failure.detail;
  fmt::print("  shrunk in {} runs:\n", shrunk.tried);
  fmt::print("{}", to_text(shrunk.small));
  if (options.save.empty()) return;
  fmt::print("  saved: {}\n", save_case(options.save, shrunk.small, shrunk.failure.invariant));
}

// Marks that no seed reached, when there were enough seeds to expect all of them.
std::size_t report_marks(const Options& options, const FleetReport& report) {
  std::size_t missing = 0;
  for (const auto& [name, count] : report.marks) {
    if (options.reached) fmt::print("reached {:>10} {}\n", count, name);
    if (count > 0 || *options.seeds < kSeedsForMarks) continue;
    ++missing;
    fmt::print("never reached: {}\n", name);
  }
  return missing;
}

// The table of docs/simulator.md: how often each thing was drawn in a thousand seeds.
void print_coverage(const Options& options, const FleetReport& report) {
  const std::uint64_t seeds = std::max<std::uint64_t>(*options.seeds, 1);
  const auto line = [seeds](std::string_view group, std::string_view name, std::uint64_t count,
                            std::string_view by) {
    fmt::print("| {} | {} | {} | {} |\n", group, name, count * 1000 / seeds, by);
  };
  fmt::print("| what | name | per 1,000 seeds | checked by |\n|---|---|---|---|\n");
  for (std::size_t i = 0; i < kCommands; ++i) {
    const CommandFeature& command = command_features()[i];
    if (command.from_inside.empty()) {
      line("command", command.name, report.calls[i], command.checked_by);
    } else {
      fmt::print("| command | {} | {} | {} |\n", command.name, command.from_inside,
                 command.checked_by);
    }
  }
  std::vector<std::uint64_t> counts(features().size());
  for (std::uint64_t n = 0; n < *options.seeds; ++n) {
    Case c;
    c.seed = options.from + n;
    const Setup setup = draw_setup(c);
    for (std::size_t f = 0; f < counts.size(); ++f) counts[f] += features()[f].count(setup);
  }
  for (std::size_t f = 0; f < counts.size(); ++f) {
    line(features()[f].group, features()[f].name, counts[f], features()[f].checked_by);
  }
}

int run_seeds(const Options& options) {
  const auto tell = [](const FailedSeed& failed) {
    fmt::print("seed {} violates {}: {}\n", failed.seed, failed.failure.invariant,
               failed.failure.detail);
    std::fflush(stdout);
  };
  const FleetReport report = run_fleet({options.from, *options.seeds, options.jobs, tell});
  std::size_t shown = 0;
  for (const FailedSeed& failed : report.failures) {
    const bool shrinks = !options.no_shrink && shown < kShrunkMax;
    explain_failure(options, failed, shrinks);
    ++shown;
  }
  const std::size_t missing = report_marks(options, report);
  if (options.coverage) print_coverage(options, report);
  fmt::print("seeds={} violations={}\n", *options.seeds, report.violations);
  return report.violations == 0 && missing == 0 ? 0 : 1;
}

}  // namespace

int run_cli(std::span<const std::string_view> arguments) {
  const auto parsed = Parser(arguments).parse();
  if (!parsed) {
    fmt::print(stderr, "vortex-sim: {}\n", parsed.error());
    return 2;
  }
  const Options& options = *parsed;
  if (options.mutants) return run_mutants({options.from, options.budget, options.jobs});
  if (options.hunt) return run_hunt({options.from, *options.hunt, options.cases});
  if (options.demo) return run_demo();
  if (!options.regress.empty()) return run_saved(options.regress);
  if (!options.case_file.empty()) return replay_file(options);
  if (options.seed) {
    Case c;
    c.seed = *options.seed;
    c.scenario = options.scenario;
    return replay(c, options.trace);
  }
  if (options.seeds) return run_seeds(options);
  fmt::print("{}", kHelp);
  return options.help ? 0 : 2;
}

}  // namespace vortex::sim
