#pragma once
// The live feed of events, held together over broken connections and restarts of controllers.
//
// Every event comes once and in order: a new connection says which one was seen last. Ends when the
// receiver has enough, when stop() is called, or when a controller refuses for good. Runs on the
// loop of the ApiClient, one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "cli/client/api_client.h"

namespace vortex::cli {

// Takes a text/event-stream apart, in whatever pieces it comes. Pure.
//
// Only what our controllers send is understood: id and data; comments are skipped.

class SseReader {
 public:
  struct Event {
    std::string id;
    std::string data;
  };
  using OnEvent = std::function<void(const Event& event)>;

  void feed(std::string_view piece, const OnEvent& on_event);
  // A new connection begins: what was half read is dropped.
  void reset();

 private:
  void take_line(std::string_view line, const OnEvent& on_event);

  std::string rest_;  // the line that is not complete
  Event event_;
};

enum class Link : std::uint8_t { kUp, kLost };

// A controller sends a comment every 15 seconds; whatever it sends, comments too, is a sign of
// life.
inline constexpr Duration kFeedSilenceMax = seconds(40);

struct Feed {
  std::string target;                                              // /api/events?run=r1
  std::uint64_t after = 0;                                         // events with a higher sequence
  std::function<bool(const boost::json::object& event)> on_event;  // false: enough
  std::function<void(Link link, const std::string& detail)> on_link;
  Duration silence_max = kFeedSilenceMax;  // after which the connection counts as lost
};

class Follower {
 public:
  Follower(ApiClient& api, Feed feed);
  // Returns what a controller refused with; unset: it was ended from this side.
  boost::asio::awaitable<std::optional<Failure>> run();
  void stop();

 private:
  boost::asio::awaitable<std::optional<Failure>> stay_connected();
  bool take_piece(std::string_view piece);

  ApiClient& api_;
  Feed feed_;
  SseReader reader_;
  std::unique_ptr<net::Client> client_;
  boost::asio::steady_timer pause_;
  Duration pause_now_;  // grows while no connection comes about
  bool stopped_ = false;
  bool up_ = false;
};

}  // namespace vortex::cli
