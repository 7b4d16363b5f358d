#pragma once
// One end of a copy: a session with a database of either kind, held so that no controller leads
// there while it lives. One thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/error.h"
#include "store/sql/statement.h"

namespace vortex::store {

enum class CopyRole : std::uint8_t { kSource, kTarget };

// What a column holds, in the words that both kinds of databases have.
enum class ColumnKind : std::uint8_t { kNumber, kText, kBytes };
struct CopyColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
};

class CopyEnd {
 public:
  // A source must have the newest layout; a target is made when there is none.
  static Result<std::unique_ptr<CopyEnd>> open(const std::string& name, CopyRole role);

  CopyEnd() = default;
  virtual ~CopyEnd() = default;
  CopyEnd(const CopyEnd&) = delete;
  CopyEnd& operator=(const CopyEnd&) = delete;
  CopyEnd(CopyEnd&&) = delete;
  CopyEnd& operator=(CopyEnd&&) = delete;

  virtual sql::Session& session() = 0;
  virtual char parameter() const = 0;  // in front of its number
  virtual Result<std::vector<CopyColumn>> columns(std::string_view table) = 0;
  // After the last row: what the database counts by itself.
  virtual Result<void> settle() = 0;
};

bool is_connection_string(std::string_view name);

}  // namespace vortex::store
