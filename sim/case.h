#pragma once
// One simulated run, named: a seed, and what is left out of it.
//
// Everything follows from the seed; a failing case is made smaller by leaving things out, which
// shifts no other draw. Saved cases are small text files: `key value...` lines, `#` comments.

#include <cstdint>
#include <expected>
#include <set>
#include <string>
#include <string_view>

#include "sim/fault.h"

namespace vortex::sim {

// How a seed is read. A saved case keeps the drawing it was found with, so what is drawn later
// changes no history of it; a file that names none is of the first.
inline constexpr std::uint32_t kFirstDrawing = 1;
inline constexpr std::uint32_t kThirdDrawing = 3;
inline constexpr std::uint32_t kFourthDrawing = 4;
inline constexpr std::uint32_t kFifthDrawing = 5;
inline constexpr std::uint32_t kSixthDrawing = 6;
inline constexpr std::uint32_t kSeventhDrawing = 7;
inline constexpr std::uint32_t kEighthDrawing = 8;
inline constexpr std::uint32_t kNinthDrawing = 9;
inline constexpr std::uint32_t kTenthDrawing = 10;
inline constexpr std::uint32_t kEleventhDrawing = 11;
inline constexpr std::uint32_t kTwelfthDrawing = 12;
inline constexpr std::uint32_t kThirteenthDrawing = 13;
inline constexpr std::uint32_t kPresentDrawing = kThirteenthDrawing;

struct Case {
  std::uint64_t seed = 1;
  std::uint32_t drawing = kPresentDrawing;
  Scenario scenario = Scenario::kBySeed;
  std::set<FaultKind> off;            // kinds that do not happen at all
  std::set<std::uint32_t> no_faults;  // single timed faults, by position
  std::set<std::uint32_t> no_acts;    // single acts of clients, by position
  std::set<std::uint32_t> no_workers;
  std::string note;  // one line: what it was

  friend bool operator==(const Case&, const Case&) = default;
};

std::string to_text(const Case& c);
// The error names the line and what is wrong with it.
std::expected<Case, std::string> parse_case(std::string_view text);
// How to see this case again, as a command line.
std::string replay_command(const Case& c);

}  // namespace vortex::sim
