#include "cli/width.h"

#include <clocale>
#include <cwchar>

#include <locale.h>

#include "base/text.h"

namespace vortex::cli {
namespace {

// The C library knows the widths of Unicode, but tells them only under a UTF-8 locale.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(utf8())) {}
  ~Utf8Locale() { ::uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  // Without such a locale the present one stays, and every character counts one column.
  static locale_t utf8() {
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t before_;
};

struct Glyph {
  char32_t code = 0;
  std::size_t bytes = 1;
};

Glyph glyph_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = character_bytes(text, at);
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  switch (bytes) {
    case 2:
      return {((byte(0) & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2};
    case 3:
      return {((byte(0) & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU), 3};
    case 4:
      return {((byte(0) & 0x07U) << 18U) | ((byte(1) & 0x3FU) << 12U) | ((byte(2) & 0x3FU) << 6U) |
                  (byte(3) & 0x3FU),
              4};
    default:
      return {byte(0), 1};
  }
}

// Under a UTF-8 locale.
std::size_t columns_of(const Glyph& glyph) {
  if (glyph.code < 0x7F) return 1;
  const int columns = ::wcwidth(static_cast<wchar_t>(glyph.code));
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const Utf8Locale locale;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    columns += columns_of(glyph);
    at += glyph.bytes;
  }
  return columns;
}

std::string cut_to_width(std::string_view text, std::size_t columns, Ellipsis ellipsis) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const Utf8Locale locale;
  std::size_t seen = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Glyph glyph = glyph_at(text, at);
    if (seen + columns_of(glyph) > columns - 1) break;
    seen += columns_of(glyph);
    at += glyph.bytes;
  }
  std::string out(text.substr(0, at));
  return out += ellipsis == Ellipsis::kUnicode ? "…" : "~";
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    const bool control = glyph.code < 0x20 || (glyph.code >= 0x7F && glyph.code < 0xA0);
    control ? out += ' ' : out += text.substr(at, glyph.bytes);
    at += glyph.bytes;
  }
  return out;
}

}  // namespace vortex::cli
