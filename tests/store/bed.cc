#include "tests/store/bed.h"

#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

#include "tests/support/postgres/postgres_cluster.h"

namespace vortex::store::testing {
namespace {

[[noreturn]] void give_up(const std::string& why) { throw std::runtime_error(why); }

}  // namespace

namespace {

// Memory where there is a folder for it: these tests are about what is written, not about the disk.
std::filesystem::path quick_folder() {
  const std::filesystem::path shared_memory = "/dev/shm";
  return ::access(shared_memory.c_str(), W_OK) == 0 ? shared_memory
                                                    : std::filesystem::temp_directory_path();
}

}  // namespace

TempFolder::TempFolder() {
  std::string form = (quick_folder() / "vortex-store-XXXXXX").string();
  if (::mkdtemp(form.data()) == nullptr) give_up("no temporary folder");
  path_ = form;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string name_of(Backend backend) {
  switch (backend) {
    case Backend::kMemory:
      return "Memory";
    case Backend::kSqlite:
      return "Sqlite";
    case Backend::kPostgres:
      return "Postgres";
  }
  return "";
}

Bed::Bed(Backend backend) : backend_(backend) {
  open();
  won_ = acquire();
}

void Bed::open() {
  const auto clock = [this] { return wall; };
  if (backend_ == Backend::kMemory) {
    if (!store_) store_ = open_memory({.shared = true, .logs = kSmallLogs, .wall_clock = clock});
    return;
  }
  store_.reset();
  if (backend_ == Backend::kPostgres) {
    if (url_.empty()) url_ = vortex::testing::PostgresCluster::shared().new_schema();
    store_ = opened_postgres();
    return;
  }
  SqliteOptions options;
  options.path = path();
  options.logs = kSmallLogs;
  options.wall_clock = clock;
  auto opened = open_sqlite(options);
  if (!opened) give_up(opened.error().detail);
  store_ = *std::move(opened);
}

std::unique_ptr<Store> Bed::opened_postgres() {
  auto opened = open_postgres(
      {.url = url_, .logs = kSmallLogs, .io_timeout = seconds(60), .wall_clock = [this] {
         return wall;
       }});
  if (!opened) give_up(opened.error().detail);
  return *std::move(opened);
}

void Bed::reopen() {
  open();
  won_ = acquire();
}

Won Bed::acquire() {
  auto answer = writer().acquire(kBedController, seconds(10));
  if (!answer) give_up(answer.error().detail);
  return std::get<Won>(*answer);
}

std::unique_ptr<Store> Bed::another() {
  switch (backend_) {
    case Backend::kMemory:
      return open_again(*store_);
    case Backend::kSqlite:
      return nullptr;
    case Backend::kPostgres:
      return opened_postgres();
  }
  return nullptr;
}

std::unique_ptr<Reader> Bed::reader() {
  auto opened = store_->reader();
  if (!opened) give_up(opened.error().detail);
  return *std::move(opened);
}

}  // namespace vortex::store::testing
