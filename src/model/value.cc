#include "model/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "model/check.h"

namespace vortex {
namespace {

using ValueKind = Value::Kind;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&out](std::uint32_t bits) { out += static_cast<char>(0x80 | (bits & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(code >> 6);
    tail(code);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(code >> 12);
    tail(code >> 6);
    tail(code);
  }
}

// The tokens of a JSON text. A fault is remembered and ends everything that follows.
class JsonTokens {
 public:
  explicit JsonTokens(std::string_view json) : json_(json) {}

  bool fine() const { return fault_.empty(); }
  const std::string& fault() const { return fault_; }
  std::size_t at() const { return at_; }
  std::string_view since(std::size_t begin) const { return json_.substr(begin, at_ - begin); }

  void fail(std::string_view what) {
    if (fine()) fault_ = fmt::format("{} at byte {}", what, at_);
    at_ = json_.size();
  }

  // The next character that is no space; NUL at the end.
  char next() {
    while (at_ < json_.size() && std::string_view(" \t\r\n").contains(json_[at_])) ++at_;
    return at_ < json_.size() ? json_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c || at_ >= json_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("a '{}' is missing", c));
  }
  void word(std::string_view word) {
    if (!json_.substr(at_).starts_with(word)) return fail("no JSON value");
    at_ += word.size();
  }
  bool at_end() { return next() == '\0' && at_ >= json_.size(); }

  // Precondition: at a quote.
  std::string quoted() {
    std::string out;
    ++at_;
    while (at_ < json_.size() && json_[at_] != '"') {
      const char c = json_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      if (c == '\\') {
        escaped(out);
      } else {
        out += c;
      }
    }
    if (at_ >= json_.size()) fail("a string is never closed");
    ++at_;
    return out;
  }

  void number() {
    if (at_ < json_.size() && json_[at_] == '-') ++at_;
    const std::size_t begin = at_;
    if (digits() == 0 || (json_[begin] == '0' && at_ - begin > 1)) return fail("no JSON number");
    if (at_ < json_.size() && json_[at_] == '.') {
      ++at_;
      if (digits() == 0) return fail("no JSON number");
    }
    if (at_ >= json_.size() || (json_[at_] != 'e' && json_[at_] != 'E')) return;
    ++at_;
    if (at_ < json_.size() && (json_[at_] == '+' || json_[at_] == '-')) ++at_;
    if (digits() == 0) fail("no JSON number");
  }

 private:
  std::size_t digits() {
    const std::size_t begin = at_;
    while (at_ < json_.size() && json_[at_] >= '0' && json_[at_] <= '9') ++at_;
    return at_ - begin;
  }

  std::optional<std::uint32_t> four_digits() {
    std::uint32_t code = 0;
    const std::string_view hex = json_.substr(std::min(at_, json_.size()), 4);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() < 4 || error != std::errc{} || end != hex.data() + 4) return std::nullopt;
    at_ += 4;
    return code;
  }

  void unicode(std::string& out) {
    auto code = four_digits();
    if (code && *code >= 0xd800 && *code < 0xdc00) {
      if (json_.substr(std::min(at_, json_.size())).starts_with("\\u")) at_ += 2;
      const auto low = four_digits();
      if (!low || *low < 0xdc00 || *low > 0xdfff) return fail("half a character");
      code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
    } else if (!code || (*code >= 0xdc00 && *code <= 0xdfff)) {
      return fail("no such character");
    }
    append_utf8(out, *code);
  }

  void escaped(std::string& out) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < json_.size() ? json_[at_++] : '\0';
    if (c == 'u') return unicode(out);
    const std::size_t place = c == '\0' ? kEscapes.npos : kEscapes.find(c);
    if (place == kEscapes.npos) return fail("an unknown escape");
    out += kMeanings[place];
  }

  std::string_view json_;
  std::size_t at_ = 0;
  std::string fault_;
};

// Walks the text once. [first, end) are the paths that lead through the present value; sorted, so
// those that go on with one key are neighbours.
class Picker {
 public:
  Picker(JsonTokens& in, std::span<const Steps* const> paths,
         std::size_t bytes_max = kValueBytesMax)
      : in_(in), paths_(paths), bytes_max_(bytes_max) {
    out_.resize(paths.size());
    seen_.resize(paths.size(), 0);
  }

  std::vector<Value> run() {
    in_.next();
    value({0, paths_.size()}, 0);
    if (in_.fine() && !in_.at_end()) in_.fail("something follows the value");
    return std::move(out_);
  }

  // The next value as it is. Precondition: the only path has no steps.
  Value one() {
    value({0, 1}, 0);
    return std::move(out_.front());
  }

 private:
  struct Some {
    std::size_t first = 0;
    std::size_t end = 0;
    bool none() const { return first == end; }
  };

  // By depth, which is bounded.
  void value(Some some, std::size_t depth) {
    if (depth > kJsonDepthMax) return in_.fail("too deeply nested");
    const char c = in_.next();
    const std::size_t begin = in_.at();
    Value here;
    if (c == '"') {
      here = {ValueKind::kText, in_.quoted()};
    } else if (c == '{') {
      here.kind = ValueKind::kObject;
      object(some, depth);
    } else if (c == '[') {
      here.kind = ValueKind::kList;
      list(some, depth);
    } else if (c == 't' || c == 'f') {
      here.kind = ValueKind::kBoolean;
      in_.word(c == 't' ? "true" : "false");
    } else if (c == 'n') {
      here.kind = ValueKind::kNull;
      in_.word("null");
    } else {
      here.kind = ValueKind::kNumber;
      in_.number();
    }
    // Of neighbours the one that ends here is the shortest, so it comes first.
    if (!in_.fine() || some.none() || paths_[some.first]->size() != depth) return;
    const std::string_view json = in_.since(begin);
    if (json.size() > bytes_max_) {
      here = {ValueKind::kTooLarge, {}};
    } else if (here.kind != ValueKind::kText) {
      here.text = json;
    }
    out_[some.first] = std::move(here);
  }

  Some narrowed(Some some, std::size_t depth, const PathStep& step) {
    if (!some.none() && paths_[some.first]->size() == depth) ++some.first;
    if (some.none()) return some;
    const auto own = paths_.subspan(some.first, some.end - some.first);
    const auto low = std::partition_point(own.begin(), own.end(),
                                          [&](const Steps* path) { return (*path)[depth] < step; });
    const auto high = std::partition_point(
        low, own.end(), [&](const Steps* path) { return (*path)[depth] == step; });
    const auto place = [&](auto at) {
      return some.first + static_cast<std::size_t>(at - own.begin());
    };
    some = {place(low), place(high)};
    if (some.none()) return some;
    const std::uint32_t bit = std::uint32_t{1} << depth;  // wanted ways are short
    if ((seen_[some.first] & bit) != 0) {
      in_.fail(fmt::format("the key {} twice", in_quotes(std::get<std::string>(step))));
    }
    seen_[some.first] |= bit;
    return some;
  }

  void object(Some some, std::size_t depth) {
    in_.expect('{');
    if (in_.take('}')) return;
    do {
      if (in_.next() != '"') return in_.fail("a key is missing");
      const PathStep key = in_.quoted();
      in_.expect(':');
      value(some.none() ? some : narrowed(some, depth, key), depth + 1);
    } while (in_.fine() && in_.take(','));
    in_.expect('}');
  }

  void list(Some some, std::size_t depth) {
    in_.expect('[');
    if (in_.take(']')) return;
    std::uint32_t index = 0;
    do {
      value(some.none() ? some : narrowed(some, depth, index++), depth + 1);
    } while (in_.fine() && in_.take(','));
    in_.expect(']');
  }

  JsonTokens& in_;
  std::span<const Steps* const> paths_;
  std::size_t bytes_max_;
  std::vector<Value> out_;
  std::vector<std::uint32_t> seen_;  // by the first of neighbours: on which depths
};

// A number as 0.DIGITS times ten to the power of `exponent`; no digits: zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

Decimal decimal_of(std::string_view text) {
  constexpr std::int64_t kExponentMax = 1'000'000'000'000;
  Decimal out;
  out.negative = text.starts_with('-');
  if (out.negative) text.remove_prefix(1);
  const std::size_t mark = text.find_first_of("eE");
  if (mark != text.npos) {
    std::string_view power = text.substr(mark + 1);
    const bool below = power.starts_with('-');
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(power.data(), power.data() + power.size(), out.exponent);
    const bool beyond =
        error != std::errc{} || out.exponent > kExponentMax || out.exponent < -kExponentMax;
    if (beyond) out.exponent = below ? -kExponentMax : kExponentMax;
  }
  const std::string_view plain = text.substr(0, mark);
  const std::size_t point = std::min(plain.find('.'), plain.size());
  out.digits = plain.substr(0, point);
  if (point < plain.size()) out.digits += plain.substr(point + 1);
  out.exponent += static_cast<std::int64_t>(point);
  const std::size_t zeros = std::min(out.digits.find_first_not_of('0'), out.digits.size());
  out.digits.erase(0, zeros);
  out.exponent -= static_cast<std::int64_t>(zeros);
  while (out.digits.ends_with('0')) out.digits.pop_back();
  if (out.digits.empty()) out = {};
  return out;
}

// Equal values, equal keys; different ones, different keys.
std::string key_of(const Value& value) {
  std::string key(1, static_cast<char>('a' + static_cast<int>(value.kind)));
  if (value.kind != ValueKind::kNumber) return key + value.text;
  const Decimal number = decimal_of(value.text);
  if (number.digits.empty()) return key;
  return fmt::format("{}{}{}e{}", key, number.negative ? '-' : '+', number.digits, number.exponent);
}

int sign_of(const Decimal& decimal) {
  if (decimal.digits.empty()) return 0;
  return decimal.negative ? -1 : 1;
}

}  // namespace

std::string_view kind_text(Value::Kind kind) {
  constexpr std::array<std::string_view, 8> kTexts{"missing",  "too large", "null",   "a boolean",
                                                   "a number", "a string",  "a list", "an object"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::expected<std::vector<Value>, std::string> pick_values(std::string_view json,
                                                           std::span<const Steps* const> paths,
                                                           std::size_t bytes_max) {
  JsonTokens tokens(json);
  std::vector<Value> values = Picker(tokens, paths, bytes_max).run();
  if (!tokens.fine()) return std::unexpected(tokens.fault());
  return values;
}

std::vector<Value> items_of(const Value& value, std::size_t bytes_max) {
  // At least two bytes each, so there are not many.
  std::vector<Value> out;
  const Steps whole;
  const std::array<const Steps*, 1> only{&whole};
  JsonTokens in(value.text);
  const bool list = value.kind == ValueKind::kList;
  in.expect(list ? '[' : '{');
  const char close = list ? ']' : '}';
  while (in.fine() && in.next() != close) {
    if (!list) {
      out.push_back({ValueKind::kText, in.quoted()});
      in.expect(':');
    }
    Value item = Picker(in, only, bytes_max).one();
    if (list) out.push_back(std::move(item));
    if (!in.take(',')) break;
  }
  return out;
}

namespace {

// Without the spaces between its parts. Precondition: JSON.
void append_compact(std::string& out, std::string_view json) {
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') quoted = !quoted;
    if (quoted || !std::string_view(" \t\r\n").contains(c)) out += c;
    if (quoted && c == '\\') out += json[++i];
  }
}

std::string text_of_item(const Value& item) {
  if (item.kind == ValueKind::kText) return item.text;
  std::string out;
  append_compact(out, item.text);
  return out;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const std::size_t short_form = std::string_view("\"\\\b\f\n\r\t").find(c);
    if (short_form != std::string_view::npos) {
      out += '\\';
      out += std::string_view("\"\\bfnrt")[short_form];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_of(const Value& value) {
  if (value.kind == ValueKind::kText) return json_quoted(value.text);
  std::string out;
  append_compact(out, value.text);
  return out;
}

Value value_of_json(std::string_view json) {
  const Steps whole;
  const std::array<const Steps*, 1> only{&whole};
  JsonTokens in(json);
  in.next();
  return Picker(in, only, json.size()).one();
}

std::expected<std::vector<std::string>, std::string> item_texts(const Value& value,
                                                                std::size_t items_max) {
  const bool list = value.kind == ValueKind::kList;
  if (!list && value.kind != ValueKind::kObject) {
    return std::unexpected(
        fmt::format("is {}; a map needs a list or an object", kind_text(value.kind)));
  }
  std::vector<std::string> out;
  const Steps whole;
  const std::array<const Steps*, 1> only{&whole};
  JsonTokens in(value.text);
  in.expect(list ? '[' : '{');
  const char close = list ? ']' : '}';
  while (in.fine() && in.next() != close) {
    if (out.size() == items_max) {
      return std::unexpected(fmt::format("has more than {} items", items_max));
    }
    std::string text;
    if (!list) {
      const std::size_t begin = in.at();
      (void)in.quoted();
      text = fmt::format(R"({{"key":{},"value":)", in.since(begin));
      in.expect(':');
      in.next();
      const std::size_t member = in.at();
      (void)Picker(in, only, value.text.size()).one();
      append_compact(text, in.since(member));
      text += '}';
    } else {
      const Value item = Picker(in, only, value.text.size()).one();
      if (item.kind == ValueKind::kNull) {
        return std::unexpected(fmt::format("has null as item {}", out.size()));
      }
      text = text_of_item(item);
    }
    out.push_back(std::move(text));
    if (!in.take(',')) break;
  }
  if (!in.fine()) return std::unexpected("is not valid JSON: " + in.fault());
  return out;
}

ItemSet::ItemSet(const Value& value) {
  std::vector<std::string> keys;
  for (const Value& item : items_of(value)) keys.push_back(key_of(item));
  std::sort(keys.begin(), keys.end());
  begins_.reserve(keys.size() + 1);
  for (const std::string& key : keys) {
    begins_.push_back(static_cast<std::uint32_t>(keys_.size()));
    keys_ += key;
  }
  begins_.push_back(static_cast<std::uint32_t>(keys_.size()));
}

std::string_view ItemSet::key(std::size_t place) const {
  return std::string_view(keys_).substr(begins_[place], begins_[place + 1] - begins_[place]);
}

bool ItemSet::contains(const Value& wanted) const {
  const std::string sought = key_of(wanted);
  std::size_t low = 0;
  std::size_t high = begins_.size() - 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    (key(middle) < sought ? low : high) = key(middle) < sought ? middle + 1 : middle;
  }
  return low + 1 < begins_.size() && key(low) == sought;
}

std::size_t ItemSet::bytes() const { return keys_.size() + begins_.size() * sizeof(std::uint32_t); }

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  const Decimal left = decimal_of(a);
  const Decimal right = decimal_of(b);
  if (sign_of(left) != sign_of(right)) return sign_of(left) <=> sign_of(right);
  auto order = left.exponent <=> right.exponent;
  if (order == 0) order = left.digits.compare(right.digits) <=> 0;
  if (!left.negative) return order;
  return 0 <=> order;
}

}  // namespace vortex
