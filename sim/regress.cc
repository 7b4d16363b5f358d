#include "sim/regress.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "sim/runner.h"

namespace vortex::sim {

namespace fs = std::filesystem;

std::expected<std::vector<SavedCase>, std::string> read_cases(const std::string& folder) {
  std::vector<SavedCase> cases;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto parsed = parse_case(text);
    if (!parsed) return std::unexpected(entry.path().string() + ": " + parsed.error());
    cases.push_back({entry.path().filename().string(), *parsed});
  }
  if (error) return std::unexpected(folder + ": " + error.message());
  std::ranges::sort(cases, {}, &SavedCase::file);
  return cases;
}

std::string save_case(const std::string& folder, const Case& c, const std::string& invariant) {
  std::string name = invariant.substr(0, invariant.find(' '));
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string file = fmt::format("{}/{}-{}.case", folder, name, c.seed);
  std::ofstream out(file);
  out << to_text(c);
  return out.good() ? file : std::string();
}

int run_saved(const std::string& folder) {
  const auto cases = read_cases(folder);
  if (!cases) {
    fmt::print(stderr, "{}\n", cases.error());
    return 2;
  }
  std::size_t violations = 0;
  for (const SavedCase& saved : *cases) {
    const Outcome outcome = run_isolated(saved.parsed);
    if (!outcome.failure) {
      fmt::print("ok     {:<40} {}\n", saved.file, saved.parsed.note);
      continue;
    }
    ++violations;
    fmt::print("BROKEN {:<40} {}: {}\n", saved.file, outcome.failure->invariant,
               outcome.failure->detail);
  }
  fmt::print("traces={} violations={}\n", cases->size(), violations);
  return violations == 0 ? 0 : 1;
}

}  // namespace vortex::sim
