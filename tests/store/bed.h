#pragma once
// A store to test against, of any kind, and the folder or schema it lives in. Those of databases
// can be closed and opened again; the one in memory only pretends to.

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "store/postgres/open.h"
#include "store/sqlite/open.h"
#include "store/store.h"
#include "tests/support/memory_store/open.h"

namespace vortex::store::testing {

// A folder that is gone when the test ends.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

enum class Backend : std::uint8_t { kMemory, kSqlite, kPostgres };
std::string name_of(Backend backend);
inline constexpr std::array kAllBackends{Backend::kMemory, Backend::kSqlite, Backend::kPostgres};

// Small limits: a cut is reached with little output.
inline constexpr LogLimits kSmallLogs{.head_bytes = 100, .tail_bytes = 300};

// Who acquires leadership for a bed.
inline const Candidate kBedController{ControllerId{"controller"}, "http://127.0.0.1:8080"};

class Bed {
 public:
  explicit Bed(Backend backend);

  Store& store() { return *store_; }
  Writer& writer() { return store_->writer(); }
  std::unique_ptr<Reader> reader();
  void reopen();  // and leads again
  void close() { store_.reset(); }
  Term term() const { return won_.term; }
  Won acquire();
  // The same store as another controller opens it; null: it can have only one.
  std::unique_ptr<Store> another();
  std::string path() const { return folder_.file("vortex.db"); }

  std::string url() const { return url_; }

  // What the system's clock shows to the store.
  Instant wall{1'771'800'000'000'000};

 private:
  void open();
  std::unique_ptr<Store> opened_postgres();

  Backend backend_;
  TempFolder folder_;
  std::string url_;  // of PostgreSQL
  std::unique_ptr<Store> store_;
  Won won_;
};

}  // namespace vortex::store::testing
