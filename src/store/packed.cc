#include "store/packed.h"

#include <zstd.h>

#include "base/assert.h"

namespace vortex::store {
namespace {

// The quickest level: the writer's thread packs, and the gain of the next levels is small.
constexpr int kLevel = 1;
constexpr std::uint64_t kUnpackedMax = std::uint64_t{1} << 30;

}  // namespace

Packer::Packer() : context_(ZSTD_createCCtx()) { VX_ASSERT(context_ != nullptr); }
Packer::~Packer() { ZSTD_freeCCtx(context_); }

std::string_view Packer::pack(std::string_view data) {
  const std::size_t bound = ZSTD_compressBound(data.size());
  if (buffer_.size() < bound) buffer_.resize(bound);
  const std::size_t size =
      ZSTD_compressCCtx(context_, buffer_.data(), buffer_.size(), data.data(), data.size(), kLevel);
  VX_ASSERT(!ZSTD_isError(size));  // the buffer is large enough and the level exists
  return {buffer_.data(), size};
}

std::optional<std::string> unpack(std::string_view packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > kUnpackedMax) {
    return std::nullopt;
  }
  std::string data(size, '\0');
  const std::size_t got = ZSTD_decompress(data.data(), data.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != size) return std::nullopt;
  return data;
}

}  // namespace vortex::store
