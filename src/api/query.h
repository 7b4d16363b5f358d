#pragma once
// Reads the query parameters of one request, keeping the first thing that is wrong with them.
//
// Names were checked against the route before; here it is only about values. Use: read all, then
// look at trouble() once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "api/trouble.h"
#include "model/dag.h"
#include "model/ids.h"
#include "net/http.h"
#include "store/reader.h"

namespace vortex::api {

struct Bounds {
  std::uint64_t fallback = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

inline constexpr Bounds kPageBounds{100, 1, 1'000};

class QueryReader {
 public:
  explicit QueryReader(const net::Query& query) : query_(query) {}

  bool has(std::string_view name) const { return query_.find(name).has_value(); }
  std::string text(std::string_view name) const;
  std::uint64_t number(std::string_view name, Bounds bounds);
  std::optional<std::uint64_t> number(std::string_view name);
  bool flag(std::string_view name);                    // true, 1 or no value; false, 0
  std::optional<Instant> time(std::string_view name);  // 2026-02-22T22:59:55Z
  std::optional<RunId> run(std::string_view name);
  std::optional<TaskId> task(std::string_view name);
  // The place of the value among the words, in any case.
  std::optional<std::size_t> word(std::string_view name, Names words);
  Labels labels(std::string_view name);  // each as key=value
  store::PageRequest page(Bounds bounds = kPageBounds);

  const std::optional<Trouble>& trouble() const { return trouble_; }

 private:
  void wrong(std::string_view name, std::string_view value, std::string_view wanted);

  const net::Query& query_;
  std::optional<Trouble> trouble_;
};

}  // namespace vortex::api
