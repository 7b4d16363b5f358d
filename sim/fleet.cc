#include "sim/fleet.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/reached.h"

namespace vortex::sim {

namespace {

constexpr std::size_t kFailuresKept = 64;
constexpr std::size_t kMarksMax = 1024;
constexpr std::size_t kJobsMax = 256;

struct KeptFailure {
  std::atomic<bool> written{false};
  std::uint64_t seed = 0;
  std::array<char, 120> invariant{};
  std::array<char, 600> detail{};
};

// In memory that all processes share.
struct Board {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> failed{0};
  std::array<KeptFailure, kFailuresKept> failures;
  std::array<std::atomic<std::uint64_t>, kJobsMax> current{};  // by worker: seed + 1
  std::array<std::atomic<std::uint64_t>, kMarksMax> marks{};
  std::array<std::atomic<std::uint64_t>, kCommands> calls{};
};

void keep_failure(Board& board, std::uint64_t seed, const Failure& failure) {
  const std::uint64_t slot = board.failed.fetch_add(1);
  if (slot >= kFailuresKept) return;
  KeptFailure& kept = board.failures[slot];
  kept.seed = seed;
  failure.invariant.copy(kept.invariant.data(), kept.invariant.size() - 1);
  failure.detail.copy(kept.detail.data(), kept.detail.size() - 1);
  kept.written = true;
}

FailedSeed failed_seed(const KeptFailure& kept) {
  return {kept.seed, {kept.invariant.data(), kept.detail.data()}};
}

// Nobody has to wait for the last seed to hear of the first that fails.
void tell_new(const Board& board, const FleetOrder& order, std::size_t& told) {
  while (told < kFailuresKept && board.failures[told].written) {
    if (order.told) order.told(failed_seed(board.failures[told]));
    ++told;
  }
}

void add_marks(Board& board) {
  const auto marks = reached_marks();
  VX_ASSERT(marks.size() <= kMarksMax);
  for (std::size_t i = 0; i < marks.size(); ++i) board.marks[i] += marks[i].count;
}

[[noreturn]] void work(Board& board, const FleetOrder& order, std::size_t job) {
  for (auto& mark : reached_marks()) mark.count = 0;
  for (;;) {
    const std::uint64_t n = board.next.fetch_add(1);
    if (n >= order.seeds) break;
    Case c;
    c.seed = order.from + n;
    board.current[job] = c.seed + 1;
    // One in twenty runs twice: the same seed must give the same history.
    const Twice twice = c.seed % 20 == 0 ? Twice::kYes : Twice::kNo;
    const Outcome outcome = run_checked(c, twice);
    if (outcome.failure) keep_failure(board, c.seed, *outcome.failure);
    for (std::size_t i = 0; i < kCommands; ++i) board.calls[i] += outcome.calls[i];
    board.current[job] = 0;
    ++board.done;
  }
  add_marks(board);
  ::_exit(0);
}

pid_t start(Board& board, const FleetOrder& order, std::size_t job) {
  const pid_t child = ::fork();
  VX_ASSERT(child >= 0);
  if (child == 0) work(board, order, job);
  return child;
}

void show_progress(const Board& board, const FleetOrder& order) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{} of {} seeds, {} violations ", board.done.load(), order.seeds,
             board.failed.load());
}

FleetReport make_report(const Board& board) {
  FleetReport report;
  report.violations = board.failed.load();
  const std::uint64_t kept = std::min<std::uint64_t>(report.violations, kFailuresKept);
  for (std::uint64_t i = 0; i < kept; ++i) {
    report.failures.push_back(failed_seed(board.failures[i]));
  }
  std::ranges::sort(report.failures, {}, &FailedSeed::seed);
  for (std::size_t i = 0; i < kCommands; ++i) report.calls[i] = board.calls[i];
  const auto marks = reached_marks();
  for (std::size_t i = 0; i < marks.size(); ++i) report.marks[marks[i].name] += board.marks[i];
  return report;
}

}  // namespace

FleetReport run_fleet(const FleetOrder& order) {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  VX_ASSERT(memory != MAP_FAILED);
  auto& board = *new (memory) Board;
  std::map<pid_t, std::size_t> jobs;
  const std::size_t count = std::clamp<std::size_t>(order.jobs, 1, kJobsMax);
  for (std::size_t job = 0; job < count; ++job) jobs[start(board, order, job)] = job;
  std::size_t told = 0;
  while (!jobs.empty()) {
    tell_new(board, order, told);
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WNOHANG);
    if (child <= 0) {
      show_progress(board, order);
      ::usleep(20'000);
      continue;
    }
    const std::size_t job = jobs[child];
    jobs.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::uint64_t seed = board.current[job].exchange(0) - 1;
    keep_failure(board, seed,
                 {kDied, fmt::format("the process died of signal {}", WTERMSIG(status))});
    ++board.done;
    jobs[start(board, order, job)] = job;
  }
  tell_new(board, order, told);
  show_progress(board, order);
  if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
  FleetReport report = make_report(board);
  ::munmap(memory, sizeof(Board));
  return report;
}

}  // namespace vortex::sim
