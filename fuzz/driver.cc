// main() for fuzzers where there is no libFuzzer (g++): runs the files it is given, then inputs
// that are made from them by chance, until the time or the number of runs is over.
//
// Knows nothing about coverage, so it learns nothing; it takes the options of libFuzzer that
// scripts/fuzz uses and passes over the others. Input that ends the process (a broken claim, a
// sanitizer, too slow) is written to a file first. The same seed gives the same inputs.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// A sanitizer that found something aborts, so that the input can be written.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

using vortex::Rng;

struct Options {
  std::uint64_t seconds = 0;  // 0: no limit of time
  std::uint64_t runs = 0;     // of made inputs; 0: as many as there is time for
  std::uint64_t seed = 1;
  unsigned slowest_seconds = 10;
  std::size_t bytes_max = 65'536;
  std::string artifact_prefix;
  std::string dictionary;
  std::vector<std::string> paths;
};

// What runs now, for the handler of signals.
const std::string* g_input = nullptr;
std::string g_artifact_prefix;

void write_artifact(int signal) {
  std::signal(SIGABRT, SIG_DFL);
  if (g_input == nullptr) std::abort();
  vortex::Hasher hasher;
  hasher.add(*g_input);
  char name[4096];
  std::snprintf(name, sizeof(name), "%s%s-%016llx", g_artifact_prefix.c_str(),
                signal == SIGALRM ? "timeout" : "crash",
                static_cast<unsigned long long>(hasher.value()));
  const int file = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const ssize_t written = file >= 0 ? ::write(file, g_input->data(), g_input->size()) : -1;
  const bool whole = written == static_cast<ssize_t>(g_input->size());
  std::fprintf(stderr, "input %s %s\n", whole ? "written to" : "could not be written to", name);
  std::abort();
}

bool take_number(std::string_view argument, std::string_view name, auto& out) {
  if (!argument.starts_with(name)) return false;
  argument.remove_prefix(name.size());
  const auto [end, fault] =
      std::from_chars(argument.data(), argument.data() + argument.size(), out);
  if (fault == std::errc() && end == argument.data() + argument.size()) return true;
  std::fprintf(stderr, "%s wants a number\n", std::string(name).c_str());
  std::exit(2);
}

bool take_text(std::string_view argument, std::string_view name, std::string& out) {
  if (!argument.starts_with(name)) return false;
  out = argument.substr(name.size());
  return true;
}

Options options_of(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_number(argument, "-max_total_time=", out.seconds) ||
        take_number(argument, "-runs=", out.runs) || take_number(argument, "-seed=", out.seed) ||
        take_number(argument, "-max_len=", out.bytes_max) ||
        take_number(argument, "-timeout=", out.slowest_seconds) ||
        take_text(argument, "-artifact_prefix=", out.artifact_prefix) ||
        take_text(argument, "-dict=", out.dictionary)) {
      continue;
    }
    if (!argument.starts_with('-')) out.paths.emplace_back(argument);
  }
  return out;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> read_inputs(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry);
  }
  std::ranges::sort(files);
  std::vector<std::string> inputs;
  for (const auto& file : files) inputs.push_back(read_file(file));
  return inputs;
}

// The words between the outer quotes, with \" and \\ resolved.
std::vector<std::string> read_words(const std::string& path) {
  std::vector<std::string> words;
  if (path.empty()) return words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('"') || line.size() < 2) continue;
    std::string& word = words.emplace_back();
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
      if (line[i] == '\\' && i + 2 < line.size()) ++i;
      word += line[i];
    }
  }
  return words;
}

class Mutator {
 public:
  Mutator(const Options& options, std::vector<std::string> seeds)
      : rng_(options.seed),
        bytes_max_(options.bytes_max),
        seeds_(std::move(seeds)),
        words_(read_words(options.dictionary)) {}

  std::string next() {
    std::string input = one_of(seeds_);
    for (std::uint64_t left = 1 + rng_.below(8); left > 0; --left) change(input);
    if (input.size() > bytes_max_) input.resize(bytes_max_);
    return input;
  }

 private:
  const std::string& one_of(const std::vector<std::string>& all) {
    return all[rng_.below(all.size())];
  }
  std::size_t place_in(const std::string& text) { return rng_.below(text.size() + 1); }

  void change(std::string& input) {
    const std::size_t at = place_in(input);
    const std::size_t length = std::min<std::size_t>(rng_.below(64), input.size() - at);
    switch (rng_.below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << rng_.below(8)));
        return;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(rng_.below(256));
        return;
      case 2:
        input.erase(at, length);
        return;
      case 3: {
        std::string again = input.substr(at, length);
        for (std::uint64_t times = rng_.below(20); times > 0; --times) input.insert(at, again);
        return;
      }
      case 4:
        if (!words_.empty()) input.insert(at, one_of(words_));
        return;
      case 5: {
        const std::string& other = one_of(seeds_);
        input.insert(at, other.substr(place_in(other), rng_.below(256)));
        return;
      }
      default:
        input.insert(at, rng_.below(8), static_cast<char>(rng_.below(256)));
    }
  }

  Rng rng_;
  std::size_t bytes_max_;
  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
};

// In a block of exactly its size: one byte too far is one byte into what a sanitizer watches.
void run(const std::string& input, const Options& options) {
  g_input = &input;
  ::alarm(options.slowest_seconds);
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  g_artifact_prefix = options.artifact_prefix;
  for (const int signal : {SIGABRT, SIGALRM}) std::signal(signal, write_artifact);
  std::vector<std::string> inputs = read_inputs(options.paths);
  std::uint64_t tried = 0;
  for (const std::string& input : inputs) run(input, options), ++tried;
  if (inputs.empty()) inputs.emplace_back();
  Mutator mutator(options, std::move(inputs));
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(options.seconds);
  const bool timed = options.seconds > 0;
  for (std::uint64_t runs = 0; options.runs == 0 ? timed : runs < options.runs; ++runs) {
    if (timed && std::time(nullptr) >= end) break;
    run(mutator.next(), options);
    ++tried;
  }
  std::printf("stat::number_of_executed_units: %llu\n", static_cast<unsigned long long>(tried));
  return 0;
}
