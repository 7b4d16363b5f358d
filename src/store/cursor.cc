#include "store/cursor.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace vortex::store {
namespace {

constexpr char kVersion = '1';
constexpr std::size_t kNumberDigits = 16;
constexpr std::size_t kNumbers = 3;
constexpr std::size_t kTextAt = 2 + kNumbers * kNumberDigits;

template <class Number>
std::optional<Number> read_hex(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<CursorKey> read_key(std::string_view text) {
  std::array<std::uint64_t, kNumbers> numbers{};
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto value = read_hex<std::uint64_t>(text.substr(2 + i * kNumberDigits, kNumberDigits));
    if (!value) return std::nullopt;
    numbers[i] = *value;
  }
  CursorKey key{.first = numbers[0], .second = numbers[1], .third = numbers[2], .text = {}};
  for (std::size_t at = kTextAt; at < text.size(); at += 2) {
    const auto value = read_hex<std::uint8_t>(text.substr(at, 2));
    if (!value) return std::nullopt;
    key.text.push_back(static_cast<char>(*value));
  }
  return key;
}

}  // namespace

std::string write_cursor(CursorKind kind, const CursorKey& key) {
  std::string text = fmt::format("{}{}{:016x}{:016x}{:016x}", kVersion, static_cast<char>(kind),
                                 key.first, key.second, key.third);
  for (const char c : key.text) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

Result<std::optional<CursorKey>> read_cursor(CursorKind kind, std::string_view text) {
  if (text.empty()) return std::optional<CursorKey>{};
  const bool framed = text.size() >= kTextAt && (text.size() - kTextAt) % 2 == 0 &&
                      text[0] == kVersion && text[1] == static_cast<char>(kind);
  std::optional<CursorKey> key = framed ? read_key(text) : std::nullopt;
  // Only the one form that is written: upper case and the like are somebody else's.
  if (!key || write_cursor(kind, *key) != text) {
    return std::unexpected(Error{Fault::kBadRequest, "this cursor does not belong to this list"});
  }
  return key;
}

AuditOutcome outcome_of(const AuditRow& row) {
  if (row.status < 400) return AuditOutcome::kOk;
  return row.status == 401 || row.status == 403 ? AuditOutcome::kRefused : AuditOutcome::kFailed;
}

bool is_wanted(const AuditRow& row, const AuditFilter& filter) {
  const auto is_one_of = [](const std::string& wanted, const std::string& one,
                            const std::string& other) {
    return wanted.empty() || wanted == one || wanted == other;
  };
  return is_one_of(filter.who, row.who, row.address) &&
         is_one_of(filter.what, row.operation, row.target) &&
         (!filter.outcome || *filter.outcome == outcome_of(row)) && row.at >= filter.since;
}

std::uint32_t page_rows(const PageRequest& page) {
  return std::clamp(page.limit, std::uint32_t{1}, kPageRowsMax);
}

}  // namespace vortex::store
