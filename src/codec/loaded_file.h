#pragma once
// A DAG file, parsed in its syntax, and the places of everything in it.
// Whatever the syntax, the document is the same. Internal to the codec; one thread.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "codec/document.h"
#include "codec/problem.h"
#include "codec/yaml_document.h"

namespace vortex::codec {

class LoadedFile {
 public:
  // To be called once, with a text that outlives this. Problems: there is nothing to read.
  std::optional<Problems> load(std::string_view text, Syntax syntax);

  const Document& document() const { return document_; }
  // What is wrong with the file although it can be read.
  const Problems& problems() const { return yaml_.problems; }

  // Of the value at a pointer, or of what is nearest: a task's member that comes from `defaults`
  // stands there, and what is not written at all is placed where it would be.
  Position place_of(std::string_view pointer) const;

  // Of a byte of the text at the pointer, as exactly as it can be told: the expression it belongs
  // to is searched in the file.
  struct TextPlace {
    std::string_view pointer;
    std::string_view text;
    std::size_t offset = 0;
  };
  Position place_in_text(const TextPlace& place) const;

 private:
  std::string_view text_;
  YamlDocument yaml_;
  Document document_;
};

}  // namespace vortex::codec
