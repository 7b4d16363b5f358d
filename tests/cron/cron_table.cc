// cron_table: answers questions about slots and zones, one per line, for cron_reference.py.
//
//   slots <TAB> ZONE <TAB> AFTER <TAB> UNTIL <TAB> MAX <TAB> EXPRESSION   seconds since 1970
//   offsets <TAB> ZONE <TAB> AT AT ...
//   zones

#include <charconv>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/zone_files.h"
#include "model/schedule.h"

namespace vortex {
namespace {

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(separator);
    cells.push_back(line.substr(0, end));
    if (end == line.npos) return cells;
    line.remove_prefix(end + 1);
  }
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void print_slots(const std::vector<std::string_view>& cells) {
  ScheduleSpec spec;
  spec.cron = cells[5];
  const auto rule = parse_cron(spec.cron);
  if (!rule) {
    std::cout << "refused: " << rule.error().message << '\n';
    return;
  }
  spec.rule = *rule;
  const ZonePtr zone = system_zones().find(cells[1]);
  Instant at{number(cells[2]) * 1'000'000};
  const Instant until{number(cells[3]) * 1'000'000};
  for (std::int64_t i = 0; zone && i < number(cells[4]); ++i) {
    const auto slot = next_slot(spec, *zone, at);
    if (!slot || *slot > until) break;
    at = *slot;
    std::cout << at.us / 1'000'000 << ' ';
  }
  std::cout << '\n';
}

void print_offsets(const std::vector<std::string_view>& cells) {
  const ZonePtr zone = system_zones().find(cells[1]);
  for (const std::string_view at : cells_of(cells[2], ' ')) {
    if (zone) std::cout << offset_at(*zone, {number(at) * 1'000'000}) << ' ';
  }
  std::cout << '\n';
}

int answer_all() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto cells = cells_of(line, '\t');
    if (cells[0] == "slots" && cells.size() == 6) {
      print_slots(cells);
    } else if (cells[0] == "offsets" && cells.size() == 3) {
      print_offsets(cells);
    } else if (cells[0] == "zones") {
      for (const std::string& name : system_zones().names()) std::cout << name << ' ';
      std::cout << '\n';
    } else {
      std::cerr << "cannot read: " << line << '\n';
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace vortex

int main() { return vortex::answer_all(); }
