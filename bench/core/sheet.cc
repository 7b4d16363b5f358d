#include "bench/core/sheet.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <fmt/core.h>

namespace vortex::bench {

namespace {

constexpr int kFirstWidth = 30;
constexpr int kWidth = 16;

// The value that one in `parts` is below.
double quantile(std::vector<double> values, std::size_t parts) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / parts);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void Sheet::title(std::string_view text) {
  fmt::print("\n{}\n", text);
  std::fflush(stdout);
}

void Sheet::columns(const std::vector<std::string>& names) { row(names); }

void Sheet::row(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (line.empty()) {
      line = fmt::format("  {:<{}}", cell, kFirstWidth);
    } else {
      line += fmt::format("{:>{}}", cell, kWidth);
    }
  }
  if (!missed_here_.empty()) line += "   over the aim:";
  for (const std::string& key : missed_here_) line += " " + key;
  missed_here_.clear();
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string Sheet::figure(const std::string& key, double value, std::optional<double> below) {
  figures_.emplace_back(key, value);
  if (below && value >= *below) {
    missed_here_.push_back(key);
    ++missed_;
  }
  return short_number(value);
}

void Sheet::print_json() const {
  std::string line = R"({"bench":"core")";
  for (const auto& [key, value] : figures_) line += fmt::format(R"(,"{}":{:.4g})", key, value);
  fmt::print("\n{},\"over_the_aim\":{}}}\n", line, missed_);
}

std::string short_number(double value) {
  if (std::abs(value) >= 100) return fmt::format("{:.0f}", value);
  return std::abs(value) >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

double median(std::vector<double> values) { return quantile(std::move(values), 2); }

double undisturbed(std::vector<double> values) { return quantile(std::move(values), 10); }

}  // namespace vortex::bench
