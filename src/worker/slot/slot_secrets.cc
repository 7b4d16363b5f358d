#include "worker/slot/slot_secrets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/wiped.h"

namespace vortex::worker {
namespace {

constexpr const char* kMemory = "/dev/shm";
constexpr const char* kFolderVariable = "VORTEX_SECRETS";
constexpr std::size_t kRefusedBytesMin = 8;

std::string no_memory(std::string_view why) {
  return fmt::format(
      "its secrets cannot be given to it as files: {}; mount a tmpfs at {}, or use them as "
      "variables",
      why, kMemory);
}

bool is_in_memory(int folder) {
  struct statfs about{};
  if (::fstatfs(folder, &about) != 0) return false;
  return about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC;
}

// An errno; 0: done.
int give_to(int file, const TaskUser& user) {
  return ::fchown(file, user.uid, user.gid) == 0 ? 0 : errno;
}

// Another user can go through what is ours to what is theirs, and see nothing on the way.
int open_way(int home) {
  constexpr mode_t kPassable = 0711;
  return ::fchmod(home, kPassable) == 0 && ::fchmodat(home, "..", kPassable, 0) == 0 ? 0 : errno;
}

// An errno; 0: it is there.
int write_secret_file(int folder, const SecretValue& secret, const std::optional<TaskUser>& owner) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Fd file(::openat(folder, secret.as.c_str(), flags, 0400));
  if (!file) return errno;
  std::string_view rest = secret.value.view();
  while (!rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return owner ? give_to(file.get(), *owner) : 0;
}

}  // namespace

std::string secret_base() { return fmt::format("{}/vortex-{}", kMemory, ::geteuid()); }

std::expected<SlotSecrets, std::string> SlotSecrets::prepare(SecretSet& secrets, Where where) {
  SlotSecrets prepared;
  std::vector<std::string_view> values;
  prepared.environment_.reserve(secrets.values.size() + 1);
  for (const SecretValue& secret : secrets.values) {
    values.push_back(secret.value.view());
    if (!secret.file) prepared.environment_.emplace_back(secret.as, secret.value.view());
  }
  prepared.mask_ = std::make_shared<const vault::Mask>(values);
  prepared.stream_ = std::make_unique<vault::MaskStream>(prepared.mask_);
  std::expected<void, std::string> written;
  if (std::ranges::any_of(secrets.values, &SecretValue::file)) {
    written = prepared.write_files(secrets, std::move(where));
  }
  secrets.values.clear();
  if (!written) {
    for (auto& [variable, value] : prepared.environment_) wipe(value);
    prepared.remove_files([](const Fd& parent, const std::string& left) {
      static_cast<void>(remove_tree(parent.get(), left));
    });
    return std::unexpected(std::move(written.error()));
  }
  return prepared;
}

std::expected<void, std::string> SlotSecrets::write_files(const SecretSet& secrets, Where where) {
  WorkFolder& home = where.home;
  if (auto there = home.ensure(); !there) return std::unexpected(no_memory(there.error()));
  if (!is_in_memory(home.fd())) {
    return std::unexpected(no_memory(fmt::format("{} is not in memory", home.path())));
  }
  parent_ = Fd(::fcntl(home.fd(), F_DUPFD_CLOEXEC, 0));
  name_ = std::move(where.name);
  auto folder = make_folder_in(parent_.get(), name_);
  if (!folder) return std::unexpected(no_memory(std::strerror(folder.error())));
  folder_ = *std::move(folder);
  int error = where.owner ? open_way(home.fd()) : 0;
  for (const SecretValue& secret : secrets.values) {
    if (!secret.file || error != 0) continue;
    files_.push_back(secret.as);
    error = write_secret_file(folder_.get(), secret, where.owner);
  }
  if (where.owner && error == 0) error = give_to(folder_.get(), *where.owner);
  if (error != 0) return std::unexpected(no_memory(std::strerror(error)));
  environment_.emplace_back(kFolderVariable, path_in(home.path(), name_));
  return {};
}

std::string SlotSecrets::mask(std::string_view output) {
  std::string shown;
  stream_->feed(output, shown);
  return shown;
}

std::string SlotSecrets::mask_rest() {
  std::string shown;
  stream_->finish(shown);
  return shown;
}

bool SlotSecrets::are_in(std::string_view data) const {
  return mask_->finds(data, kRefusedBytesMin);
}

// Those that were made here go at once; what the task has added may take a while.
void SlotSecrets::remove_files(const Remove& remove) {
  if (!folder_) return;
  for (const std::string& file : files_) ::unlinkat(folder_.get(), file.c_str(), 0);
  folder_.reset();
  if (::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR) == 0) return parent_.reset();
  remove(std::move(parent_), std::move(name_));
}

}  // namespace vortex::worker
