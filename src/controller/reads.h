#pragma once
// The pool of threads that read from the store, each with a connection of its own.
//
// A slow read never holds up the engine or an I/O thread. The number of threads bounds how many
// reads run at once; the others wait their turn.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "store/store.h"

namespace vortex::controller {

class Reads {
 public:
  Reads(store::Store& store, std::uint32_t threads);
  ~Reads();
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

  using Read = std::function<void(store::Reader&)>;
  // The error is only about getting a connection; what `read` finds, it keeps itself.
  boost::asio::awaitable<store::Result<void>> run(Read read);
  void stop();

 private:
  store::Result<void> run_here(const Read& read);
  store::Result<std::unique_ptr<store::Reader>> take();
  void give_back(std::unique_ptr<store::Reader> reader);

  store::Store& store_;
  std::mutex guard_;
  std::vector<std::unique_ptr<store::Reader>> free_;
  boost::asio::thread_pool threads_;
};

}  // namespace vortex::controller
