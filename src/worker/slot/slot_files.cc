#include "worker/slot/slot_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <set>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "base/wiped.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "worker/files.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {
namespace {

constexpr std::size_t kProgressLineMax = 1024;
constexpr std::size_t kStepMax = 200;
constexpr const char* kOutputs = "outputs";
constexpr const char* kInputs = "inputs";
constexpr const char* kCheckpoint = SlotFiles::kCheckpointName;
constexpr const char* kProgress = "progress";
constexpr const char* kTmp = "tmp";
constexpr int kFolderNamesTried = 1000;

std::string system_fault(const std::string& what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string read_from(int file, off_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got =
        ::pread(file, text.data() + have, bytes - have, offset + static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

// The room that entries take in a listing; the same on every file system.
constexpr long kDotsBytes = 48;   // "." and ".."
constexpr long kShortBytes = 24;  // one name of up to four letters

// How much room the entries of a folder take, as far as it matters; no allocation.
long listing_bytes(int folder) {
  alignas(8) std::array<char, 512> buffer;
  if (::lseek(folder, 0, SEEK_SET) < 0) return 0;
  return ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// "65 running_tests"; unset when it is not of that form.
std::optional<Progress> read_progress(std::string_view line) {
  line = trimmed(line);
  unsigned percent = 0;
  const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), percent);
  if (fault != std::errc() || percent > 100) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.empty() && line.front() == '%') line.remove_prefix(1);
  if (!line.empty() && line.front() != ' ' && line.front() != '\t') return std::nullopt;
  line = trimmed(line);
  std::size_t keep = 0;
  while (keep < line.size()) {
    const std::size_t bytes = character_bytes(line, keep);
    if (bytes == 0 || keep + bytes > kStepMax) break;
    keep += bytes;
  }
  return Progress{static_cast<std::uint8_t>(percent), std::string(line.substr(0, keep))};
}

}  // namespace

std::optional<SlotFiles::FolderStamp> SlotFiles::stamp_at(int parent, const char* path) {
  struct stat now{};
  if (::fstatat(parent, path, &now, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return FolderStamp{.device = now.st_dev,
                     .inode = now.st_ino,
                     .mode = now.st_mode,
                     .changed_ns = now.st_ctim.tv_sec * 1'000'000'000 + now.st_ctim.tv_nsec};
}

// A name that was never used here: what an earlier task has left cannot be in its way.
std::expected<void, std::string> SlotFiles::make_folder() {
  if (auto home = config_.home.ensure(); !home) return home;
  std::expected<Fd, int> made = std::unexpected(EEXIST);
  for (int tries = 0; !made && made.error() == EEXIST && tries < kFolderNamesTried; ++tries) {
    name_ = made_ == 0 ? config_.name : fmt::format("{}.{}", config_.name, made_);
    ++made_;
    made = make_folder_in(config_.home.fd(), name_);
  }
  path_ = path_in(config_.home.path(), name_);
  const auto fault = [this](int error) {
    return std::unexpected(fmt::format("{}: {}", path_, std::strerror(error)));
  };
  if (!made) return fault(made.error());
  auto tmp = make_folder_in(made->get(), kTmp);
  parent_.reset(::fcntl(config_.home.fd(), F_DUPFD_CLOEXEC, 0));
  if (!tmp || !parent_) return fault(tmp ? errno : tmp.error());
  for (const int folder : {tmp->get(), made->get()}) {
    if (const auto given = hand_over(folder); !given) return fault(given.error());
  }
  folder_ = *std::move(made);
  tmp_ = *std::move(tmp);
  folder_new_ = stamp_at(AT_FDCWD, path_.c_str());
  tmp_new_ = stamp_at(folder_.get(), kTmp);
  names_ = {{"VORTEX_OUTPUTS", path_in(path_, kOutputs)},
            {"VORTEX_INPUTS", path_in(path_, kInputs)},
            {"VORTEX_CHECKPOINT", path_in(path_, kCheckpoint)},
            {"VORTEX_PROGRESS", path_in(path_, kProgress)},
            {"VORTEX_TMPDIR", path_in(path_, kTmp)}};
  return {};
}

// What is ours becomes the task's. Its user can go through the folder above, and no further.
std::expected<void, int> SlotFiles::hand_over(int file) const {
  constexpr mode_t kPassable = 0711;
  if (!config_.owner) return {};
  if (::fchmod(config_.home.fd(), kPassable) != 0 ||
      ::fchown(file, config_.owner->uid, config_.owner->gid) != 0) {
    return std::unexpected(errno);
  }
  return {};
}

// A folder that was handed over stays with its owner: the next one gets a new folder.
void SlotFiles::set_owner(const std::optional<TaskUser>& owner) {
  config_.owner = owner;
  retire();
}

// A file of somebody else, linked to here, is none of the task's: we could read what it cannot.
bool SlotFiles::is_theirs(const struct stat& seen) const {
  return !config_.owner || seen.st_uid == config_.owner->uid;
}

void SlotFiles::retire() {
  tmp_.reset();
  folder_.reset();
  if (parent_) config_.remove(std::move(parent_), name_);
  parent_.reset();
}

std::expected<void, std::string> SlotFiles::prepare(std::string_view checkpoint) {
  progress_told_.reset();
  checkpoint_told_.reset();
  checkpoint_seen_.reset();
  no_file_told_ = false;
  if (!folder_ || !is_untouched()) {
    retire();
    if (auto made = make_folder(); !made) return made;
  }
  if (checkpoint.empty()) return {};
  const Fd file(::openat(folder_.get(), kCheckpoint,
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !write_all(file.get(), checkpoint) || !hand_over(file.get())) {
    return std::unexpected(system_fault(path_in(path_, kCheckpoint)));
  }
  checkpoint_told_ = stamp_of(kCheckpoint);
  return {};
}

std::expected<void, std::string> SlotFiles::write_inputs(std::string_view inputs) {
  if (inputs.empty()) return {};
  const Fd file(
      ::openat(folder_.get(), kInputs, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !write_all(file.get(), inputs) || !hand_over(file.get())) {
    return std::unexpected(system_fault(path_in(path_, kInputs)));
  }
  return {};
}

std::expected<void, std::string> SlotFiles::prepare_with_file(const std::string& path) {
  if (auto done = prepare({}); !done) return done;
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file || !hand_over(file.get()) ||
      ::renameat(AT_FDCWD, path.c_str(), folder_.get(), kCheckpoint) != 0) {
    return std::unexpected(system_fault(path));
  }
  checkpoint_told_ = stamp_of(kCheckpoint);
  return {};
}

// Nothing is in the folders, they are where they were, and nobody has changed their rights. The
// time of the last change alone would not do: it is as coarse as the kernel's clock ticks.
bool SlotFiles::is_untouched() const {
  return folder_ && tmp_ && stamp_at(AT_FDCWD, path_.c_str()) == folder_new_ &&
         stamp_at(folder_.get(), kTmp) == tmp_new_ &&
         listing_bytes(folder_.get()) == kDotsBytes + kShortBytes &&
         listing_bytes(tmp_.get()) == kDotsBytes;
}

// Now and not before the next task: what is large goes soon. If no new one can be made, the next
// task says so.
void SlotFiles::clean_up() {
  retire();
  static_cast<void>(make_folder());
}

std::optional<SlotFiles::FileStamp> SlotFiles::stamp_of(const char* name) const {
  struct stat now{};
  if (::fstatat(folder_.get(), name, &now, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(now.st_mode) || !is_theirs(now)) return std::nullopt;
  return FileStamp{.inode = now.st_ino,
                   .size = now.st_size,
                   .changed_ns = now.st_mtim.tv_sec * 1'000'000'000 + now.st_mtim.tv_nsec};
}

// The error is an errno; ENOTSUP: it is no regular file, EFBIG: it is too large.
std::expected<std::string, int> SlotFiles::read_whole(const char* name,
                                                      std::size_t bytes_max) const {
  const Fd file(::openat(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat now{};
  if (!file || ::fstat(file.get(), &now) != 0) return std::unexpected(errno);
  if (!S_ISREG(now.st_mode)) return std::unexpected(ENOTSUP);
  if (!is_theirs(now)) return std::unexpected(EPERM);
  const auto size = static_cast<std::size_t>(now.st_size);
  if (size > bytes_max) return std::unexpected(EFBIG);
  errno = 0;
  std::string text = read_from(file.get(), 0, size);
  // None of its processes is left that could have made it shorter meanwhile.
  if (text.size() < size) return std::unexpected(errno == 0 ? EIO : errno);
  return text;
}

std::optional<std::string> SlotFiles::read_end(const char* name, std::size_t bytes_max) const {
  const Fd file(::openat(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat now{};
  if (!file || ::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode)) return std::nullopt;
  if (!is_theirs(now)) return std::nullopt;
  const auto size = static_cast<std::size_t>(now.st_size);
  const std::size_t bytes = std::min(size, bytes_max);
  return read_from(file.get(), static_cast<off_t>(size - bytes), bytes);
}

std::optional<Progress> SlotFiles::new_progress() {
  const auto look = stamp_of(kProgress);
  if (!look || look == progress_told_) return std::nullopt;
  auto text = read_end(kProgress, kProgressLineMax);
  if (!text) return std::nullopt;
  progress_told_ = look;
  std::string_view rest = *text;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  auto progress = read_progress(rest.substr(rest.rfind('\n') + 1));
  wipe(*text);  // a secret may be in it
  return progress;
}

std::optional<SlotFiles::NewCheckpoint> SlotFiles::new_checkpoint(Moment moment) {
  const auto look = stamp_of(kCheckpoint);
  const auto seen = std::exchange(checkpoint_seen_, look);
  if (!look) {
    struct stat now{};
    const bool there = ::fstatat(folder_.get(), kCheckpoint, &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || S_ISREG(now.st_mode) || std::exchange(no_file_told_, true)) return std::nullopt;
    NewCheckpoint odd;
    odd.is_no_file = true;
    return odd;
  }
  if (look == checkpoint_told_) return std::nullopt;
  const bool settled = seen && (*seen == *look || seen->inode != look->inode);
  if (moment == Moment::kRunning && !settled) return std::nullopt;
  if (look->size == 0) return std::nullopt;  // says nothing, and the one before stays
  NewCheckpoint fresh;
  if (static_cast<std::size_t>(look->size) > config_.checkpoint_bytes_max) {
    fresh.file.reset(
        ::openat(folder_.get(), kCheckpoint, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    fresh.bytes = static_cast<std::uint64_t>(look->size);
    struct stat now{};
    if (!fresh.file || ::fstat(fresh.file.get(), &now) != 0 || !is_theirs(now)) return std::nullopt;
  } else {
    auto data = read_whole(kCheckpoint, config_.checkpoint_bytes_max);
    if (!data) return std::nullopt;
    fresh.data = *std::move(data);
  }
  // Changed while it was read: the next look will tell.
  if (stamp_of(kCheckpoint) != look) return std::nullopt;
  checkpoint_told_ = look;
  return fresh;
}

std::expected<std::string, SlotFiles::OutputsFault> SlotFiles::outputs() const {
  const auto by_task = [](std::string text) {
    return std::unexpected(OutputsFault{Whose::kTask, std::move(text)});
  };
  struct stat now{};
  if (::fstatat(folder_.get(), kOutputs, &now, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISREG(now.st_mode)) return by_task("the outputs are not a regular file");
  if (static_cast<std::size_t>(now.st_size) > config_.outputs_bytes_max) {
    return by_task(fmt::format("the outputs have {} bytes; the maximum is {}", now.st_size,
                               size_text(static_cast<std::int64_t>(config_.outputs_bytes_max))));
  }
  auto text = read_whole(kOutputs, config_.outputs_bytes_max);
  if (!text) {
    // The task may have taken our right to read it; all else is between us and the machine.
    const bool forbidden = text.error() == EACCES || text.error() == EPERM;
    return std::unexpected(
        OutputsFault{forbidden ? Whose::kTask : Whose::kWorker,
                     fmt::format("the outputs cannot be read: {}", std::strerror(text.error()))});
  }
  if (text->empty()) return {};
  auto compact = codec::compact_object(*text);
  wipe(*text);  // a secret may be in it
  if (compact) return std::move(*compact);
  const codec::Problem& first = compact.error().front();
  return by_task(fmt::format("the outputs are not a JSON object: line {}, column {}: {}",
                             first.line, first.column, first.message));
}

std::optional<std::string> complain_of_missing(const std::string& outputs,
                                               const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  codec::Document document;
  std::set<std::string, std::less<>> written;
  if (!outputs.empty() && !document.parse(outputs)) {
    document.each_member(
        0, [&](codec::NodeIx key, codec::NodeIx) { written.emplace(document.text(key)); });
  }
  for (const std::string& name : names) {
    if (!written.contains(name)) {
      return fmt::format("the task did not write its output '{}' to $VORTEX_OUTPUTS", name);
    }
  }
  return std::nullopt;
}

}  // namespace vortex::worker
