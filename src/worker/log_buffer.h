#pragma once
// The output of one attempt on its way to the controller: bounded, in order, cut with a mark.
//
// Offsets count what is shipped, marks included, so the pieces that the controller gets follow each
// other without a gap whatever was left out here. A piece stays until it is known to have arrived;
// sent again it has the same offset and the same bytes. Pure: no I/O, no clock.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vortex::worker {

class LogBuffer {
 public:
  // At most so many bytes wait here; the oldest of them are left out for newer ones.
  explicit LogBuffer(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void write(std::string_view bytes);

  struct Piece {
    std::uint64_t offset = 0;
    std::string_view data;  // valid until the next write, take or arrived
  };
  // The next piece to send. The same one until arrived() is called.
  Piece take(std::size_t bytes_max);
  void arrived();

  bool empty() const { return flying_.empty() && waiting_.empty() && left_out_ == 0; }
  std::size_t size() const { return flying_.size() + waiting_.size(); }
  std::uint64_t left_out() const { return left_out_in_all_; }

 private:
  std::size_t bytes_max_;
  std::uint64_t offset_ = 0;  // of the first byte of flying_
  std::string flying_;        // taken, not yet arrived
  std::string waiting_;
  std::uint64_t left_out_ = 0;  // between flying_ and waiting_, not yet marked
  std::uint64_t left_out_in_all_ = 0;
};

}  // namespace vortex::worker
