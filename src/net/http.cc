#include "net/http.h"

#include <algorithm>

#include "base/text.h"

namespace vortex::net {

std::string_view to_text(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      break;
  }
  return "OTHER";
}

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  const auto item =
      std::ranges::find(items, name, [](const auto& pair) { return std::string_view(pair.first); });
  if (item == items.end()) return std::nullopt;
  return item->second;
}

}  // namespace vortex::net
