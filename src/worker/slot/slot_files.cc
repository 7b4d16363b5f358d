#include "worker/slot/slot_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "worker/files.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {
namespace {

constexpr std::size_t kProgressLineMax = 1024;
constexpr std::size_t kStepMax = 200;
constexpr const char* kOutputs = "outputs";
constexpr const char* kCheckpoint = SlotFiles::kCheckpointName;
constexpr const char* kProgress = "progress";
constexpr const char* kTmp = "tmp";
constexpr std::string_view kRemoved = "removed-";  // being removed by another thread

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

std::expected<SlotFiles, std::string> SlotFiles::open(Config config) {
  SlotFiles files;
  std::error_code fault;
  // What an earlier worker left here is of no use to anybody.
  std::filesystem::remove_all(config.folder, fault);
  std::filesystem::create_directories(config.folder, fault);
  // What tasks say to the controller is nobody else's business on this host.
  if (!fault) ::chmod(config.folder.c_str(), 0700);
  if (fault) return std::unexpected(config.folder + ": " + fault.message());
  files.config_ = std::move(config);
  const std::string& folder = files.config_.folder;
  files.folder_.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!files.folder_ || !files.make_tmp()) return std::unexpected(system_fault(folder));
  files.names_ = {{"VORTEX_OUTPUTS", folder + "/" + kOutputs},
                  {"VORTEX_CHECKPOINT", folder + "/" + kCheckpoint},
                  {"VORTEX_PROGRESS", folder + "/" + kProgress},
                  {"VORTEX_TMPDIR", folder + "/" + kTmp}};
  return files;
}

bool SlotFiles::make_tmp() {
  if (::mkdirat(folder_.get(), kTmp, 0700) != 0) return false;
  tmp_.reset(::openat(folder_.get(), kTmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat made{};
  if (!tmp_ || ::fstat(tmp_.get(), &made) != 0) return false;
  tmp_inode_ = made.st_ino;
  return true;
}

std::expected<void, int> SlotFiles::prepare(std::string_view checkpoint) {
  progress_told_.reset();
  checkpoint_told_.reset();
  checkpoint_seen_.reset();
  no_file_told_ = false;
  if (!tmp_ && !make_tmp()) return std::unexpected(errno);
  if (checkpoint.empty()) return {};
  const Fd file(
      ::openat(folder_.get(), kCheckpoint, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || !write_all(file.get(), checkpoint)) return std::unexpected(errno);
  checkpoint_told_ = stamp_of(kCheckpoint);
  return {};
}

std::expected<void, int> SlotFiles::prepare_with_file(const std::string& path) {
  if (auto done = prepare({}); !done) return done;
  if (::renameat(AT_FDCWD, path.c_str(), folder_.get(), kCheckpoint) != 0) {
    return std::unexpected(errno);
  }
  checkpoint_told_ = stamp_of(kCheckpoint);
  return {};
}

// Removes whatever the task made of one of its files. A folder goes the way of the temporary one.
void SlotFiles::remove_file(const char* name) {
  if (::unlinkat(folder_.get(), name, 0) == 0 || errno == ENOENT) return;
  const std::string away = fmt::format("{}{}", kRemoved, removed_++);
  if (::renameat(folder_.get(), name, folder_.get(), away.c_str()) != 0) return;
  config_.remove_folder(config_.folder + "/" + away);
}

bool SlotFiles::is_untouched() const {
  return listing_bytes(folder_.get()) == kDotsBytes + kShortBytes && tmp_is_untouched();
}

// Looked into only when it is still ours: the task may have moved it to where it wants to keep it.
bool SlotFiles::tmp_is_untouched() const {
  struct stat now{};
  return tmp_ && ::fstatat(folder_.get(), kTmp, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_ino == tmp_inode_ && S_ISDIR(now.st_mode) &&
         listing_bytes(tmp_.get()) == kDotsBytes;
}

void SlotFiles::clean_up() {
  // All of it: a task that replaces whole files has names of its own for them.
  for (const std::string& name : names_in(config_.folder)) {
    if (name != kTmp && !name.starts_with(kRemoved)) remove_file(name.c_str());
  }
  if (tmp_is_untouched()) return;
  remove_file(kTmp);
  tmp_.reset();
  make_tmp();
}

std::optional<SlotFiles::FileStamp> SlotFiles::stamp_of(const char* name) const {
  struct stat now{};
  if (::fstatat(folder_.get(), name, &now, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(now.st_mode)) return std::nullopt;
  return FileStamp{.inode = now.st_ino,
                   .size = now.st_size,
                   .changed_ns = now.st_mtim.tv_sec * 1'000'000'000 + now.st_mtim.tv_nsec};
}

std::optional<std::string> SlotFiles::read_whole(const char* name, std::size_t bytes_max) const {
  const Fd file(::openat(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat now{};
  if (!file || ::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode)) return std::nullopt;
  if (static_cast<std::size_t>(now.st_size) > bytes_max) return std::nullopt;
  return read_from(file.get(), 0, static_cast<std::size_t>(now.st_size));
}

std::optional<std::string> SlotFiles::read_end(const char* name, std::size_t bytes_max) const {
  const Fd file(::openat(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat now{};
  if (!file || ::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode)) return std::nullopt;
  const auto size = static_cast<std::size_t>(now.st_size);
  const std::size_t bytes = std::min(size, bytes_max);
  return read_from(file.get(), static_cast<off_t>(size - bytes), bytes);
}

std::optional<Progress> SlotFiles::new_progress() {
  const auto look = stamp_of(kProgress);
  if (!look || look == progress_told_) return std::nullopt;
  const auto text = read_end(kProgress, kProgressLineMax);
  if (!text) return std::nullopt;
  progress_told_ = look;
  std::string_view rest = *text;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  return read_progress(rest.substr(rest.rfind('\n') + 1));
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
    if (!fresh.file) return std::nullopt;
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

std::expected<std::string, std::string> SlotFiles::outputs() const {
  struct stat now{};
  if (::fstatat(folder_.get(), kOutputs, &now, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISREG(now.st_mode)) return std::unexpected("the outputs are not a regular file");
  if (static_cast<std::size_t>(now.st_size) > kOutputsBytesMax) {
    return std::unexpected(fmt::format("the outputs have {} bytes; the maximum is {}", now.st_size,
                                       size_text(kOutputsBytesMax)));
  }
  const auto text = read_whole(kOutputs, kOutputsBytesMax);
  if (!text) return std::unexpected("the outputs cannot be read");
  if (text->empty()) return {};
  auto compact = codec::compact_object(*text);
  if (compact) return std::move(*compact);
  const codec::Problem& first = compact.error().front();
  return std::unexpected(fmt::format("the outputs are not a JSON object: line {}, column {}: {}",
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
