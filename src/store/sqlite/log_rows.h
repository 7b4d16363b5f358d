#pragma once
// Writes what attempts print: every byte once, by its offset, and no more than the limits allow.
// A piece that would leave a gap fails the commit with kBadRequest. Writer's thread only.

#include <string_view>
#include <vector>

#include "model/commit.h"
#include "store/log_span.h"
#include "store/packed.h"
#include "store/sqlite/statement.h"
#include "store/sqlite/transaction.h"

namespace vortex::store::sqlite {

class LogRows {
 public:
  LogRows(Connection& db, Packer& packer, LogLimits limits);

  void write(Transaction& tx, const std::vector<LogChunk>& chunks);

 private:
  void write_chunk(Transaction& tx, const LogChunk& chunk);
  void insert(Transaction& tx, std::int64_t key, Epoch epoch, std::uint64_t offset,
              std::string_view data);
  void cut(Transaction& tx, std::int64_t key, Epoch epoch, const LogSpan& span);

  Packer& packer_;
  LogLimits limits_;
  Statement find_head_;
  Statement write_head_;
  Statement insert_chunk_;
  Statement cut_chunks_;
};

}  // namespace vortex::store::sqlite
