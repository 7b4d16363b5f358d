#include "tests/house/purity.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace vortex::house {
namespace {

// Headers that hold no clock, thread, file, chance or hidden order.
constexpr std::array<std::string_view, 37> kHeaders{"algorithm",
                                                    "array",
                                                    "bit",
                                                    "bitset",
                                                    "charconv",
                                                    "compare",
                                                    "concepts",
                                                    "cstddef",
                                                    "cstdint",
                                                    "cstring",
                                                    "deque",
                                                    "expected",
                                                    "functional",
                                                    "iterator",
                                                    "limits",
                                                    "list",
                                                    "initializer_list",
                                                    "map",
                                                    "memory",
                                                    "new",
                                                    "numeric",
                                                    "optional",
                                                    "queue",
                                                    "ranges",
                                                    "set",
                                                    "span",
                                                    "stack",
                                                    "string",
                                                    "string_view",
                                                    "system_error",
                                                    "tuple",
                                                    "type_traits",
                                                    "utility",
                                                    "variant",
                                                    "vector",
                                                    "fmt/format.h",
                                                    "fmt/ranges.h"};

struct Taboo {
  std::string_view word;
  std::string_view remedy;
};

constexpr std::string_view kTime = "take the time as an Instant argument";
constexpr std::string_view kChance = "take a vortex::Rng from outside";
constexpr std::string_view kThread = "the core is single-threaded; leave threads to the shell";
constexpr std::string_view kOutput = "return effects; the shell logs, prints and stores";
constexpr std::string_view kOrder =
    "its order differs between runs; use std::map or a sorted vector";
constexpr std::string_view kReal = "decide with integers: they are the same on every machine";

constexpr Taboo kTaboos[] = {
    {"chrono", kTime},
    {"system_clock", kTime},
    {"steady_clock", kTime},
    {"clock_gettime", kTime},
    {"gettimeofday", kTime},
    {"time_t", kTime},
    {"sleep_for", kTime},
    {"random_device", kChance},
    {"rand", kChance},
    {"srand", kChance},
    {"mt19937", kChance},
    {"mt19937_64", kChance},
    {"default_random_engine", kChance},
    {"thread", kThread},
    {"jthread", kThread},
    {"thread_local", kThread},
    {"mutex", kThread},
    {"shared_mutex", kThread},
    {"lock_guard", kThread},
    {"atomic", kThread},
    {"condition_variable", kThread},
    {"asio", kThread},
    {"cout", kOutput},
    {"cerr", kOutput},
    {"printf", kOutput},
    {"fprintf", kOutput},
    {"puts", kOutput},
    {"print", kOutput},
    {"println", kOutput},
    {"fopen", kOutput},
    {"ofstream", kOutput},
    {"ifstream", kOutput},
    {"getenv", kOutput},
    {"spdlog", kOutput},
    {"sqlite3", kOutput},
    {"json", kOutput},
    {"unordered_map", kOrder},
    {"unordered_set", kOrder},
    {"unordered_multimap", kOrder},
    {"unordered_multiset", kOrder},
    {"float", kReal},
    {"double", kReal},
};

bool may_include(const SourceFile& file, const Include& include) {
  if (!include.quoted) return std::ranges::find(kHeaders, include.name) != kHeaders.end();
  const std::string own = file.path.substr(4, file.path.find('/', 4) - 3);  // "core/" of src/core/x
  // The engine runs the core and is as pure as it is.
  if (file.path.starts_with("src/engine/") && include.name.starts_with("core/")) return true;
  return include.name.starts_with("base/") || include.name.starts_with("model/") ||
         include.name.starts_with(own);
}

// The word or number that begins at `from`.
std::string_view word_at(std::string_view code, std::size_t from) {
  const bool number = std::isdigit(static_cast<unsigned char>(code[from])) != 0;
  std::size_t end = from;
  while (end < code.size() &&
         (is_word_char(code[end]) || (number && (code[end] == '.' || code[end] == '\'')))) {
    ++end;
  }
  return code.substr(from, end - from);
}

std::string complaint(std::string_view word) {
  const bool number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
  if (number) return word.contains('.') ? fmt::format("'{}': {}", word, kReal) : std::string();
  const auto* taboo = std::ranges::find(kTaboos, word, &Taboo::word);
  return taboo == std::end(kTaboos) ? std::string() : fmt::format("'{}': {}", word, taboo->remedy);
}

}  // namespace

Findings impurities(const SourceFile& file) {
  Findings findings;
  for (const Include& include : includes_of(file.text)) {
    if (may_include(file, include)) continue;
    findings.push_back({file.path, include.line,
                        fmt::format("includes '{}': only base/, model/, its own folder and the "
                                    "headers listed in tests/house/purity.cc are pure",
                                    include.name)});
  }
  const std::string code = without_directives(blanked(file.text, Blank::kCommentsAndLiterals));
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word_char(code[at])) {
      ++at;
      continue;
    }
    const std::string_view word = word_at(code, at);
    std::string message = complaint(word);
    if (!message.empty()) {
      findings.push_back({file.path, line_at(code, at), std::move(message)});
    }
    at += word.size();
  }
  return findings;
}

}  // namespace vortex::house
