#pragma once
// The right to be the only controller on a database file: a lock on a file beside it.
//
// Held as long as the object lives; the kernel releases it when the process dies, however it dies.
// The file is never removed, because a removed file could be locked by two processes at once.

#include <string>

#include "store/error.h"

namespace vortex::store::sqlite {

// The same file under another name must find the same lock.
Result<std::string> real_path(const std::string& path);

class FileLock {
 public:
  // kLocked: somebody else has it; the detail names the process.
  static Result<FileLock> take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace vortex::store::sqlite
