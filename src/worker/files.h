#pragma once
// Descriptors with one owner, and small files and folders read and written in one go: those of the
// kernel and our own.
//
// No exception leaves these; what cannot be read is empty. They block like any file does, so they
// are for files that are in memory or read at start only. Not for descriptors that Asio owns.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace vortex::worker {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

std::string path_in(std::string_view folder, std::string_view name);

// Whole contents; empty when it cannot be read.
std::string read_text_file(const std::string& path);
std::string read_all(const Fd& file);
// Into a file that is there, with one write.
bool write_text_file(const std::string& path, std::string_view text);
// The names in a folder, in no order; those that could be read.
std::vector<std::string> names_in(const std::string& folder);
std::vector<std::string> folders_in(const std::string& folder);

}  // namespace vortex::worker
