// bench_store: the store against a bare loop of the same row writes, and how fast it comes back.
//
// (a) run_bare_loop: plain SQLite, the same width and indexes. (b) the same lives through
// Writer::commit with attempts and events. Both in sets of 1,000, turn by turn, on the same disk.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "bench/store/lives.h"
#include "bench/vortex/bare_loop.h"
#include "store/sqlite/open.h"

namespace vortex::bench {
namespace {

struct Sizes {
  std::uint32_t tasks = 200'000;
  std::uint32_t set = 1'000;
  std::uint32_t rounds = 3;
  std::uint32_t image_tasks = 1'000'000;
  std::string folder;
};

// Time of this process on the processor: says the same on a busy machine as on a quiet one.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class T>
T must(store::Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "bench_store: {}\n", result.error().detail);
  std::exit(1);
}
void must(store::Result<void> result) {
  if (result) return;
  fmt::print(stderr, "bench_store: {}\n", result.error().detail);
  std::exit(1);
}

std::unique_ptr<store::Store> open_store(const std::string& path) {
  store::SqliteOptions options;
  options.path = path;
  return must(store::open_sqlite(options));
}

Lives lead(store::Store& store, std::uint32_t tasks) {
  const auto won = must(store.writer().acquire({ControllerId{"bench"}, {}}, seconds(10)));
  return {wide_plan(tasks), std::get<store::Won>(won).term};
}

struct StoreResult {
  double queue = 0;
  double hand_out = 0;
  double complete = 0;
  double longest = 0;
  double cpu = 0;
  double file_bytes_per_task = 0;
  double took() const { return queue + hand_out + complete; }
};

double timed_commit(store::Writer& writer, const Commit& commit, StoreResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_seconds();
  must(writer.commit(commit));
  const double took = seconds_since(begin);
  result.cpu += cpu_seconds() - cpu_begin;
  result.longest = std::max(result.longest, took);
  return took;
}

StoreResult run_store(const std::string& path, const Sizes& sizes) {
  StoreResult result;
  {
    const auto store = open_store(path);
    store::Writer& writer = store->writer();
    Lives lives = lead(*store, sizes.tasks);
    must(writer.commit(lives.submit()));
    for (std::uint32_t first = 0; first < sizes.tasks; first += sizes.set) {
      const std::uint32_t end = std::min(sizes.tasks, first + sizes.set);
      result.queue += timed_commit(writer, lives.queue(first, end), result);
      result.hand_out += timed_commit(writer, lives.hand_out(first, end), result);
      result.complete += timed_commit(writer, lives.complete(first, end), result);
    }
  }
  result.file_bytes_per_task = static_cast<double>(std::filesystem::file_size(path)) / sizes.tasks;
  return result;
}

void compare(const Sizes& sizes) {
  fmt::print("{} tasks in sets of {}: inserted, claimed, completed\n", sizes.tasks, sizes.set);
  fmt::print("{:>6} {:>12} {:>13} {:>6} {:>11} {:>12} {:>6}   {}\n", "round", "bare tasks/s",
             "store tasks/s", "ratio", "bare us cpu", "store us cpu", "ratio",
             "store: queue + hand out + complete, longest commit, file per task");
  std::vector<double> ratios;
  for (std::uint32_t round = 1; round <= sizes.rounds; ++round) {
    const std::string base = fmt::format("{}/round-{}", sizes.folder, round);
    const auto bare = must(store::run_bare_loop(base + "-bare.db", sizes.tasks, sizes.set));
    const double bare_cpu = static_cast<double>(bare.cpu.us) / 1e6;
    const StoreResult ours = run_store(base + "-store.db", sizes);
    const double rate = sizes.tasks / ours.took();
    ratios.push_back(rate / bare.tasks_per_second());
    fmt::print(
        "{:>6} {:>12.0f} {:>13.0f} {:>6.2f} {:>11.1f} {:>12.1f} {:>6.2f}   {:.2f} + {:.2f} + "
        "{:.2f} s, {:.0f} ms, {:.0f} B\n",
        round, bare.tasks_per_second(), rate, ratios.back(), bare_cpu * 1e6 / sizes.tasks,
        ours.cpu * 1e6 / sizes.tasks, bare_cpu / ours.cpu, ours.queue, ours.hand_out, ours.complete,
        ours.longest * 1e3, ours.file_bytes_per_task);
  }
  std::ranges::sort(ratios);
  fmt::print("ratio in the middle: {:.2f} (aim: at least 0.6)\n\n", ratios[ratios.size() / 2]);
}

void load_image(const Sizes& sizes) {
  const std::string path = sizes.folder + "/image.db";
  {
    const auto store = open_store(path);
    Lives lives = lead(*store, sizes.image_tasks);
    must(store->writer().commit(lives.submit()));
    constexpr std::uint32_t kSet = 10'000;
    for (std::uint32_t first = 0; first < sizes.image_tasks; first += kSet) {
      must(store->writer().commit(lives.queue(first, std::min(sizes.image_tasks, first + kSet))));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto store = open_store(path);
  const double opened = seconds_since(begin);
  const double cpu_begin = cpu_seconds();
  const StoreImage image = must(store->writer().image());
  const double loaded = seconds_since(begin);
  const double cpu = cpu_seconds() - cpu_begin;
  fmt::print("{} live tasks: open {:.3f} s, image {:.2f} s ({:.2f} s cpu)\n",
             image.runs.at(0).tasks.size(), opened, loaded - opened, cpu);
}

int run(int argc, char** argv) {
  Sizes sizes;
  bool quick = false;
  CLI::App app("The store against a bare loop of the same row writes");
  app.add_option("--tasks", sizes.tasks, "tasks per round");
  app.add_option("--set", sizes.set, "tasks per transaction");
  app.add_option("--rounds", sizes.rounds, "rounds of both loops");
  app.add_option("--image-tasks", sizes.image_tasks, "live tasks to load; 0: none");
  app.add_option("--folder", sizes.folder, "where the files go; a temporary folder if not given");
  app.add_flag("--quick", quick, "only to see that it runs");
  CLI11_PARSE(app, argc, argv);
  if (quick)
    sizes = {
        .tasks = 3'000, .set = 1'000, .rounds = 1, .image_tasks = 3'000, .folder = sizes.folder};
  const auto base = sizes.folder.empty() ? std::filesystem::temp_directory_path()
                                         : std::filesystem::path(sizes.folder);
  const auto folder = base / fmt::format("bench-store-{}", ::getpid());
  std::filesystem::create_directories(folder);
  sizes.folder = folder.string();
  compare(sizes);
  if (sizes.image_tasks > 0) load_image(sizes);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace vortex::bench

int main(int argc, char** argv) { return vortex::bench::run(argc, argv); }
