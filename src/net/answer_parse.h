#pragma once
// Bytes of one connection into answers: the client's counterpart of http_parse.h.
//
// As strict about framing as the server is. The body is handed out as it comes, so that a stream
// without end needs no memory. One parser belongs to one connection.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace vortex::net {

class AnswerParser {
 public:
  enum class State : std::uint8_t { kHead, kBody, kDone, kRefused };

  explicit AnswerParser(std::uint64_t body_bytes_max);
  ~AnswerParser();
  AnswerParser(const AnswerParser&) = delete;
  AnswerParser& operator=(const AnswerParser&) = delete;

  // For the answer to the next request; to HEAD there is no body whatever the head says.
  void reset(Method method, std::uint64_t body_bytes_max);
  // Takes what it can use from the front; pieces of the body are appended to response().body.
  std::size_t feed(std::string_view bytes);
  void end_of_stream();  // the other end has closed: done, if that is how the body ends
  State state() const;
  const std::string& fault() const;  // when refused
  Response& response();
  bool keep_alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vortex::net
