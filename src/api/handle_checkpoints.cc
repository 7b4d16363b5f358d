// Checkpoints that are too large for a report: asked for, sent piece by piece, then kept; and read
// back by the next attempt.
//
// Every call names the worker, its life and the attempt, and counts only while exactly these hold
// the task. Pieces are packed on a thread of the read pool and written beside the rows, a few at a
// time, so that nobody's heartbeat waits for them.
#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"
#include "store/packed.h"

namespace vortex::api {

namespace {

constexpr std::uint64_t kPieceBytesMax = 1U << 20;
constexpr int kPiecesAtOnce = 4;

std::atomic<int> pieces_under_way = 0;

// By the term clock, which goes on over restarts, and never the same twice.
std::uint64_t next_upload(Instant now) {
  static std::atomic<std::uint64_t> last_given = 0;
  std::uint64_t last = last_given;
  std::uint64_t next = 0;
  do {
    next = std::max(last + 1, static_cast<std::uint64_t>(now.us));
  } while (!last_given.compare_exchange_weak(last, next));
  return next;
}

// One of the few places for a piece on its way to the disk.
class PiecePermit {
 public:
  PiecePermit() : taken_(pieces_under_way.fetch_add(1) < kPiecesAtOnce) {}
  ~PiecePermit() { pieces_under_way.fetch_sub(1); }
  PiecePermit(const PiecePermit&) = delete;
  PiecePermit& operator=(const PiecePermit&) = delete;
  bool is_taken() const { return taken_; }

 private:
  bool taken_;
};

struct Said {
  core::CheckpointClaim by;
  std::uint64_t bytes = 0;
  std::uint64_t upload = 0;
  std::uint64_t offset = 0;
  std::string reason;
};

Expected<Said> read_said(const Call& call) {
  QueryReader query(call.request().query);
  Said said;
  said.by.worker = WorkerId(query.text("worker"));
  const auto epoch = query.number("epoch");
  const auto incarnation = query.number("incarnation");
  said.bytes = query.number("bytes").value_or(0);
  said.upload = query.number("upload").value_or(0);
  said.offset = query.number("offset").value_or(0);
  said.reason = query.text("refused");
  if (query.trouble()) return std::unexpected(*query.trouble());
  if (!epoch || !incarnation || said.by.worker.empty()) {
    return std::unexpected(trouble(Code::kBadQuery, "epoch, worker and incarnation are required"));
  }
  said.by.incarnation = {*incarnation};
  said.by.attempt = {call.task(), {*epoch}};
  said.by.session = call.session_hash();
  if (auto bound = check_bound(call.caller, said.by.worker.text)) return std::unexpected(*bound);
  return said;
}

Trouble not_held(const core::CheckpointClaim& by) {
  return trouble(Code::kAttemptNotHeld,
                 fmt::format("worker '{}' does not hold epoch {} of {}", by.worker.text,
                             by.attempt.epoch.value, to_text(by.attempt.task)));
}

store::Result<bool> is_held_by(store::Reader& reader, const core::CheckpointClaim& by) {
  const auto task = reader.task(by.attempt.task);
  if (!task) return std::unexpected(task.error());
  if (!*task) return false;
  const TaskRow& row = (*task)->row;
  return is_held(row.state) && row.epoch == by.attempt.epoch && row.worker == by.worker &&
         row.incarnation == by.incarnation;
}

// What is checked before a piece is written, and the piece as the disk gets it.
struct Checked {
  bool held = false;
  std::optional<Trouble> stranger = {};  // it does not come from the holder
  std::uint64_t stored = 0;
  std::string packed = {};
};

// Held, and said by its holder.
store::Result<Checked> check_holder(store::Reader& reader, const core::CheckpointClaim& by) {
  Checked checked;
  const auto held = is_held_by(reader, by);
  if (!held) return std::unexpected(held.error());
  checked.held = *held;
  if (!*held) return checked;
  auto stranger = check_session(reader, by.worker, by.session);
  if (!stranger) return std::unexpected(stranger.error());
  checked.stranger = *std::move(stranger);
  return checked;
}

Handled ask_fenced(Call& call, core::Command command, const core::CheckpointClaim& by) {
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return empty_answer();
  if (done.error().code == Code::kLeaseNotHeld) co_return std::unexpected(not_held(by));
  co_return std::unexpected(std::move(done.error()));
}

store::Result<Checked> check_piece(store::Reader& reader, const Said& said,
                                   const std::string& bytes) {
  auto holder = check_holder(reader, said.by);
  if (!holder || !holder->held || holder->stranger) return holder;
  Checked checked = *std::move(holder);
  const auto there = reader.checkpoint({said.by.attempt.task, said.upload, said.offset});
  if (!there) return std::unexpected(there.error());
  checked.stored = there->stored;
  store::Packer packer;
  checked.packed = packer.pack(bytes);
  if (checked.packed.size() >= bytes.size()) checked.packed = bytes;
  return checked;
}

}  // namespace

Handled begin_checkpoint(Call& call) {
  Expected<Said> said = read_said(call);
  if (!said) co_return std::unexpected(std::move(said.error()));
  const std::uint64_t bytes_max =
      std::uint64_t{call.backend.settings().settings.controller.checkpoint_max_mib} << 20U;
  if (said->reason.empty() && said->bytes > bytes_max) said->reason = "too large";
  if (!said->reason.empty()) {
    core::Command refuse =
        core::RefuseCheckpoint{{}, said->by, said->reason.substr(0, 200), said->bytes};
    Outcome told = co_await ask_fenced(call, std::move(refuse), said->by);
    if (!told) co_return told;
    co_return std::unexpected(
        trouble(Code::kTooLarge, fmt::format("the checkpoint of {} bytes was rejected: {}; the "
                                             "maximum is {} bytes (controller.checkpoint_max_mib)",
                                             said->bytes, said->reason, bytes_max)));
  }
  const auto held = co_await fetch(
      call.backend, [&](store::Reader& reader) { return check_holder(reader, said->by); });
  if (!held) co_return std::unexpected(held.error());
  if (!held->held) co_return std::unexpected(not_held(said->by));
  if (held->stranger) co_return std::unexpected(*held->stranger);
  const std::uint64_t upload = next_upload(call.backend.now());
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("upload", upload).field("piece_bytes_max", kPieceBytesMax);
    json.end_object();
  }));
}

Handled write_checkpoint_piece(Call& call) {
  Expected<Said> said = read_said(call);
  if (!said) co_return std::unexpected(std::move(said.error()));
  std::string bytes = std::move(call.exchange.request().body);
  if (bytes.size() > kPieceBytesMax) {
    co_return std::unexpected(
        trouble(Code::kTooLarge, "a piece of a checkpoint must not exceed 1 MiB"));
  }
  if (bytes.empty() || said->upload == 0) {
    co_return std::unexpected(trouble(Code::kBadQuery, "upload and a body are required"));
  }
  const std::uint64_t bytes_max =
      std::uint64_t{call.backend.settings().settings.controller.checkpoint_max_mib} << 20U;
  if (said->offset > bytes_max || said->offset + bytes.size() > bytes_max) {
    co_return std::unexpected(trouble(Code::kTooLarge, "the checkpoint grew beyond its limit"));
  }
  const PiecePermit permit;
  if (!permit.is_taken()) {
    co_return std::unexpected(
        from_unserved({Unserved::kBusy, "other checkpoints are being written", millis(100)}));
  }
  auto checked = co_await fetch(
      call.backend, [&](store::Reader& reader) { return check_piece(reader, *said, bytes); });
  if (!checked) co_return std::unexpected(std::move(checked.error()));
  if (!checked->held) co_return std::unexpected(not_held(said->by));
  if (checked->stranger) co_return std::unexpected(*checked->stranger);
  if (said->offset > checked->stored) {
    co_return std::unexpected(
        trouble(Code::kLogGap, fmt::format("{} bytes have arrived, but the piece starts at {}",
                                           checked->stored, said->offset)));
  }
  if (said->offset < checked->stored) co_return empty_answer();  // said twice
  WriteCheckpointPiece piece{{said->by.attempt.task, said->upload, said->offset, bytes.size(),
                              std::move(checked->packed)}};
  SideWrite side = std::move(piece);
  Asked<void> written = co_await call.backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return empty_answer();
}

Handled keep_checkpoint(Call& call) {
  Expected<Said> said = read_said(call);
  if (!said) co_return std::unexpected(std::move(said.error()));
  const auto there = co_await fetch(call.backend, [&](store::Reader& reader) {
    return reader.checkpoint({said->by.attempt.task, said->upload, 0});
  });
  if (!there) co_return std::unexpected(there.error());
  if (said->upload == 0 || there->stored == 0 || there->stored != said->bytes) {
    co_return std::unexpected(trouble(
        Code::kLogGap, fmt::format("{} of {} bytes have arrived", there->stored, said->bytes)));
  }
  core::Command keep = core::KeepCheckpoint{{}, said->by, {said->upload, said->bytes}};
  co_return co_await ask_fenced(call, std::move(keep), said->by);
}

namespace {

// The attempt itself, or the worker that holds it, may read what earlier attempts have saved.
store::Result<std::optional<Trouble>> check_reader(store::Reader& reader, const Call& call,
                                                   TaskId id) {
  if (call.caller.attempt) return std::nullopt;
  const auto task = reader.task(id);
  if (!task) return std::unexpected(task.error());
  if (!*task || !is_held((*task)->row.state)) {
    return trouble(Code::kNoSuchCheckpoint, to_text(id));
  }
  const WorkerId& worker = (*task)->row.worker;
  if (auto bound = check_bound(call.caller, worker.text)) return bound;
  return check_session(reader, worker, call.session_hash());
}

}  // namespace

Handled read_checkpoint(Call& call) {
  QueryReader query(call.request().query);
  const auto upload = query.number("upload");
  const std::uint64_t offset = query.number("offset").value_or(0);
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  if (!upload) co_return std::unexpected(trouble(Code::kBadQuery, "upload is required"));
  const TaskId task = call.task();
  auto stranger = co_await fetch(
      call.backend, [&](store::Reader& reader) { return check_reader(reader, call, task); });
  if (!stranger) co_return std::unexpected(std::move(stranger.error()));
  if (*stranger) co_return std::unexpected(**stranger);
  auto text = co_await fetch(call.backend, [&](store::Reader& reader) {
    return reader.checkpoint({task, *upload, offset});
  });
  if (!text) co_return std::unexpected(std::move(text.error()));
  if (text->data.empty()) {
    co_return std::unexpected(trouble(Code::kNoSuchCheckpoint, to_text(task)));
  }
  net::Response response;
  response.content_type = "application/octet-stream";
  response.body = std::move(text->data);
  co_return response;
}

}  // namespace vortex::api
