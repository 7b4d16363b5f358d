#include "store/row_json.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

namespace vortex::store {
namespace {

namespace json = boost::json;

std::optional<json::value> parse(std::string_view text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // what was taken once must be readable for ever
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) return std::nullopt;
  return value;
}

json::object object_of(const Labels& labels) {
  json::object object;
  object.reserve(labels.size());
  for (const auto& [key, value] : labels) object.emplace(key, value);
  return object;
}

json::array array_of(const std::vector<std::string>& texts) {
  json::array array;
  array.reserve(texts.size());
  for (const auto& text : texts) array.emplace_back(text);
  return array;
}

bool read(const json::value* value, Labels& labels) {
  const json::object* object = value ? value->if_object() : nullptr;
  if (object == nullptr) return false;
  for (const auto& [key, text] : *object) {
    if (!text.is_string()) return false;
    labels.emplace_back(std::string(key), std::string(text.get_string()));
  }
  return true;
}

bool read(const json::value* value, std::vector<std::string>& texts) {
  const json::array* array = value ? value->if_array() : nullptr;
  if (array == nullptr) return false;
  texts.clear();
  for (const auto& text : *array) {
    if (!text.is_string()) return false;
    texts.emplace_back(text.get_string());
  }
  return true;
}

bool read(const json::value* value, std::int64_t& number) {
  if (value == nullptr || !value->is_int64()) return false;
  number = value->get_int64();
  return true;
}

bool read(const json::value* value, NamedAmounts& amounts) {
  const json::object* object = value ? value->if_object() : nullptr;
  if (object == nullptr) return false;
  for (const auto& [key, amount] : *object) {
    if (!amount.is_int64()) return false;
    amounts.emplace_back(std::string(key), amount.get_int64());
  }
  return true;
}

}  // namespace

std::string labels_json(const Labels& labels) { return json::serialize(object_of(labels)); }

std::optional<Labels> read_labels(std::string_view text) {
  const auto value = parse(text);
  Labels labels;
  if (!value || !read(&*value, labels)) return std::nullopt;
  return labels;
}

bool has_members(std::string_view text, const Labels& wanted) {
  const auto value = parse(text);
  const json::object* object = value ? value->if_object() : nullptr;
  if (object == nullptr) return wanted.empty();
  return std::ranges::all_of(wanted, [&](const auto& member) {
    const json::value* found = object->if_contains(member.first);
    if (found == nullptr) return false;
    const json::string* string = found->if_string();
    return string != nullptr ? *string == member.second : json::serialize(*found) == member.second;
  });
}

std::string numbers_json(const std::vector<std::uint32_t>& numbers) {
  return json::serialize(json::array(numbers.begin(), numbers.end()));
}

std::optional<std::vector<std::uint32_t>> read_numbers(std::string_view text) {
  const auto value = parse(text);
  if (!value || !value->is_array()) return std::nullopt;
  std::vector<std::uint32_t> numbers;
  for (const auto& number : value->get_array()) {
    if (!number.is_int64() || !std::in_range<std::uint32_t>(number.get_int64()))
      return std::nullopt;
    numbers.push_back(static_cast<std::uint32_t>(number.get_int64()));
  }
  return numbers;
}

std::string abilities_json(const WorkerInfo& info) {
  json::object named;
  for (const auto& [name, amount] : info.resources.named) named.emplace(name, amount);
  const json::object all{{"queues", array_of(info.queues)},
                         {"labels", object_of(info.labels)},
                         {"runtimes", array_of(info.runtimes)},
                         {"users", array_of(info.users)},
                         {"cpu_milli", info.resources.cpu_milli},
                         {"memory_bytes", info.resources.memory_bytes},
                         {"named", std::move(named)}};
  return json::serialize(all);
}

bool read_abilities(std::string_view text, WorkerInfo& info) {
  const auto value = parse(text);
  if (!value || !value->is_object()) return false;
  const json::object& all = value->get_object();
  return read(all.if_contains("queues"), info.queues) &&
         read(all.if_contains("labels"), info.labels) &&
         read(all.if_contains("runtimes"), info.runtimes) &&
         (!all.contains("users") || read(all.if_contains("users"), info.users)) &&
         read(all.if_contains("cpu_milli"), info.resources.cpu_milli) &&
         read(all.if_contains("memory_bytes"), info.resources.memory_bytes) &&
         read(all.if_contains("named"), info.resources.named);
}

}  // namespace vortex::store
