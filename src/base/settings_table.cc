#include "base/settings_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace vortex {
namespace {

std::vector<SettingSpec> all_rows() {
  std::vector<SettingSpec> rows;
  const auto append = [&rows](std::span<const SettingSpec> part) {
    rows.insert(rows.end(), part.begin(), part.end());
  };
  append(other_rows().first(1));
  append(controller_rows());
  append(worker_rows());
  append(other_rows().subspan(1));
  return rows;
}

}  // namespace

std::string_view TunedValues::of(Tuning tuning) const {
  switch (tuning) {
    case Tuning::kLan:
      return lan;
    case Tuning::kStandard:
      return standard;
    case Tuning::kWan:
      return wan;
    case Tuning::kTesting:
      return testing;
  }
  return {};
}

std::string SettingSpec::full_key() const {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

std::string SettingSpec::environment_name() const {
  std::string name = "vortex." + full_key();
  std::ranges::transform(name, name.begin(), [](char c) {
    if (c == '.') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::string SettingSpec::flag() const {
  std::string name = "--" + full_key();
  std::ranges::replace(name, '_', '-');
  return name;
}

const std::vector<SettingSpec>& settings_table() {
  static const std::vector<SettingSpec> rows = all_rows();
  return rows;
}

std::optional<std::size_t> find_setting(std::string_view full_key) {
  const auto& rows = settings_table();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].full_key() == full_key) return row;
  }
  return std::nullopt;
}

}  // namespace vortex
