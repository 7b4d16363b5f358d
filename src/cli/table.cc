#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "cli/width.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kShrunkMin = 8;

Ellipsis ellipsis_of(const Look& look) { return look.utf8 ? Ellipsis::kUnicode : Ellipsis::kAscii; }

struct Place {
  std::size_t width = 0;
  Align align = Align::kLeft;
};

void append_cell(std::string& line, const Cell& cell, const Place& place, const Look& look) {
  const std::string text = cut_to_width(cell.text, place.width, ellipsis_of(look));
  const std::size_t pad = place.width - std::min(place.width, display_width(text));
  if (place.align == Align::kRight) line.append(pad, ' ');
  line += paint(text, cell.tone, look);
  if (place.align == Align::kLeft) line.append(pad, ' ');
}

void end_line(std::string& out, std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  VX_ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = one_line(cell.text);
  rows_.push_back(std::move(row));
}

// Columns that may shrink give away what is missing, the widest first.
std::vector<std::size_t> Table::widths(const std::vector<std::size_t>& chosen,
                                       const Look& look) const {
  std::vector<std::size_t> all;
  for (const std::size_t c : chosen) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    all.push_back(width);
  }
  if (look.width == 0 || all.empty()) return all;
  std::size_t total = std::accumulate(all.begin(), all.end(), kGap * (all.size() - 1));
  while (total > look.width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool may = columns_[chosen[i]].shrinks == Shrinks::kMay && all[i] > kShrunkMin;
      if (may && (widest == nullptr || all[i] > *widest)) widest = &all[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return all;
}

std::string Table::text(const Look& look, Shown upto) const {
  std::vector<std::size_t> chosen;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].shown <= upto) chosen.push_back(c);
  }
  const std::vector<std::size_t> width = widths(chosen, look);
  std::string out;
  const auto write_row = [&](auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      append_cell(line, cell_of(chosen[i]), {width[i], columns_[chosen[i]].align}, look);
    }
    end_line(out, std::move(line));
  };
  write_row([&](std::size_t c) { return Cell{columns_[c].title, Tone::kDim}; });
  for (const auto& row : rows_) write_row([&](std::size_t c) { return row[c]; });
  return out;
}

Record& Record::add(std::string name, const std::string& value, Tone tone) {
  lines_.push_back({std::move(name), {one_line(value), tone}});
  return *this;
}

std::string Record::text(const Look& look) const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, display_width(line.name));
  std::string out;
  for (const Line& line : lines_) {
    std::string text = paint(line.name, Tone::kDim, look);
    text.append(width - display_width(line.name) + kGap, ' ');
    text += paint(line.value.text, line.value.tone, look);
    end_line(out, std::move(text));
  }
  return out;
}

}  // namespace vortex::cli
