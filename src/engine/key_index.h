#pragma once
// Where the row with a key is in the list that is being gathered: a hash table from one number to
// another that is only ever asked and added to.
//
// Nobody can see an order in it, so it keeps the engine's promise of same input, same output.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vortex::engine {

class KeyIndex {
 public:
  struct Found {
    std::size_t place;
    bool is_new;
  };
  // The place of this key; `place` when it was not known.
  Found find_or_add(std::uint64_t key, std::size_t place) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    Cell& cell = cell_of(key);
    if (cell.place_plus_one != 0) return {cell.place_plus_one - 1, false};
    cell = {key, place + 1};
    ++size_;
    return {place, true};
  }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::size_t place_plus_one = 0;  // 0: empty
  };
  static constexpr std::size_t kFirstCells = 64;  // a power of two, as all sizes are

  Cell& cell_of(std::uint64_t key) {
    const std::size_t mask = cells_.size() - 1;
    // Neighbouring keys are the rule: the multiplication spreads them over all cells.
    std::size_t at = (key * 0x9E3779B97F4A7C15U >> 20U) & mask;
    while (cells_[at].place_plus_one != 0 && cells_[at].key != key) at = (at + 1) & mask;
    return cells_[at];
  }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? kFirstCells : cells_.size() * 2);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.place_plus_one != 0) cell_of(cell.key) = cell;
    }
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace vortex::engine
