#pragma once
// The characters of expressions and conditions, read from left to right: names, numbers, quoted
// texts and paths.
//
// Never reads past the end of its text. Internal to the parsers in this folder; one thread.

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "model/expression.h"

namespace vortex {

class ExpressionScanner {
 public:
  explicit ExpressionScanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  void move_to(std::size_t at) { at_ = at; }
  bool at_end() const { return at_ >= text_.size(); }
  // NUL at the end.
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }
  // "'%'", or "end of the string".
  std::string shown_here() const;

  void skip_space();
  bool take(std::string_view what);
  // Empty when no name starts here.
  std::string_view take_name();
  // Precondition: at a digit or a minus.
  std::expected<std::string, TemplateFault> take_number();
  // Precondition: at a quote.
  std::expected<std::string, TemplateFault> take_quoted();

 private:
  std::size_t take_digits();

  std::string_view text_;
  std::size_t at_ = 0;
};

// What names in paths may hold without quotes.
bool is_path_char(char c);

// Reads a path on after its first word, which began at `begin`.
std::expected<Path, TemplateFault> take_path(ExpressionScanner& scan, std::string_view word,
                                             std::size_t begin);

}  // namespace vortex
