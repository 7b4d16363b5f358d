#include "controller/reads.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

namespace vortex::controller {

namespace asio = boost::asio;

Reads::Reads(store::Store& store, std::uint32_t threads) : store_(store), threads_(threads) {}

Reads::~Reads() { stop(); }

// What still waits is read to the end: thrown away later, it would reach for the timers of an
// io_context that is gone by then.
void Reads::stop() { threads_.join(); }

store::Result<std::unique_ptr<store::Reader>> Reads::take() {
  {
    const std::scoped_lock lock(guard_);
    if (!free_.empty()) {
      auto reader = std::move(free_.back());
      free_.pop_back();
      return reader;
    }
  }
  return store_.reader();
}

void Reads::give_back(std::unique_ptr<store::Reader> reader) {
  const std::scoped_lock lock(guard_);
  free_.push_back(std::move(reader));
}

store::Result<void> Reads::run_here(const Read& read) {
  auto reader = take();
  if (!reader) return std::unexpected(reader.error());
  read(**reader);
  give_back(std::move(*reader));
  return {};
}

asio::awaitable<store::Result<void>> Reads::run(Read read) {
  auto handoff = std::make_shared<Handoff<store::Result<void>>>(co_await asio::this_coro::executor);
  asio::post(threads_, [this, handoff, read = std::move(read)] { handoff->give(run_here(read)); });
  // The reader keeps what it finds in its caller, so the caller never leaves before it.
  co_return co_await take_surely(handoff);
}

}  // namespace vortex::controller
