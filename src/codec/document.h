#pragma once
// A JSON text, parsed into one flat list of nodes in the order of the text.
//
// Texts and numbers are views into the parsed text wherever nothing was escaped, so the text must
// outlive the document. Refuses what is not JSON or not UTF-8, what follows the document, and more
// depth or values than it may have. Repeated keys are kept as they stand: readers judge them.
// One thread at a time; a thread's documents hand the memory of their nodes on to the next.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vortex::codec {

// What is wrong with a document, and exactly where. Plain data, made by every reader of this
// folder. One document may have many problems: all that can be found in one pass are told at once.
//
// Made for people: message and help are shown as they are, texts of the document in them are quoted
// and cut. Readers collect all they find, up to kProblemsMax, instead of stopping at the first.

inline constexpr std::size_t kProblemsMax = 20;

struct Problem {
  std::string pointer;       // JSON pointer (RFC 6901) to the value; empty: the whole document
  std::string message;       // what is wrong, with the value; a sentence without a full stop
  std::string help;          // what to do, for example a near name; may be empty
  std::uint32_t line = 0;    // 1-based; 0: not known, because no text was read
  std::uint32_t column = 0;  // 1-based, in bytes
};

// All that was found, in the order of the document; never empty.
using Problems = std::vector<Problem>;

template <class T>
using Decoded = std::expected<T, Problems>;

// The root is 0, so as the value of a member 0 can stand for "not there".
using NodeIx = std::uint32_t;

enum class NodeKind : std::uint8_t {
  kNull,
  kFalse,
  kTrue,
  kInteger,  // digits with or without a minus, of any length
  kDecimal,  // with a point or an exponent
  kText,     // also the key before each member of an object
  kArray,
  kObject,
};

struct Node {
  const char* data = nullptr;
  std::uint32_t size = 0;  // bytes of a text or number; items or members of the others
  NodeIx next = 0;         // the node after this one and everything in it
  NodeKind kind = NodeKind::kNull;
};

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend auto operator<=>(Position, Position) = default;
};

// How the user wrote what was parsed: YAML is turned into JSON first (codec/yaml/yaml_document.h).
enum class Syntax : std::uint8_t { kJson, kYaml };

class Document {
 public:
  static constexpr std::size_t kDepthMax = 64;
  static constexpr std::size_t kNodesMax = 8'000'000;

  Document();
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  Document(Document&&) = delete;
  Document& operator=(Document&&) = delete;

  // To be called once. After a problem there is nothing in the document.
  std::optional<Problem> parse(std::string_view json, std::size_t depth_max = kDepthMax);

  // The parsed text was made from a YAML file; marks[node] is where the node stands in that file.
  // Must outlive the document.
  void set_origin(const std::vector<Position>& marks) { marks_ = &marks; }
  Syntax syntax() const { return marks_ == nullptr ? Syntax::kJson : Syntax::kYaml; }

  NodeKind kind(NodeIx node) const { return nodes_[node].kind; }
  std::uint32_t count(NodeIx node) const { return nodes_[node].size; }
  // Of a text, a number or a key; empty for all others.
  std::string_view text(NodeIx node) const {
    const Node& at = nodes_[node];
    return at.data == nullptr ? std::string_view() : std::string_view(at.data, at.size);
  }

  // Calls with each item of an array.
  template <class Call>
  void each_item(NodeIx array, Call&& call) const {
    for (NodeIx at = array + 1; at < nodes_[array].next; at = nodes_[at].next) call(at);
  }
  // Calls with the key and the value of each member of an object.
  template <class Call>
  void each_member(NodeIx object, Call&& call) const {
    for (NodeIx key = object + 1; key < nodes_[object].next; key = nodes_[key + 1].next) {
      call(key, key + 1);
    }
  }

  // The following walk through the document: for messages, not for reading.

  // The value at a JSON pointer; unset when there is none.
  std::optional<NodeIx> find(std::string_view pointer) const;
  // RFC 6901. A key has the pointer of its value.
  std::string pointer_to(NodeIx node) const;
  // "'timeout'", "item 3 of 'needs'", "the document".
  std::string name_of(NodeIx node) const;
  // The name of what holds it.
  std::string owner_of(NodeIx node) const;
  Position position_of(NodeIx node) const;

 private:
  class Builder;

  std::vector<NodeIx> path_to(NodeIx node) const;

  std::string_view json_;
  const std::vector<Position>* marks_ = nullptr;
  std::vector<Node> nodes_;
  std::pmr::monotonic_buffer_resource unescaped_;
};

Position position_at(std::string_view text, std::size_t offset);
// One token of a JSON pointer with its slash: ~ and / escaped.
void append_pointer(std::string& pointer, std::string_view token);

// The object that begins at this place of a text that is known to be JSON.
std::string_view object_at(std::string_view json, Position at);

}  // namespace vortex::codec
