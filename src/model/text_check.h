#pragma once
// Checks of single texts, numbers and times, and the words in which they complain.
//
// A Complaint says what is wrong with the value in it, ready to be shown: texts that came from the
// user are quoted and cut, so no input can break a line or flood a message.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace vortex {

using Complaint = std::optional<std::string>;  // unset: nothing to complain about

inline constexpr std::size_t kNameBytesMax = 100;

// The text in quotes, fit for one line: unprintable bytes as \xNN, long texts cut.
std::string in_quotes(std::string_view text);

std::string to_text(Duration duration);

// Names of DAGs, nodes, queues and outputs: A-Z a-z 0-9 _ . - with a letter or digit in front.
Complaint complain_of_name(std::string_view what, std::string_view name);

// Free text of one line: what people type as labels, runtimes and ids of workers.
struct LineRule {
  std::size_t bytes_min = 0;
  std::size_t bytes_max = 0;
};
Complaint complain_of_line(std::string_view what, std::string_view text, LineRule rule);

// Ids that come into paths and URLs: `.` and `..` mean something else there.
Complaint complain_of_dots(std::string_view what, std::string_view id);

// Text that is handed to a process: any bytes but NUL, which would end it early.
Complaint complain_of_argument(std::string_view what, std::string_view text, std::size_t bytes_max);

// No two of the texts may be equal.
Complaint complain_of_twice(std::string_view what, std::vector<std::string_view> texts);

Complaint complain_of_number(std::string_view what, std::int64_t number, std::int64_t low,
                             std::int64_t high);
Complaint complain_of_delay(std::string_view what, Duration delay, Duration high);
Complaint complain_of_timeout(std::string_view what, std::optional<Duration> timeout);

}  // namespace vortex
