#pragma once
// Keeps the values of secrets out of what a task prints: each is replaced by *** wherever it
// appears, as it is or in base64, URL-encoded or JSON-escaped form.
//
// Base64 is found at all three alignments and in both alphabets; a value of several lines also line
// by line. Long values are looked for in pieces, so a stream holds back at most kPieceBytesMax
// bytes, and the result does not depend on how the output was cut. Time is linear in the output.
// Values shorter than kValueBytesMin are not masked: they would hide half of what is printed.
// A Mask never changes once it is made; a MaskStream is for one thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vortex::vault {

class Mask {
 public:
  static constexpr std::size_t kValueBytesMin = 4;
  static constexpr std::size_t kPieceBytesMax = 96;
  static constexpr std::string_view kShown = "***";

  explicit Mask(std::span<const std::string_view> values);
  ~Mask();
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;

  bool empty() const { return nodes_.size() == 1; }
  // A whole text at once.
  std::string apply(std::string_view text) const;
  // Whether a form of at least this many bytes is in the text.
  bool finds(std::string_view text, std::size_t bytes_min) const;

 private:
  friend class MaskStream;
  // A trie of all pieces whose failure links make it an automaton (Aho and Corasick). Children of a
  // node stand next to each other, so that looking for one touches one place in memory.
  struct Node {
    std::uint32_t first_child = 0;
    std::uint32_t fail = 0;
    std::uint16_t children = 0;
    std::uint16_t depth = 0;
    std::uint16_t longest = 0;  // of the pieces that end here; 0: none does
  };
  class Builder;

  void link();
  std::uint32_t child_of(std::uint32_t node, unsigned char byte) const;
  std::uint32_t next(std::uint32_t node, unsigned char byte) const;

  std::vector<Node> nodes_;
  std::string bytes_;  // that lead to each node
  std::array<std::uint32_t, 256> from_root_{};
};

class MaskStream {
 public:
  explicit MaskStream(std::shared_ptr<const Mask> mask) : mask_(std::move(mask)) {}
  ~MaskStream();
  MaskStream(const MaskStream&) = delete;
  MaskStream& operator=(const MaskStream&) = delete;

  // Appends to `out` what can be shown already.
  void feed(std::string_view bytes, std::string& out);
  // Nothing follows: the rest.
  void finish(std::string& out);
  std::size_t held() const { return held_.size(); }

 private:
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  void mark(Span found);
  void show_up_to(std::uint64_t end, std::string& out);

  std::shared_ptr<const Mask> mask_;
  std::uint32_t node_ = 0;
  std::string held_;
  std::uint64_t base_ = 0;                       // position of the first byte that is held
  std::vector<Span> marks_;                      // in order, apart from each other
  std::uint64_t masked_to_ = ~std::uint64_t{0};  // where the last *** ends
};

}  // namespace vortex::vault
