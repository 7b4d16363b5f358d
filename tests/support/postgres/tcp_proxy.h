#pragma once
// A proxy between a client and a server on the loopback that cuts connections at a chosen byte, or
// stops passing anything on, as a network does at the worst moment.
//
// It waits for the client to send a text that is armed. Own thread; the rest from any thread.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vortex::testing {

class TcpProxy {
 public:
  explicit TcpProxy(std::uint16_t server_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  TcpProxy(TcpProxy&&) = delete;
  TcpProxy& operator=(TcpProxy&&) = delete;

  std::uint16_t port() const { return port_; }

  enum class Cut : std::uint8_t {
    kNever,
    kBeforeServer,  // what was sent never arrives
    kAfterAnswer,   // it arrives and is answered, but the answer does not come back
    kSilence,       // it arrives; from then on nothing passes, and nothing is closed
    kStall,         // the same, and it does not arrive either
  };
  // When a client next sends `text`.
  void arm(std::string text, Cut how);
  bool has_cut() const { return has_cut_; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    Cut dying = Cut::kNever;
  };

  void run();
  void take_new();
  bool pass(Pair& pair, bool from_client);
  Cut wanted(const std::string& data);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int stop_ = -1;
  std::atomic<bool> has_cut_ = false;
  std::mutex guard_;
  std::string armed_;
  Cut how_ = Cut::kNever;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace vortex::testing
