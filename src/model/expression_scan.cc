#include "model/expression_scan.h"

#include "model/text_check.h"

namespace vortex {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The character an escape stands for; NUL: none.
char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '\\':
    case '"':
    case '\'':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

bool is_path_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

std::string ExpressionScanner::shown_here() const {
  return at_end() ? "end of the string" : in_quotes(text_.substr(at_, 1));
}

void ExpressionScanner::skip_space() {
  while (!at_end() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
}

bool ExpressionScanner::take(std::string_view what) {
  if (!starts_with(what)) return false;
  at_ += what.size();
  return true;
}

std::string_view ExpressionScanner::take_name() {
  const std::size_t begin = at_;
  while (is_path_char(peek())) ++at_;
  return since(begin);
}

std::size_t ExpressionScanner::take_digits() {
  const std::size_t begin = at_;
  while (is_digit(peek())) ++at_;
  return at_ - begin;
}

// The numbers of JSON without an exponent, so that they can be put into JSON as they are.
std::expected<std::string, TemplateFault> ExpressionScanner::take_number() {
  const std::size_t begin = at_;
  take("-");
  const bool zero = peek() == '0';
  const std::size_t whole = take_digits();
  bool fine = whole > 0 && (!zero || whole == 1);
  if (fine && take(".")) fine = take_digits() > 0;
  if (fine && !is_path_char(peek())) return std::string(since(begin));
  return std::unexpected(TemplateFault{begin, "this is not a number",
                                       "write it as 12 or -1.5, or as a string in quotes"});
}

std::expected<std::string, TemplateFault> ExpressionScanner::take_quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  std::string out;
  while (!at_end() && text_[at_] != quote) {
    char c = text_[at_++];
    if (c == '\\') {
      c = unescaped(peek());
      if (c == '\0') {
        return std::unexpected(
            TemplateFault{at_ - 1, "unknown escape", R"(there are \\ \" \' \n and \t)"});
      }
      ++at_;
    }
    out += c;
  }
  if (take({&quote, 1})) return out;
  return std::unexpected(TemplateFault{begin, "the quoted string is never closed", ""});
}

}  // namespace vortex
