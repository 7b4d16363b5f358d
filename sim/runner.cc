#include "sim/runner.h"

#include <array>
#include <cstring>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::sim {

namespace {

// What the child tells its parent, in one write.
struct Message {
  bool failed = false;
  std::uint64_t hash = 0;
  std::array<char, 120> invariant{};
  std::array<char, 600> detail{};
};

template <std::size_t N>
void copy_text(std::array<char, N>& to, const std::string& from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), N - 1));
}

[[noreturn]] void run_child(const Case& c, int out) {
  const Outcome outcome = run_checked(c, Twice::kNo);
  Message message;
  message.hash = outcome.hash;
  if (outcome.failure) {
    message.failed = true;
    copy_text(message.invariant, outcome.failure->invariant);
    copy_text(message.detail, outcome.failure->detail);
  }
  const auto written = ::write(out, &message, sizeof message);
  ::_exit(written == sizeof message ? 0 : 1);
}

}  // namespace

Outcome run_checked(const Case& c, Twice twice) {
  const Result result = run_case(c);
  Outcome outcome{std::nullopt, result.hash, result.calls};
  if (!result.violations.empty()) {
    outcome.failure = Failure{result.violations[0].invariant, result.violations[0].detail};
  } else if (twice == Twice::kYes && run_case(c).hash != result.hash) {
    outcome.failure = Failure{"same seed, same history", "the second run has another hash"};
  }
  return outcome;
}

Outcome run_isolated(const Case& c) {
  int ends[2];
  if (::pipe(ends) != 0) return {Failure{kDied, "no pipe"}, 0, {}};
  const pid_t child = ::fork();
  if (child == 0) run_child(c, ends[1]);
  ::close(ends[1]);
  Message message;
  const auto got = ::read(ends[0], &message, sizeof message);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (got != sizeof message) {
    return {Failure{kDied, fmt::format("the process died of signal {}", WTERMSIG(status))}, 0, {}};
  }
  Outcome outcome{std::nullopt, message.hash, {}};
  if (message.failed) outcome.failure = Failure{message.invariant.data(), message.detail.data()};
  return outcome;
}

}  // namespace vortex::sim
