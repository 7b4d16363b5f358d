#pragma once
// The database file as a whole: the right to be the only controller on it, and the layout that this
// version knows.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/error.h"
#include "store/sqlite/connection.h"

namespace vortex::store::sqlite {

// The right to be the only controller on a database file: a lock on a file beside it.
//
// Held as long as the object lives; the kernel releases it when the process dies, however it dies.
// The file is never removed, because a removed file could be locked by two processes at once.

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

// Makes the file for a new database, and judges an existing one: readable by its owner alone when
// it is made, never by everybody (told to `notice`), and under one name only. SQLite gives its
// other files the same mode.
Result<bool> prepare_file(const std::string& path,
                          const std::function<void(const std::string&)>& notice);

// Brings a database file to the layout that this version knows.
//
// Each migration is one transaction with its number, so that a crash in between is harmless. A file
// of a newer version is refused before anything in it is changed, and so is one of another program.

std::uint32_t known_version();
// The statements that make this layout from the one before.
std::string_view migration(std::uint32_t version);

// The version of the file; 0: it is new. kNewer, kDamaged: it cannot be used.
Result<std::uint32_t> version_of(Connection& db);

Result<void> migrate(Connection& db);

}  // namespace vortex::store::sqlite
