#include "worker/slot/slot_record.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/files.h"
#include "worker/own_folder.h"
#include "worker/slot/process_tree.h"

namespace vortex::worker {
namespace {

constexpr char kMagic[8] = {'v', 'x', 's', 'l', 'o', 't', 's', '2'};

struct Head {
  char magic[8];
  char boot_id[40];
  char work_dir[1024];
  std::uint32_t entries;
  std::uint32_t pid_space;
};

// Valid while pid is not 0; pid is written last and cleared first.
struct Entry {
  std::int32_t pid;
  std::int32_t unused;
  std::int64_t from_us;
  std::int64_t until_us;
  std::uint64_t run;
  std::uint64_t epoch;
  std::uint32_t task;
  std::uint32_t level;
};
// Behind the entries. A life is written before it is counted.
struct Tail {
  static constexpr std::size_t kLives = 16;
  std::uint64_t count;
  std::uint64_t lives[kLives];
};
// Behind that. A secret is written before its life.
struct Secrets {
  char worker[256];
  struct {
    std::uint64_t life;
    char session[64];
  } of[Tail::kLives];
};
static_assert(sizeof(Head) % alignof(Entry) == 0 && sizeof(Entry) % alignof(Tail) == 0 &&
              sizeof(Tail) % alignof(Secrets) == 0);

// Two for each slot, then one for the worker. Files of an older kind have an even number.
std::uint32_t entries_for(std::uint32_t slots) { return slots * 2 + 1; }
bool is_of_worker(std::size_t index, std::uint32_t entries) {
  return entries % 2 == 1 && index == entries - 1;
}

template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), Size - 1));
}

template <std::size_t Size>
std::string text_of(const char (&from)[Size]) {
  return {from, ::strnlen(from, Size)};
}

}  // namespace

struct SlotRecord::Mapped {
  Head head;
  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  static Entry* at(Mapped* mapped, Cell cell) {
    if (mapped == nullptr) return nullptr;
    const bool last = cell.role == Role::kWorker;
    const std::uint32_t index =
        last ? mapped->head.entries - 1 : cell.slot * 2 + static_cast<std::uint32_t>(cell.role);
    if (index >= mapped->head.entries) return nullptr;
    return mapped->entries() + index;
  }
  static Tail* tail(Mapped* mapped, std::size_t bytes) {
    if (mapped == nullptr) return nullptr;
    const std::size_t at = sizeof(Head) + sizeof(Entry) * mapped->head.entries;
    if (bytes < at + sizeof(Tail)) return nullptr;
    return reinterpret_cast<Tail*>(mapped->entries() + mapped->head.entries);
  }
  static Secrets* secrets(Mapped* mapped, std::size_t bytes) {
    Tail* before = tail(mapped, bytes);
    if (before == nullptr) return nullptr;
    const std::size_t at = sizeof(Head) + sizeof(Entry) * mapped->head.entries + sizeof(Tail);
    return bytes < at + sizeof(Secrets) ? nullptr : reinterpret_cast<Secrets*>(before + 1);
  }
};

std::string boot_id() {
  std::string text = read_text_file("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::uint32_t own_pid_space() {
  struct stat space{};
  if (::stat("/proc/self/ns/pid", &space) != 0) return 0;
  return static_cast<std::uint32_t>(space.st_ino);
}

bool is_of_own_pid_space(const RecordContents& record) {
  return record.pid_space == 0 || record.pid_space == own_pid_space();
}

bool is_alive(const RecordedProcess& process) {
  const auto stat = process.pid > 0 ? read_process_stat(process.pid) : std::nullopt;
  if (!stat || stat->state == 'Z') return false;
  const std::int64_t tick_us = 1'000'000 / ::sysconf(_SC_CLK_TCK);
  const auto started = static_cast<std::int64_t>(stat->start_ticks) * tick_us;
  return started + tick_us >= process.from.us && started - tick_us <= process.until.us;
}

RecordedProcess this_process() {
  RecordedProcess process;
  const auto stat = read_process_stat(::getpid());
  if (!stat) return process;
  process.pid = ::getpid();
  const std::int64_t tick_us = 1'000'000 / ::sysconf(_SC_CLK_TCK);
  process.from = {static_cast<std::int64_t>(stat->start_ticks) * tick_us};
  process.until = process.from;
  return process;
}

std::expected<SlotRecord, std::string> SlotRecord::create(const Config& config) {
  const auto fault = [&] {
    return std::unexpected(
        fmt::format("cannot write the record {}: {}", config.path, std::strerror(errno)));
  };
  if (config.work_dir.size() >= sizeof(Head::work_dir)) {
    return std::unexpected(fmt::format("the path {} is too long", config.work_dir));
  }
  // Made whole under another name: a reader never finds half a head.
  const std::string draft = config.path + ".new";
  Fd file = open_own_file(draft, O_RDWR | O_TRUNC);
  if (!file) return fault();
  const std::uint32_t entries = entries_for(config.slots);
  const std::size_t bytes = sizeof(Head) + sizeof(Entry) * entries + sizeof(Tail) + sizeof(Secrets);
  // Space is taken now: a full disk must not be met by a store into the map.
  if (const int full = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes))) {
    errno = full;
    return fault();
  }
  SlotRecord record = open(std::move(file));
  if (record.mapped_ == nullptr) return fault();
  Head& head = record.mapped_->head;
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
  copy_text(head.boot_id, boot_id());
  copy_text(head.work_dir, config.work_dir);
  head.entries = entries;
  head.pid_space = config.pid_space;
  if (Secrets* secrets = Mapped::secrets(record.mapped_, record.bytes_)) {
    copy_text(secrets->worker, config.worker);
  }
  if (::rename(draft.c_str(), config.path.c_str()) != 0) return fault();
  return record;
}

SlotRecord::~SlotRecord() {
  if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
}

SlotRecord SlotRecord::open(Fd file) {
  SlotRecord record;
  struct stat now{};
  if (!file || ::fstat(file.get(), &now) != 0) return record;
  const auto bytes = static_cast<std::size_t>(now.st_size);
  if (bytes < sizeof(Head)) return record;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return record;
  record.mapped_ = static_cast<Mapped*>(mapped);
  record.bytes_ = bytes;
  record.file_ = std::move(file);
  return record;
}

SlotRecord::SlotRecord(SlotRecord&& other) noexcept
    : file_(std::move(other.file_)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      bytes_(other.bytes_) {}

SlotRecord& SlotRecord::operator=(SlotRecord&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::int32_t* SlotRecord::expect(Cell cell, const RecordedProcess& process) {
  clear(cell);
  Entry* at = Mapped::at(mapped_, cell);
  if (at == nullptr) return nullptr;
  at->from_us = process.from.us;
  at->until_us = process.until.us;
  at->run = process.attempt.task.run.value;
  at->task = process.attempt.task.index;
  at->level = process.attempt.task.level;
  at->epoch = process.attempt.epoch.value;
  return &at->pid;
}

void SlotRecord::set(Cell cell, const RecordedProcess& process) {
  if (std::int32_t* pid = expect(cell, process)) {
    std::atomic_ref(*pid).store(process.pid, std::memory_order_release);
  }
}

void SlotRecord::clear(Cell cell) {
  if (Entry* at = Mapped::at(mapped_, cell)) {
    std::atomic_ref(at->pid).store(0, std::memory_order_seq_cst);
  }
}

void SlotRecord::note_life(Incarnation life) {
  Tail* tail = Mapped::tail(mapped_, bytes_);
  if (tail == nullptr) return;
  const std::uint64_t count = tail->count;
  if (count > 0 && tail->lives[(count - 1) % Tail::kLives] == life.value) return;
  tail->lives[count % Tail::kLives] = life.value;
  std::atomic_ref(tail->count).store(count + 1, std::memory_order_release);
}

void SlotRecord::note_session(Incarnation life, const std::string& session) {
  const Tail* tail = Mapped::tail(mapped_, bytes_);
  Secrets* secrets = Mapped::secrets(mapped_, bytes_);
  if (tail == nullptr || secrets == nullptr || session.size() >= sizeof(secrets->of[0].session)) {
    return;
  }
  for (std::size_t i = 0; i < Tail::kLives; ++i) {
    if (tail->lives[i] != life.value) continue;
    auto& place = secrets->of[i];
    std::memset(place.session, 0, sizeof(place.session));
    copy_text(place.session, session);
    std::atomic_ref(place.life).store(life.value, std::memory_order_release);
  }
}

RecordContents read_record(const std::string& path) {
  const std::string bytes = read_own_file(path);
  RecordContents contents;
  Head head;
  if (bytes.size() < sizeof(head)) return contents;
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0) return contents;
  contents.boot_id = text_of(head.boot_id);
  contents.work_dir = text_of(head.work_dir);
  contents.pid_space = head.pid_space;
  for (std::size_t i = 0; i < head.entries; ++i) {
    const std::size_t at = sizeof(head) + i * sizeof(Entry);
    Entry entry;
    if (at + sizeof(entry) > bytes.size()) break;
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    if (entry.pid <= 0) continue;
    const Attempt attempt{{.run = {entry.run}, .index = entry.task, .level = entry.level},
                          {entry.epoch}};
    const RecordedProcess process{entry.pid, {entry.from_us}, {entry.until_us}, attempt};
    if (is_of_worker(i, head.entries)) {
      contents.worker = process;
    } else {
      contents.processes.push_back(process);
    }
  }
  Tail tail;
  const std::size_t at = sizeof(head) + std::size_t{head.entries} * sizeof(Entry);
  if (at + sizeof(tail) > bytes.size()) return contents;  // of an older version
  std::memcpy(&tail, bytes.data() + at, sizeof(tail));
  for (std::size_t i = 0; i < std::min<std::uint64_t>(tail.count, Tail::kLives); ++i) {
    contents.lives.push_back({tail.lives[i]});
  }
  Secrets secrets;
  if (at + sizeof(tail) + sizeof(secrets) > bytes.size()) return contents;  // likewise
  std::memcpy(&secrets, bytes.data() + at + sizeof(tail), sizeof(secrets));
  contents.worker_id = text_of(secrets.worker);
  std::uint64_t newest = 0;
  for (const auto& place : secrets.of) {
    if (place.life <= newest) continue;
    newest = place.life;
    contents.session = text_of(place.session);
  }
  return contents;
}

std::vector<Attempt> recorded_attempts(const RecordContents& record) {
  std::vector<Attempt> attempts;
  for (const RecordedProcess& process : record.processes) {
    if (process.attempt.epoch.value > 0) attempts.push_back(process.attempt);
  }
  return attempts;
}

}  // namespace vortex::worker
