#include "vault/mask.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/wiped.h"
#include "codec/json_writer.h"
#include "codec/text.h"

namespace vortex::vault {
namespace {

constexpr std::size_t kPieceBytes = 64;      // of a value that is longer than kPieceBytesMax
constexpr std::size_t kLastPieceBytes = 32;  // a shorter rest belongs to the piece before it
static_assert(kPieceBytes + kLastPieceBytes <= Mask::kPieceBytesMax);

// The value in base64 when `before` bytes stand in front of it and none behind it, without the
// characters that share bits with those in front.
std::string base64_after(std::string_view value, std::size_t before) {
  constexpr std::size_t kShared[] = {0, 2, 3};
  std::string bytes(before, '\0');
  bytes += value;
  std::string text;
  codec::append_base64(text, bytes);
  std::string tail = text.substr(kShared[before]);
  wipe(bytes);
  wipe(text);
  return tail;
}

std::string url_alphabet(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

bool is_unreserved(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

// How encoders differ: what else they leave as it is, what a space becomes, the case of digits.
struct UrlStyle {
  std::string_view kept;
  bool plus_for_space = false;
  bool upper = true;
};

std::string url_form(std::string_view value, const UrlStyle& style) {
  std::string out;
  out.reserve(3 * value.size());
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(byte) || style.kept.contains(c)) {
      out += c;
    } else if (c == ' ' && style.plus_for_space) {
      out += '+';
    } else if (style.upper) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02x}", byte);
    }
  }
  return out;
}

constexpr UrlStyle kUrlStyles[] = {
    {"", false, true},      {"", false, false},   // RFC 3986
    {"", true, true},       {"", true, false},    // forms
    {"/", false, true},     {"/", false, false},  // paths
    {"!'()*", false, true},                       // browsers
};

std::string json_form(std::string_view value) {
  std::string quoted;
  if (!is_utf8(value)) return quoted;
  codec::JsonWriter(quoted).text(value);
  return quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : std::string();
}

std::string_view without_end_of_line(std::string_view value) {
  while (value.ends_with('\n') || value.ends_with('\r')) value.remove_suffix(1);
  return value;
}

}  // namespace

// The trie while it grows; then it is laid out level by level.
class Mask::Builder {
 public:
  ~Builder() { wipe(drafts_.data(), drafts_.size() * sizeof(Draft)); }

  void add_value(std::string_view value);
  void lay_out(Mask& mask) const;

 private:
  struct Draft {
    std::uint32_t first_child = 0;
    std::uint32_t sibling = 0;
    bool is_end = false;
    unsigned char byte = 0;
  };

  void add_base64(std::string_view tail, bool is_open);
  void add(std::string_view form);
  void add_piece(std::string_view piece);
  std::uint32_t child_of(std::uint32_t draft, unsigned char byte) const;

  std::vector<Draft> drafts_ = std::vector<Draft>(1);
};

// A value that ends a line is often printed without that end.
void Mask::Builder::add_value(std::string_view value) {
  const std::string_view text = without_end_of_line(value);
  if (text.size() < kValueBytesMin) return;
  add(text);
  for (std::string_view rest = text; rest.contains('\n');) {
    const std::size_t end = rest.find('\n');
    add(without_end_of_line(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
    if (!rest.contains('\n')) add(rest);
  }
  for (std::size_t before = 0; before < 3; ++before) {
    std::string tail = base64_after(text, before);
    add_base64(tail, (before + text.size()) % 3 != 0);
    tail = url_alphabet(std::move(tail));
    add_base64(tail, (before + text.size()) % 3 != 0);
    wipe(tail);
  }
  for (const UrlStyle& style : kUrlStyles) {
    std::string form = url_form(text, style);
    add(form);
    wipe(form);
  }
  std::string form = json_form(text);
  add(form);
  wipe(form);
}

// What follows the value in the encoded text shares bits with its last character, if there is one
// that the value does not fill; if nothing follows, padding may.
void Mask::Builder::add_base64(std::string_view tail, bool is_open) {
  add(tail);
  while (tail.ends_with('=')) tail.remove_suffix(1);
  add(tail);
  if (is_open) add(tail.substr(0, tail.size() - 1));
}

void Mask::Builder::add(std::string_view form) {
  if (form.size() < kValueBytesMin) return;
  while (form.size() > kPieceBytesMax) {
    add_piece(form.substr(0, kPieceBytes));
    form.remove_prefix(kPieceBytes);
  }
  add_piece(form);
}

void Mask::Builder::add_piece(std::string_view piece) {
  std::uint32_t at = 0;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t child = child_of(at, byte);
    if (child == 0) {
      child = static_cast<std::uint32_t>(drafts_.size());
      drafts_.push_back(
          {.first_child = 0, .sibling = drafts_[at].first_child, .is_end = false, .byte = byte});
      drafts_[at].first_child = child;
    }
    at = child;
  }
  drafts_[at].is_end = true;
}

std::uint32_t Mask::Builder::child_of(std::uint32_t draft, unsigned char byte) const {
  std::uint32_t child = drafts_[draft].first_child;
  while (child != 0 && drafts_[child].byte != byte) child = drafts_[child].sibling;
  return child;
}

void Mask::Builder::lay_out(Mask& mask) const {
  std::vector<std::uint32_t> order{0};  // where the draft of each node is
  order.reserve(drafts_.size());
  mask.nodes_.resize(drafts_.size());
  mask.bytes_.resize(drafts_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    Node& node = mask.nodes_[i];
    node.first_child = static_cast<std::uint32_t>(order.size());
    const Draft& draft = drafts_[order[i]];
    if (draft.is_end) node.longest = node.depth;
    for (std::uint32_t at = draft.first_child; at != 0; at = drafts_[at].sibling) {
      mask.nodes_[order.size()].depth = static_cast<std::uint16_t>(node.depth + 1);
      mask.bytes_[order.size()] = static_cast<char>(drafts_[at].byte);
      order.push_back(at);
      ++node.children;
    }
  }
}

Mask::Mask(std::span<const std::string_view> values) {
  Builder builder;
  for (const std::string_view value : values) builder.add_value(value);
  builder.lay_out(*this);
  for (std::uint32_t child = 1; child <= nodes_[0].children; ++child) {
    from_root_[static_cast<unsigned char>(bytes_[child])] = child;
  }
  link();
}

Mask::~Mask() {
  wipe(nodes_.data(), nodes_.size() * sizeof(Node));
  wipe(bytes_);
}

// In the order of the levels: the link of a node leads to a shallower one, which has its own.
void Mask::link() {
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    for (std::uint32_t child = node.first_child; child < node.first_child + node.children;
         ++child) {
      Node& below = nodes_[child];
      below.fail = next(node.fail, static_cast<unsigned char>(bytes_[child]));
      if (below.longest == 0) below.longest = nodes_[below.fail].longest;
    }
  }
}

// 0: there is none.
std::uint32_t Mask::child_of(std::uint32_t node, unsigned char byte) const {
  const Node& parent = nodes_[node];
  const char* first = bytes_.data() + parent.first_child;
  const void* found = std::memchr(first, byte, parent.children);
  if (found == nullptr) return 0;
  return parent.first_child + static_cast<std::uint32_t>(static_cast<const char*>(found) - first);
}

std::uint32_t Mask::next(std::uint32_t node, unsigned char byte) const {
  while (node != 0) {
    if (const std::uint32_t child = child_of(node, byte); child != 0) return child;
    node = nodes_[node].fail;
  }
  return from_root_[byte];
}

std::string Mask::apply(std::string_view text) const {
  std::string out;
  // Nobody owns this one: it lives as long as the call.
  MaskStream stream(std::shared_ptr<const Mask>(std::shared_ptr<const Mask>(), this));
  stream.feed(text, out);
  stream.finish(out);
  return out;
}

bool Mask::finds(std::string_view text, std::size_t bytes_min) const {
  std::uint32_t node = 0;
  return std::ranges::any_of(text, [&](char c) {
    node = next(node, static_cast<unsigned char>(c));
    return nodes_[node].longest >= bytes_min;
  });
}

MaskStream::~MaskStream() { wipe(held_); }

void MaskStream::feed(std::string_view bytes, std::string& out) {
  std::uint64_t at = base_ + held_.size();
  make_room(held_, held_.size() + bytes.size());
  held_ += bytes;
  for (const char c : bytes) {
    node_ = mask_->next(node_, static_cast<unsigned char>(c));
    ++at;
    const std::uint16_t found = mask_->nodes_[node_].longest;
    if (found > 0) mark({at - found, at});
  }
  // What may still become part of a value begins no earlier than this.
  show_up_to(at - mask_->nodes_[node_].depth, out);
}

void MaskStream::finish(std::string& out) {
  show_up_to(base_ + held_.size(), out);
  node_ = 0;
}

void MaskStream::mark(Span found) {
  while (!marks_.empty() && marks_.back().end >= found.begin) {
    found.begin = std::min(found.begin, marks_.back().begin);
    marks_.pop_back();
  }
  marks_.push_back(found);
}

void MaskStream::show_up_to(std::uint64_t end, std::string& out) {
  std::uint64_t at = base_;
  std::size_t done = 0;
  for (Span& span : marks_) {
    if (span.begin >= end) break;
    out.append(held_, at - base_, span.begin - at);
    if (span.begin != masked_to_) out += Mask::kShown;
    at = masked_to_ = std::min(span.end, end);
    if (span.end > end) {
      span.begin = end;
      break;
    }
    ++done;
  }
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(done));
  out.append(held_, at - base_, end - at);
  wipe(held_.data(), end - base_);
  held_.erase(0, end - base_);
  base_ = end;
}

}  // namespace vortex::vault
