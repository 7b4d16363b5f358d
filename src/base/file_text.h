#pragma once
// A whole file as text, with a limit: what a user names may be a folder, a device or endless.
//
// Reads at most `bytes_max` bytes and one more, so the cost is bounded whatever the name stands
// for. Pipes and /dev/stdin are fine. Never throws for what is on the disk.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace vortex {

enum class FileFault : std::uint8_t { kMissing, kIsDirectory, kTooLarge, kUnreadable };

struct FileError {
  FileFault fault{};
  std::string why;  // completes "<path> ...": "is a directory", "cannot be read: Permission denied"
};

std::expected<std::string, FileError> read_file_text(const std::string& path,
                                                     std::size_t bytes_max);

}  // namespace vortex
