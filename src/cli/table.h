#pragma once
// Rows in aligned columns, for people and for tools that cut lines at spaces.
//
// Widths are those on the screen. Only where a width is given are cells shortened, and then only in
// columns that allow it. Lines have no trailing spaces. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/color.h"

namespace vortex::cli {

enum class Align : std::uint8_t { kLeft, kRight };
enum class Shown : std::uint8_t { kAlways, kWide };  // kWide: only with -o wide
enum class Shrinks : std::uint8_t { kNever, kMay };  // kMay: shortened when the screen is narrow

struct Column {
  std::string title;
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  Shrinks shrinks = Shrinks::kNever;
};

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<Cell> row);
  std::size_t rows() const { return rows_.size(); }
  std::string text(const Look& look, Shown upto = Shown::kAlways) const;

 private:
  std::vector<std::size_t> widths(const std::vector<std::size_t>& chosen, const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Names and values, one pair a line: what one thing looks like.
class Record {
 public:
  Record& add(std::string name, const std::string& value, Tone tone = Tone::kPlain);
  std::string text(const Look& look) const;

 private:
  struct Line {
    std::string name;
    Cell value;
  };
  std::vector<Line> lines_;
};

}  // namespace vortex::cli
