#include "vault/mask.h"

#include <algorithm>
#include <cstddef>
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

Mask::Mask(std::span<const std::string_view> values) : nodes_(1) {
  for (const std::string_view value : values) add_value(value);
  link();
}

Mask::~Mask() { wipe(nodes_.data(), nodes_.size() * sizeof(Node)); }

// A value that ends a line is often printed without that end.
void Mask::add_value(std::string_view value) {
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
void Mask::add_base64(std::string_view tail, bool is_open) {
  add(tail);
  while (tail.ends_with('=')) tail.remove_suffix(1);
  add(tail);
  if (is_open) add(tail.substr(0, tail.size() - 1));
}

void Mask::add(std::string_view form) {
  if (form.size() < kValueBytesMin) return;
  while (form.size() > kPieceBytesMax) {
    add_piece(form.substr(0, kPieceBytes));
    form.remove_prefix(kPieceBytes);
  }
  add_piece(form);
}

void Mask::add_piece(std::string_view piece) {
  std::uint32_t at = 0;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t child = at == 0 ? from_root_[byte] : child_of(at, byte);
    if (child == 0) {
      child = static_cast<std::uint32_t>(nodes_.size());
      Node& node = nodes_.emplace_back();
      node.byte = byte;
      node.depth = static_cast<std::uint16_t>(nodes_[at].depth + 1);
      if (at == 0) {
        from_root_[byte] = child;
      } else {
        node.sibling = nodes_[at].first_child;
        nodes_[at].first_child = child;
      }
    }
    at = child;
  }
  nodes_[at].longest = nodes_[at].depth;
}

// Level by level: the link of a node leads to a shallower one, which has its own already.
void Mask::link() {
  std::vector<std::uint32_t> order;
  order.reserve(nodes_.size());
  for (const std::uint32_t child : from_root_) {
    if (child != 0) order.push_back(child);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = nodes_[order[i]];
    for (std::uint32_t child = node.first_child; child != 0; child = nodes_[child].sibling) {
      Node& below = nodes_[child];
      below.fail = next(node.fail, below.byte);
      if (below.longest == 0) below.longest = nodes_[below.fail].longest;
      order.push_back(child);
    }
  }
}

std::uint32_t Mask::child_of(std::uint32_t node, unsigned char byte) const {
  std::uint32_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
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

void MaskStream::feed(std::string_view bytes, std::string& out) {
  std::uint64_t at = base_ + held_.size();
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
