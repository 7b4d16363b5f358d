#include "store/sqlite/file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

Error locked_by(int fd, const std::string& path) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string_view pid(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  pid = pid.substr(0, pid.find('\n'));
  return {Fault::kLocked, fmt::format("{} is held by process {}: stop that controller first", path,
                                      pid.empty() ? "(unknown)" : pid)};
}

// Only to be shown: the lock itself does not depend on it.
void write_owner(int fd) {
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, text.data(), text.size(), 0);
}

}  // namespace

Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (!error && std::filesystem::is_directory(whole.parent_path(), error)) return whole.string();
  return std::unexpected(
      Error{Fault::kUnavailable, fmt::format("{}: the database directory does not exist", path)});
}

Result<FileLock> FileLock::take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    const int code = errno;
    return std::unexpected(
        Error{code == ENOSPC ? Fault::kFull : Fault::kUnavailable,
              fmt::format("cannot open the lock {}: {}", path, std::strerror(code))});
  }
  FileLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    write_owner(fd);
    return lock;
  }
  const int code = errno;
  if (code == EWOULDBLOCK) return std::unexpected(locked_by(fd, path));
  return std::unexpected(
      Error{Fault::kUnavailable, fmt::format("cannot lock {}: {}", path, std::strerror(code))});
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {

// What others may do with a file is taken away; what its group may, an operator has chosen.
void tighten(const std::string& path, const std::function<void(const std::string&)>& notice) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    const mode_t narrow = info.st_mode & static_cast<mode_t>(~S_IRWXO) & 07777U;
    const std::string mode = fmt::format("{:04o}", narrow);
    const bool done = ::fchmod(fd, narrow) == 0;
    if (notice) {
      notice(path + (done ? " was open to every user of this machine; its mode is now " + mode
                          : " is open to every user of this machine, and its mode cannot be "
                            "changed to " +
                                mode));
    }
  }
  ::close(fd);
}

}  // namespace

Result<bool> prepare_file(const std::string& path,
                          const std::function<void(const std::string&)>& notice) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) {
    ::close(made);
    return true;
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;  // SQLite says why
  if (info.st_nlink > 1) {
    return std::unexpected(
        Error{Fault::kUnavailable,
              fmt::format("{} has {} names (hard links): another controller could use it under "
                          "another name, without its write-ahead log; remove the other names, or "
                          "copy it with `vortex db backup`",
                          path, info.st_nlink)});
  }
  for (const char* suffix : {"", "-wal", "-shm"}) tighten(path + suffix, notice);
  return false;
}

namespace {

constexpr std::uint32_t kApplicationId = 0x56525458;  // "VRTX"; on disk

Result<std::uint32_t> ask_number(Connection& db, std::string_view sql) {
  const auto text = db.ask(sql);
  if (!text) return std::unexpected(text.error());
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem == std::errc{}) return number;
  return std::unexpected(Error{Fault::kDamaged, fmt::format("'{}' is not a valid version", *text)});
}

Result<void> run_one(Connection& db, std::uint32_t version) {
  const std::string steps[] = {std::string(sql::kBegin), std::string(migration(version)),
                               fmt::format(sql::kSetUserVersion, version),
                               fmt::format(sql::kSetApplicationId, kApplicationId),
                               std::string(sql::kCommit)};
  for (const std::string& step : steps) {
    if (auto done = db.exec(step); !done) return done;
  }
  return {};
}

}  // namespace

std::uint32_t known_version() { return static_cast<std::uint32_t>(std::size(sql::kMigrations)); }

std::string_view migration(std::uint32_t version) { return sql::kMigrations[version - 1]; }

Result<std::uint32_t> version_of(Connection& db) {
  const auto version = ask_number(db, sql::kUserVersion);
  if (!version) return version;
  const auto tables = ask_number(db, sql::kCountTables);
  if (!tables) return tables;
  if (*tables == 0) return *version == 0 ? version : 0;
  const auto application = ask_number(db, sql::kApplicationId);
  if (!application) return application;
  if (*application != kApplicationId) {
    return std::unexpected(Error{Fault::kDamaged, "this database belongs to another program"});
  }
  if (*version > known_version()) {
    return std::unexpected(Error{
        Fault::kNewer, fmt::format("the file has layout {}, but this version supports only up to "
                                   "{}: use the version of vortex that wrote it, or a newer one",
                                   *version, known_version())});
  }
  return version;
}

Result<void> migrate(Connection& db) {
  const auto version = version_of(db);
  if (!version) return std::unexpected(version.error());
  for (std::uint32_t next = *version + 1; next <= known_version(); ++next) {
    auto done = run_one(db, next);
    if (done) continue;
    if (db.in_transaction()) {
      if (auto undone = db.exec(sql::kRollback); !undone) return undone;
    }
    return done;
  }
  return {};
}

}  // namespace vortex::store::sqlite
