#pragma once
// What is printed: tables for people as the figures come in, and at the end one line of JSON.
//
// A figure that misses its aim is marked where it stands; it does not make the program fail, since
// a slow machine is not a mistake.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vortex::bench {

class Sheet {
 public:
  void title(std::string_view text);
  void columns(const std::vector<std::string>& names);
  void row(const std::vector<std::string>& cells);

  // Keeps the figure for the line of JSON and gives it back as text. One that misses its aim is
  // named at the end of the next row.
  std::string figure(const std::string& key, double value, std::optional<double> below = {});

  void print_json() const;

 private:
  std::vector<std::pair<std::string, double>> figures_;
  std::vector<std::string> missed_here_;
  std::size_t missed_ = 0;
};

// Two digits behind the point for small numbers, none for large ones.
std::string short_number(double value);

double median(std::vector<double> values);

// What a lap costs when nothing else disturbs the machine: nine tenths of the laps took longer.
double undisturbed(std::vector<double> values);

}  // namespace vortex::bench
