#include "api/router.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace vortex::api {

namespace {

bool is_number(std::string_view text, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number <= max;
}

bool has_form(std::string_view text, ParamKind kind) {
  switch (kind) {
    case ParamKind::kText:
      return !text.empty();
    case ParamKind::kRun:
      return parse_run_id(text).has_value();
    case ParamKind::kTask:
      return parse_task_id(text).has_value();
    case ParamKind::kNumber:
      return is_number(text, std::numeric_limits<std::uint32_t>::max());
  }
  return false;
}

// What a path that only fails by the form of a parameter was looking for.
Code missing(ParamKind kind) {
  if (kind == ParamKind::kRun) return Code::kNoSuchRun;
  return kind == ParamKind::kTask ? Code::kNoSuchTask : Code::kNoSuchPath;
}

}  // namespace

ParamKind param_kind(std::string_view name) {
  if (name == "run") return ParamKind::kRun;
  if (name == "task") return ParamKind::kTask;
  const bool number = name == "partition" || name == "recovery";
  return number ? ParamKind::kNumber : ParamKind::kText;
}

Router::Router(std::span<const Route> routes) {
  for (const Route& route : routes) {
    Entry& entry = entries_.emplace_back();
    entry.route = &route;
    std::string_view rest = route.path;
    while (!rest.empty()) {
      rest.remove_prefix(1);  // the slash
      const auto end = std::min(rest.find('/'), rest.size());
      std::string_view part = rest.substr(0, end);
      rest.remove_prefix(end);
      const bool parameter = part.starts_with('{');
      if (parameter) part = part.substr(1, part.size() - 2);
      entry.segments.push_back({part, parameter, param_kind(part)});
    }
  }
}

Match Router::find(net::Method method, const std::vector<std::string>& segments) const {
  const net::Method wanted = method == net::Method::kHead ? net::Method::kGet : method;
  Match match;
  for (const Entry& entry : entries_) {
    if (entry.segments.size() != segments.size()) continue;
    bool fits = true;
    const Segment* bad = nullptr;
    for (std::size_t i = 0; fits && i < segments.size(); ++i) {
      const Segment& segment = entry.segments[i];
      if (!segment.parameter)
        fits = segment.text == segments[i];
      else if (!has_form(segments[i], segment.kind))
        bad = &segment;
    }
    if (!fits) continue;
    if (bad != nullptr) {
      if (match.code == Code::kNoSuchPath) match.code = missing(bad->kind);
      continue;
    }
    if (entry.route->method == wanted) {
      match.route = entry.route;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (entry.segments[i].parameter) match.parameters.emplace_back(segments[i]);
      }
      return match;
    }
    const std::string_view name = net::to_text(entry.route->method);
    if (match.allow.find(name) != std::string::npos) continue;
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += name;
    if (entry.route->method == net::Method::kGet) match.allow += ", HEAD";
  }
  if (!match.allow.empty()) match.allow += ", OPTIONS";
  return match;
}

}  // namespace vortex::api
