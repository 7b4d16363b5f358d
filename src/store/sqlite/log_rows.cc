#include "store/sqlite/log_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/keys.h"
#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {
namespace {

// Pieces are kept small enough that a cut wastes little and a read unpacks little.
constexpr std::uint64_t kPieceBytes = 64 * 1024;

}  // namespace

LogRows::LogRows(Connection& db, Packer& packer, LogLimits limits)
    : packer_(packer),
      limits_(limits),
      find_head_(db, sql::kFindLogHead),
      write_head_(db, sql::kWriteLogHead),
      insert_chunk_(db, sql::kInsertLogChunk),
      cut_chunks_(db, sql::kCutLogChunks) {}

void LogRows::write(Transaction& tx, const std::vector<LogChunk>& chunks) {
  for (const LogChunk& chunk : chunks) write_chunk(tx, chunk);
}

void LogRows::write_chunk(Transaction& tx, const LogChunk& chunk) {
  if (!tx.ok()) return;
  const auto key = key_of(chunk.attempt.task);
  if (!key) {
    return tx.fail({Fault::kBadRequest, "output of a task that cannot exist"});
  }
  LogSpan span;
  {
    find_head_.start().number(*key).unsigned_number(chunk.attempt.epoch.value);
    Rows rows(find_head_);
    if (rows.next()) {
      span = {.size = rows.unsigned_number(),
              .cut_begin = rows.unsigned_number(),
              .cut_end = rows.unsigned_number()};
    }
    if (rows.failed()) return tx.fail(rows.error());
  }
  if (chunk.offset > span.size) {
    return tx.fail({Fault::kBadRequest,
                    fmt::format("output of {} at byte {} would leave a gap: {} bytes have arrived",
                                to_text(chunk.attempt.task), chunk.offset, span.size)});
  }
  const std::uint64_t known = std::min<std::uint64_t>(span.size - chunk.offset, chunk.data.size());
  const std::string_view fresh = std::string_view(chunk.data).substr(known);
  if (fresh.empty()) return;
  insert(tx, *key, chunk.attempt.epoch, span.size, fresh);
  const LogSpan after = grown(span, fresh.size(), limits_);
  if (after.cut_end != span.cut_end) cut(tx, *key, chunk.attempt.epoch, after);
  tx.run(write_head_.start()
             .number(*key)
             .unsigned_number(chunk.attempt.epoch.value)
             .unsigned_number(after.size)
             .unsigned_number(after.cut_begin)
             .unsigned_number(after.cut_end));
}

void LogRows::insert(Transaction& tx, std::int64_t key, Epoch epoch, std::uint64_t offset,
                     std::string_view data) {
  while (!data.empty() && tx.ok()) {
    std::uint64_t size = std::min<std::uint64_t>(data.size(), kPieceBytes);
    // No piece lies across the end of the head: it could never be cut.
    if (offset < limits_.head_bytes) size = std::min(size, limits_.head_bytes - offset);
    const std::string_view piece = data.substr(0, size);
    const std::string_view packed = packer_.pack(piece);
    tx.run(insert_chunk_.start()
               .number(key)
               .unsigned_number(epoch.value)
               .unsigned_number(offset)
               .unsigned_number(size)
               .blob(packed.size() < piece.size() ? packed : piece));
    offset += size;
    data.remove_prefix(size);
  }
}

void LogRows::cut(Transaction& tx, std::int64_t key, Epoch epoch, const LogSpan& span) {
  tx.run(cut_chunks_.start()
             .number(key)
             .unsigned_number(epoch.value)
             .unsigned_number(span.cut_begin)
             .unsigned_number(span.cut_end));
}

}  // namespace vortex::store::sqlite
