#include "worker/start_texts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace vortex::worker {
namespace {

bool has_zero(std::string_view text) { return text.contains('\0'); }

std::string complaint_of(const StartParts& parts) {
  if (parts.argv.empty()) return "the command is empty";
  if (std::ranges::any_of(parts.argv, has_zero)) {
    return "an argument contains a zero byte";
  }
  if (has_zero(parts.workdir)) return "the working directory contains a zero byte";
  for (const auto& [name, value] : parts.env) {
    if (name.empty() || name.contains('=') || has_zero(name)) {
      return fmt::format("'{}' is not a valid variable name", name.substr(0, name.find('\0')));
    }
    if (has_zero(value)) return fmt::format("the variable '{}' contains a zero byte", name);
  }
  return {};
}

void append(StartTexts& out, std::string_view text) { out.payload.append(text).push_back('\0'); }

// The variable that wins for each name: the last one of the task, unless we set it ourselves.
using LastOfName = std::unordered_map<std::string_view, const Variables::value_type*>;

LastOfName last_of_names(const StartParts& parts) {
  LastOfName last;
  last.reserve(parts.env.size() + parts.ours.size());
  for (const Variables* variables : {&parts.env, &parts.ours}) {
    for (const auto& variable : *variables) last[variable.first] = &variable;
  }
  return last;
}

void append_variable(StartTexts& out, const std::pair<std::string, std::string>& variable) {
  out.payload.append(variable.first).push_back('=');
  append(out, variable.second);
  ++out.envc;
}

}  // namespace

std::expected<void, std::string> write_texts(const StartParts& parts, StartTexts& out) {
  if (std::string complaint = complaint_of(parts); !complaint.empty()) {
    return std::unexpected(std::move(complaint));
  }
  out.payload.clear();
  out.argc = static_cast<std::uint32_t>(parts.argv.size());
  out.envc = 0;
  for (const std::string& argument : parts.argv) append(out, argument);
  const LastOfName last = last_of_names(parts);
  for (const std::string& entry : parts.inherited) {
    if (last.contains(std::string_view(entry).substr(0, entry.find('=')))) continue;
    append(out, entry);
    ++out.envc;
  }
  for (const Variables* variables : {&parts.env, &parts.ours}) {
    for (const auto& variable : *variables) {
      if (last.at(variable.first) == &variable) append_variable(out, variable);
    }
  }
  append(out, parts.workdir);
  return {};
}

}  // namespace vortex::worker
