#include "worker/own_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vortex::worker {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnMode = 0700;
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kLifeDigits = 8;

std::unexpected<std::string> because(const std::string& path, int error) {
  return std::unexpected(fmt::format("{}: {}", path, std::strerror(error)));
}

// In a user namespace whoever is not known in it has this number: root of the machine as well.
std::optional<uid_t> unknown_user() {
  const std::string map = read_text_file("/proc/self/uid_map");
  if (map.contains("4294967295")) return std::nullopt;  // everybody is known
  const std::string text = read_text_file("/proc/sys/kernel/overflowuid");
  return text.empty() ? std::nullopt : std::optional<uid_t>(std::stoul(text));
}

bool may_be_above(uid_t owner) {
  return owner == 0 || owner == ::geteuid() || owner == unknown_user();
}

std::string owner_text(uid_t owner) { return owner == 0 ? "root" : fmt::format("user {}", owner); }

// Whoever can write to a folder above can put another one in the place of ours.
std::expected<void, std::string> check_above(const fs::path& path) {
  std::error_code fault;
  const fs::path whole = fs::canonical(path.parent_path(), fault);
  if (fault) return because(path.parent_path(), fault.value());
  for (fs::path at = whole;; at = at.parent_path()) {
    struct stat seen{};
    if (::lstat(at.c_str(), &seen) != 0) return because(at, errno);
    if (!may_be_above(seen.st_uid)) {
      return std::unexpected(
          fmt::format("{} belongs to {}, who could replace {}; use a directory elsewhere",
                      at.string(), owner_text(seen.st_uid), path.string()));
    }
    if ((seen.st_mode & S_IWOTH) != 0 && (seen.st_mode & S_ISVTX) == 0) {
      return std::unexpected(
          fmt::format("everybody can write to {} and could replace {}; run 'chmod o-w {}' or use "
                      "a directory elsewhere",
                      at.string(), path.string(), at.string()));
    }
    if (at == at.parent_path()) return {};
  }
}

// A link on the way that somebody else has made leads wherever they like.
std::expected<void, std::string> check_links(const fs::path& path) {
  fs::path at;
  for (const auto& name : path) {
    at /= name;
    struct stat seen{};
    if (::lstat(at.c_str(), &seen) != 0 || !S_ISLNK(seen.st_mode)) continue;
    if (at == path) {
      return std::unexpected(
          fmt::format("{} is a symbolic link; remove it or use the directory itself", at.string()));
    }
    if (!may_be_above(seen.st_uid)) {
      return std::unexpected(fmt::format("{} is a symbolic link of {}; use a directory elsewhere",
                                         at.string(), owner_text(seen.st_uid)));
    }
  }
  return {};
}

int make_all(const fs::path& path) {
  fs::path at;
  for (const auto& name : path) {
    at /= name;
    if (::mkdir(at.c_str(), kOwnMode) == 0 || errno == EEXIST) continue;
    // Where nothing may be made there may still be a folder: of a read-only disk, for example.
    struct stat seen{};
    const int error = errno;
    if (::stat(at.c_str(), &seen) != 0 || !S_ISDIR(seen.st_mode)) return error;
  }
  return 0;
}

}  // namespace

std::expected<Fd, std::string> open_own_folder(const std::string& text) {
  std::error_code fault;
  fs::path path = fs::absolute(text, fault).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "folder/"
  if (const auto fine = check_links(path); !fine) return std::unexpected(fine.error());
  if (const int error = make_all(path)) return because(path, error);
  if (const auto fine = check_above(path); !fine) return std::unexpected(fine.error());
  Fd folder(::open(path.c_str(), kFolderFlags));
  struct stat seen{};
  if (!folder || ::fstat(folder.get(), &seen) != 0) return because(path, errno);
  if (seen.st_uid != ::geteuid()) {
    return std::unexpected(
        fmt::format("{} belongs to {}, but vortex runs as {}; remove it or use another directory",
                    path.string(), owner_text(seen.st_uid), owner_text(::geteuid())));
  }
  if ((seen.st_mode & kWritableByOthers) != 0) {
    return std::unexpected(
        fmt::format("other users can write to {} (mode {:04o}); check what is in it and run 'chmod "
                    "700 {}', or use another directory",
                    path.string(), seen.st_mode & 07777U, path.string()));
  }
  return folder;
}

std::expected<Fd, int> make_folder_in(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), kOwnMode) != 0) return std::unexpected(errno);
  Fd folder(::openat(parent, name.c_str(), kFolderFlags));
  struct stat made{};
  if (!folder || ::fstat(folder.get(), &made) != 0) return std::unexpected(errno);
  // Somebody was quicker and put another one in its place.
  if (made.st_uid != ::geteuid()) return std::unexpected(EPERM);
  // Whatever the mask of this process takes away or an inherited list of rights adds.
  if ((made.st_mode & 07777U) != kOwnMode && ::fchmod(folder.get(), kOwnMode) != 0) {
    return std::unexpected(errno);
  }
  return folder;
}

bool leads_to(const std::string& path, int folder) {
  struct stat named{};
  struct stat held{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(folder, &held) == 0 &&
         named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

std::string read_own_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat seen{};
  if (!file || ::fstat(file.get(), &seen) != 0 || !S_ISREG(seen.st_mode)) return {};
  if (seen.st_uid != ::geteuid() || (seen.st_mode & kWritableByOthers) != 0) return {};
  return read_all(file);
}

Fd open_own_file(const std::string& path, int flags) {
  constexpr int kAlways = O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd file(::open(path.c_str(), flags | kAlways, 0600));
  struct stat seen{};
  if (!file || ::fstat(file.get(), &seen) != 0) return {};
  if (S_ISREG(seen.st_mode) && seen.st_uid == ::geteuid()) return file;
  errno = EPERM;
  return {};
}

namespace {

// An entry is removed, or its folder is left to the next round, or it cannot be removed.
class Remover {
 public:
  Remover(int parent, const std::function<bool()>& enough) : parent_(parent), enough_(enough) {}

  std::expected<void, int> remove(const std::string& name) {
    if (unlink(parent_, name.c_str())) return {};
    top_ = open_folder(parent_, name.c_str());
    if (!top_) return std::unexpected(errno);
    // Each round takes the folders of the first level apart and lifts those in them to the first
    // level: however deep the tree is, two folders are open.
    for (;;) {
      removed_ = 0;
      left_ = 0;
      error_ = 0;
      each_in(top_.get(), [this](const char* entry) { take_apart(entry); });
      if (left_ == 0) break;
      if (is_enough()) return std::unexpected(ECANCELED);
      if (removed_ == 0) return std::unexpected(error_);
    }
    if (unlink(parent_, name.c_str())) return {};
    return std::unexpected(errno);
  }

 private:
  bool is_enough() const { return enough_ && enough_(); }

  template <class Call>
  void each_in(int folder, Call call) {
    const int again = ::openat(folder, ".", kFolderFlags);
    DIR* listing = again < 0 ? nullptr : ::fdopendir(again);
    if (listing == nullptr) {
      if (again >= 0) ::close(again);
      return failed();
    }
    while (const dirent* entry = ::readdir(listing)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (is_enough()) {
        ++left_;
        break;
      }
      call(entry->d_name);
    }
    ::closedir(listing);
  }

  void failed() {
    if (error_ == 0) error_ = errno;
    ++left_;
  }

  // A file, a link, or a folder that is empty.
  static bool unlink_plain(int folder, const char* name) {
    if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM && errno != EBUSY) return false;
    return ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
  }

  static bool unlink(int folder, const char* name) {
    if (unlink_plain(folder, name)) return true;
    const int error = errno;
    bool changed = error == EBUSY && detach(folder, name);
    if (error == EPERM) {
      changed = unfreeze(folder);
      changed = unfreeze_entry(folder, name) || changed;
    }
    if (changed) return unlink_plain(folder, name);
    errno = error;
    return false;
  }

  // Whatever a task has mounted here goes, and nothing that is in it.
  static bool detach(int folder, const char* name) {
    const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, name);
    return ::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
  }

  static bool unfreeze(int file) {
    unsigned flags = 0;
    constexpr unsigned kFrozen = FS_IMMUTABLE_FL | FS_APPEND_FL;
    if (::ioctl(file, FS_IOC_GETFLAGS, &flags) != 0 || (flags & kFrozen) == 0) return false;
    flags &= ~kFrozen;
    return ::ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
  }
  static bool unfreeze_entry(int folder, const char* name) {
    const Fd entry(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return entry && unfreeze(entry.get());
  }

  // EXDEV: another mount, also one of the same file system.
  static Fd open_here(int folder, const char* name) {
    open_how how{};
    how.flags = kFolderFlags;
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
    return Fd(static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof(how))));
  }

  static Fd open_folder(int parent, const char* name) {
    Fd folder = open_here(parent, name);
    if (!folder && errno == EACCES && ::fchmodat(parent, name, kOwnMode, 0) == 0) {
      folder = open_here(parent, name);
    }
    if (!folder && errno == EXDEV && detach(parent, name)) folder = open_here(parent, name);
    if (!folder) return folder;
    unfreeze(folder.get());
    static_cast<void>(::fchmod(folder.get(), kOwnMode));
    return folder;
  }

  void take_apart(const char* entry) {
    if (unlink(top_.get(), entry)) {
      ++removed_;
      return;
    }
    const Fd folder = open_folder(top_.get(), entry);
    if (!folder) return failed();
    each_in(folder.get(), [&](const char* name) { lift(folder.get(), name); });
    if (unlink(top_.get(), entry)) {
      ++removed_;
      return;
    }
    failed();
  }

  void lift(int folder, const char* name) {
    if (unlink(folder, name)) {
      ++removed_;
      return;
    }
    // Its rights are needed to move a folder; a mount is found out by opening it.
    if (!open_folder(folder, name)) return failed();
    for (int tries = 0; tries < kPlacesTried; ++tries) {
      const std::string place = fmt::format("{}{}", kLifted, lifted_++);
      if (::renameat2(folder, name, top_.get(), place.c_str(), RENAME_NOREPLACE) == 0) {
        ++removed_;  // from where it was
        ++left_;
        return;
      }
      if (errno != EEXIST) break;
    }
    failed();
  }

  static constexpr std::string_view kLifted = ".vortex-removed-";
  static constexpr int kPlacesTried = 100;

  int parent_;
  const std::function<bool()>& enough_;
  Fd top_;
  std::uint64_t lifted_ = 0;
  std::size_t removed_ = 0;
  std::size_t left_ = 0;
  int error_ = 0;
};

}  // namespace

std::expected<void, int> remove_tree(int parent, const std::string& name,
                                     const std::function<bool()>& enough) {
  return Remover(parent, enough).remove(name);
}

WorkFolder::WorkFolder(std::string base, std::string name)
    : base_(std::move(base)), name_(std::move(name)), path_(path_in(base_, name_)) {}

std::expected<void, std::string> WorkFolder::ensure() {
  if (folder_ && leads_to(path_, folder_.get())) return {};
  const auto base = open_own_folder(base_);
  if (!base) return std::unexpected(base.error());
  auto made = make_folder_in(base->get(), name_);
  if (!made && made.error() == EEXIST) {
    Fd there(::openat(base->get(), name_.c_str(), kFolderFlags));
    struct stat seen{};
    if (there && ::fstat(there.get(), &seen) == 0 && seen.st_uid == ::geteuid() &&
        ::fchmod(there.get(), kOwnMode) == 0) {
      made = std::move(there);
    } else if (!there && (errno == ENOTDIR || errno == ELOOP) &&
               ::unlinkat(base->get(), name_.c_str(), 0) == 0) {
      made = make_folder_in(base->get(), name_);
    }
  }
  if (!made) return because(path_, made.error());
  if (::flock(made->get(), LOCK_SH | LOCK_NB) != 0) return because(path_, errno);
  folder_ = *std::move(made);
  return {};
}

std::string work_folder_name(const std::string& worker, const std::string& life) {
  return life.empty() ? worker : fmt::format("{}.{}", worker, life);
}

std::string new_life() {
  std::random_device chance;
  return fmt::format("{:08x}", static_cast<std::uint32_t>(chance()));
}

namespace {

bool has_life(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != name.npos && name.size() - dot - 1 == kLifeDigits &&
         name.find_first_not_of("0123456789abcdef", dot + 1) == name.npos;
}

}  // namespace

bool remove_work(const std::string& path, const std::function<bool()>& enough) {
  const fs::path at = path;
  const std::string name = at.filename().string();
  // Nobody wants a folder made that is to be removed.
  if (!has_life(name) || ::access(path.c_str(), F_OK) != 0) return false;
  const auto base = open_own_folder(at.parent_path().string());
  if (!base) return false;
  const Fd held(::openat(base->get(), name.c_str(), kFolderFlags));
  if (!held || ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return remove_tree(base->get(), name, enough).has_value();
}

std::size_t remove_all_work(const std::string& base, const std::function<bool()>& enough) {
  std::size_t gone = 0;
  for (const std::string& name : folders_in(base)) {
    if (enough && enough()) break;
    gone += remove_work(path_in(base, name), enough) ? 1 : 0;
  }
  return gone;
}

}  // namespace vortex::worker
