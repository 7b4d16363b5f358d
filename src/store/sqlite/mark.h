#pragma once
// How far a database had come, kept in a small file beside it: whoever opens a database that is
// behind its mark learns that commits were lost.
//
// The mark is written after each commit, without an fsync. It outlives the process, however it
// dies, and is never ahead of what is durable, because the commit came first. After a loss of power
// it may be older than the last commit: there are no false alarms, and a few lost commits can go
// unnoticed. A mark that cannot be written stays as it is. One thread. On disk: append-only.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "store/error.h"

namespace vortex::store::sqlite {

class CommitMark {
 public:
  struct Point {
    std::uint64_t term = 0;
    std::int64_t clock_us = 0;
    friend auto operator<=>(const Point&, const Point&) = default;
  };

  // Makes the file when there is none.
  static Result<CommitMark> open(const std::string& path);
  CommitMark(CommitMark&& other) noexcept;
  ~CommitMark();
  CommitMark& operator=(CommitMark&&) = delete;
  CommitMark(const CommitMark&) = delete;
  CommitMark& operator=(const CommitMark&) = delete;

  // Unset: nothing was ever marked, or it cannot be read.
  std::optional<Point> point() const;
  void set(const Point& point);

 private:
  explicit CommitMark(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace vortex::store::sqlite
