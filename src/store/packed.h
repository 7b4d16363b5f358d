#pragma once
// Bytes packed with zstd for the disk: events, output, definitions.
//
// A Packer belongs to one thread; it keeps its buffers, so that packing allocates nothing once
// warm.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CCtx_s;

namespace vortex::store {

class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  Packer(Packer&&) = delete;
  Packer& operator=(Packer&&) = delete;

  // Valid until the next call.
  std::string_view pack(std::string_view data);

 private:
  ZSTD_CCtx_s* context_;
  std::vector<char> buffer_;
};

// Nothing: not what a Packer made, or larger than anything it is given.
std::optional<std::string> unpack(std::string_view packed);

}  // namespace vortex::store
