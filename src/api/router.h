#pragma once
// Finds the route of a request. Paths are compared segment by segment, already decoded, so that an
// encoded slash in a name is part of the name. Built once, then only read: any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/routes.h"
#include "net/http.h"

namespace vortex::api {

struct Match {
  const Route* route = nullptr;              // null: see the rest
  std::vector<std::string_view> parameters;  // in order; views into the request
  std::string allow;              // methods of this path, separated by commas; empty: no such path
  Code code = Code::kNoSuchPath;  // when nothing fits: what is missing
};

// What a parameter must look like, by its name in the path.
enum class ParamKind : std::uint8_t { kText, kRun, kTask, kNumber };
ParamKind param_kind(std::string_view name);

class Router {
 public:
  explicit Router(std::span<const Route> routes);
  // HEAD finds the route of GET.
  Match find(net::Method method, const std::vector<std::string>& segments) const;

 private:
  struct Segment {
    std::string_view text;  // literal, or the name of the parameter
    bool parameter = false;
    ParamKind kind{};
  };
  struct Entry {
    const Route* route = nullptr;
    std::vector<Segment> segments;
  };

  std::vector<Entry> entries_;
};

}  // namespace vortex::api
