#pragma once
// How a statement becomes a page: it is asked for one row more than wanted, and that row only tells
// that there is a next page. Also single rows and whole small tables. A damaged row is left out of
// a list, so that it hides no other one; the load of the state and `db check` name it.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "store/cursor.h"
#include "store/error.h"
#include "store/reader.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

// `take` reads one row; `key` says where a page that ends with it ended.
template <class Item, class Take, class Key>
Result<Page<Item>> read_page(Statement& bound, std::uint32_t limit, CursorKind kind, Take take,
                             Key key) {
  Rows rows(bound);
  Page<Item> page;
  std::optional<Item> last;  // damaged or not: the next page goes on behind it
  for (std::uint32_t seen = 0; rows.next(); ++seen) {
    if (seen == limit) {
      page.next_cursor = write_cursor(kind, key(last ? *last : page.items.back()));
      break;
    }
    Item item = take(rows);
    const bool damaged = rows.take_damage().has_value();
    last.reset();
    if (damaged) {
      last = std::move(item);
    } else {
      page.items.push_back(std::move(item));
    }
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return page;
}

template <class Item, class Take>
Result<std::optional<Item>> read_one(Statement& bound, Take take) {
  Rows rows(bound);
  std::optional<Item> item;
  if (rows.next()) item = take(rows);
  if (rows.failed()) return std::unexpected(rows.error());
  return item;
}

template <class Item, class Take>
Result<std::vector<Item>> read_all(Statement& bound, Take take) {
  Rows rows(bound);
  std::vector<Item> items;
  while (rows.next()) {
    Item item = take(rows);
    if (!rows.take_damage()) items.push_back(std::move(item));
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return items;
}

}  // namespace vortex::store::sqlite
