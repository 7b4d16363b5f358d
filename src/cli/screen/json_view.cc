#include "cli/screen/json_view.h"

#include <cmath>

#include <fmt/format.h>

#include "cli/screen/human.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kCompact = static_cast<std::size_t>(-1);  // no indent: all in one line

void new_line(std::string& out, std::size_t indent) {
  if (indent == kCompact) return;
  out += '\n';
  out.append(indent, ' ');
}

void write(std::string& out, const boost::json::value& value, std::size_t indent);

template <class Items, class WriteItem>
void write_items(std::string& out, const Items& items, std::size_t indent, WriteItem write_item) {
  const std::size_t inner = indent == kCompact ? kCompact : indent + 2;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    new_line(out, inner);
    write_item(item, inner);
  }
  if (!first) new_line(out, indent);
}

// The library writes 0.2 as 2E-1, which people do not read and our own reader refuses.
void write_number(std::string& out, double number) {
  out += std::isfinite(number) ? fmt::format("{}", number) : "null";
}

void write(std::string& out, const boost::json::value& value, std::size_t indent) {
  if (const auto* object = value.if_object()) {
    out += '{';
    write_items(out, *object, indent, [&](const auto& member, std::size_t inner) {
      out += boost::json::serialize(member.key()) + (indent == kCompact ? ":" : ": ");
      write(out, member.value(), inner);
    });
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    write_items(out, *array, indent,
                [&](const auto& item, std::size_t inner) { write(out, item, inner); });
    out += ']';
  } else if (const auto* number = value.if_double()) {
    write_number(out, *number);
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

std::string text_of(const boost::json::value& value) {
  if (value.is_null()) return {};
  if (const auto* text = value.if_string()) return std::string(text->data(), text->size());
  return compact_json(value);
}

std::string text_at(const boost::json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value == nullptr ? std::string() : text_of(*value);
}

std::int64_t number_at(const boost::json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (value == nullptr) return 0;
  if (const auto* number = value->if_int64()) return *number;
  if (const auto* number = value->if_uint64()) return static_cast<std::int64_t>(*number);
  if (const auto* number = value->if_double()) return static_cast<std::int64_t>(*number);
  return 0;
}

bool flag_at(const boost::json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<Instant> time_at(const boost::json::object& from, std::string_view key) {
  return parse_time(text_at(from, key));
}

const boost::json::array& list_at(const boost::json::object& from, std::string_view key) {
  static const boost::json::array none;
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

const boost::json::object& object_at(const boost::json::object& from, std::string_view key) {
  static const boost::json::object none;
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

std::string pretty_json(const boost::json::value& value) {
  std::string out;
  write(out, value, 0);
  return out += '\n';
}

std::string compact_json(const boost::json::value& value) {
  std::string out;
  write(out, value, kCompact);
  return out;
}

}  // namespace vortex::cli
