#pragma once
// Reads a list to its end, page by page, and complains about pages that break the contract: one
// longer than its limit, or a list without an end.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "store/reader.h"

namespace vortex::store::testing {

template <class ReadPage>
auto walk(ReadPage read, std::uint32_t limit) {
  using Item = typename decltype(read(PageRequest{})->items)::value_type;
  std::vector<Item> items;
  PageRequest request{.limit = limit, .cursor = {}};
  for (int pages = 0;; ++pages) {
    if (pages > 100'000) throw std::runtime_error("the list has no end");
    auto page = read(request);
    if (!page) throw std::runtime_error(page.error().detail);
    if (page->items.size() > limit) throw std::runtime_error("a page longer than its limit");
    for (Item& item : page->items) items.push_back(std::move(item));
    if (page->next_cursor.empty()) return items;
    request.cursor = page->next_cursor;
  }
}

}  // namespace vortex::store::testing
