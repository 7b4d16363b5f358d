#include "tests/faults/fault_vfs.h"

#include <atomic>
#include <charconv>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/assert.h"

namespace vortex::faults {
namespace {

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<FaultPlan> parse_fault_plan(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos) return std::nullopt;
  const std::string_view kind = text.substr(0, at);
  if (kind != "full" && kind != "io") return std::nullopt;
  FaultPlan plan;
  plan.kind = kind == "full" ? FaultPlan::Kind::kFull : FaultPlan::Kind::kIo;
  const std::string_view range = text.substr(at + 1);
  const std::size_t dash = range.find('-');
  const auto first = read_number(range.substr(0, dash));
  if (!first) return std::nullopt;
  plan.first = *first;
  if (dash == range.npos) {
    plan.last = *first;
  } else if (dash + 1 < range.size()) {
    const auto last = read_number(range.substr(dash + 1));
    if (!last || *last < *first) return std::nullopt;
    plan.last = *last;
  }
  return plan;
}

// The VFS that SQLite sees comes first, so that its pointer is also ours.
struct FaultVfs::Layer {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  FaultPlan plan;
  std::string name;
  std::atomic<std::uint64_t> calls{0};

  bool is_due() {
    const std::uint64_t call = ++calls;
    return call >= plan.first && call <= plan.last;
  }
  int write_code() const {
    return plan.kind == FaultPlan::Kind::kFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
};

namespace {

using LayerPtr = void*;

struct File {
  sqlite3_file base;
  LayerPtr layer;
  sqlite3_file* real;  // right behind this object, in the memory that SQLite gave
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

int file_close(sqlite3_file* f) { return real_of(f)->pMethods->xClose(real_of(f)); }
int file_read(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
  return real_of(f)->pMethods->xRead(real_of(f), to, size, at);
}
int file_truncate(sqlite3_file* f, sqlite3_int64 size) {
  return real_of(f)->pMethods->xTruncate(real_of(f), size);
}
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
int file_lock(sqlite3_file* f, int level) { return real_of(f)->pMethods->xLock(real_of(f), level); }
int file_unlock(sqlite3_file* f, int level) {
  return real_of(f)->pMethods->xUnlock(real_of(f), level);
}
int file_check_lock(sqlite3_file* f, int* out) {
  return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
int file_control(sqlite3_file* f, int op, void* arg) {
  return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
int file_sector_size(sqlite3_file* f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
int file_traits(sqlite3_file* f) {
  return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
int file_shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}
int file_shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}
void file_shm_barrier(sqlite3_file* f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }
int file_shm_unmap(sqlite3_file* f, int remove) {
  return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}
int file_fetch(sqlite3_file* f, sqlite3_int64 at, int size, void** out) {
  return real_of(f)->pMethods->xFetch(real_of(f), at, size, out);
}
int file_unfetch(sqlite3_file* f, sqlite3_int64 at, void* page) {
  return real_of(f)->pMethods->xUnfetch(real_of(f), at, page);
}

}  // namespace

FaultVfs::FaultVfs(FaultPlan plan, For whom) : layer_(std::make_unique<Layer>()) {
  static std::atomic<int> numbers{0};
  layer_->real = sqlite3_vfs_find(nullptr);
  VX_ASSERT(layer_->real != nullptr);
  layer_->plan = plan;
  layer_->name = fmt::format("vortex-fault-{}", ++numbers);
  layer_->vfs = *layer_->real;
  layer_->vfs.pNext = nullptr;
  layer_->vfs.zName = layer_->name.c_str();
  layer_->vfs.szOsFile = static_cast<int>(sizeof(File)) + layer_->real->szOsFile;
  layer_->vfs.pAppData = layer_.get();

  static const auto write = [](sqlite3_file* f, const void* data, int size, sqlite3_int64 at) {
    auto* layer = static_cast<Layer*>(reinterpret_cast<File*>(f)->layer);
    if (layer->is_due()) return layer->write_code();
    return real_of(f)->pMethods->xWrite(real_of(f), data, size, at);
  };
  static const auto sync = [](sqlite3_file* f, int flags) {
    auto* layer = static_cast<Layer*>(reinterpret_cast<File*>(f)->layer);
    // A sync that finds the disk full fails like any other: what it was to save is in doubt.
    if (layer->is_due()) return SQLITE_IOERR_FSYNC;
    return real_of(f)->pMethods->xSync(real_of(f), flags);
  };
  static const sqlite3_io_methods methods = {
      3,           file_close,   file_read,     +write,           file_truncate,  +sync,
      file_size,   file_lock,    file_unlock,   file_check_lock,  file_control,   file_sector_size,
      file_traits, file_shm_map, file_shm_lock, file_shm_barrier, file_shm_unmap, file_fetch,
      file_unfetch};

  layer_->vfs.xOpen = [](sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                         int* out) {
    auto* layer = static_cast<Layer*>(vfs->pAppData);
    File* ours = new (file) File{};
    ours->layer = layer;
    ours->real = reinterpret_cast<sqlite3_file*>(ours + 1);
    const int rc = layer->real->xOpen(layer->real, path, ours->real, flags, out);
    if (ours->real->pMethods != nullptr) ours->base.pMethods = &methods;
    return rc;
  };
  sqlite3_vfs_register(&layer_->vfs, whom == For::kWholeProcess ? 1 : 0);
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(&layer_->vfs); }

const std::string& FaultVfs::name() const { return layer_->name; }
std::uint64_t FaultVfs::calls() const { return layer_->calls; }

}  // namespace vortex::faults
