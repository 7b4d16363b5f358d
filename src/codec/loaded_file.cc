#include "codec/loaded_file.h"

#include <algorithm>
#include <utility>

#include "model/expression.h"

namespace vortex::codec {
namespace {

std::size_t offset_of(std::string_view text, Position at) {
  std::size_t offset = 0;
  for (std::uint32_t line = 1; line < at.line; ++line) {
    const std::size_t end = text.find('\n', offset);
    if (end == text.npos) return text.size();
    offset = end + 1;
  }
  return std::min(offset + at.column - 1, text.size());
}

// "/tasks/resize/env/DIR" as "/defaults/env/DIR"; empty for everything else.
std::string in_defaults(std::string_view pointer) {
  constexpr std::string_view kTasks = "/tasks/";
  if (!pointer.starts_with(kTasks)) return {};
  const std::size_t end = pointer.find('/', kTasks.size());
  return end == pointer.npos ? std::string() : "/defaults" + std::string(pointer.substr(end));
}

}  // namespace

std::optional<Problems> LoadedFile::load(std::string_view text, Syntax syntax) {
  text_ = text;
  std::string_view json = text;
  if (syntax == Syntax::kYaml) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    auto loaded = load_yaml(text);
    if (!loaded) return std::move(loaded).error();
    yaml_ = *std::move(loaded);
    json = yaml_.json;
  }
  if (auto fault = document_.parse(json)) return Problems{*std::move(fault)};
  if (syntax == Syntax::kYaml) document_.set_origin(yaml_.marks);
  return std::nullopt;
}

Position LoadedFile::place_of(std::string_view pointer) const {
  if (const auto node = document_.find(pointer)) return document_.position_of(*node);
  if (const auto node = document_.find(in_defaults(pointer)); node && *node != 0) {
    return document_.position_of(*node);
  }
  while (!pointer.empty()) {
    pointer = pointer.substr(0, pointer.rfind('/'));
    if (const auto node = document_.find(pointer)) return document_.position_of(*node);
  }
  return {1, 1};
}

// The mark that opens an expression looks the same in every style of quoting, so the n-th one of
// the value is the n-th one behind the place of the value.
Position LoadedFile::place_in_text(const TextPlace& place) const {
  const Position start = place_of(place.pointer);
  std::size_t at = offset_of(text_, start);
  std::size_t mark = place.text.npos;
  for (std::size_t next = place.text.find(kExpressionOpen);
       next != place.text.npos && next <= place.offset;
       next = place.text.find(kExpressionOpen, next + 1)) {
    mark = next;
    at = text_.find(kExpressionOpen, next == place.text.find(kExpressionOpen) ? at : at + 1);
    if (at == text_.npos) return start;
  }
  if (mark == place.text.npos) return start;
  return position_at(text_, at + (place.offset - mark));
}

}  // namespace vortex::codec
