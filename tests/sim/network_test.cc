// Links lose, hold and repeat what they are told to, and nothing else.

#include "sim/network.h"

#include <gtest/gtest.h>

#include "sim/host_clock.h"
#include "sim/process.h"

namespace vortex::sim {
namespace {

constexpr HostId kA{0};
constexpr HostId kB{1};

class NetworkTest : public ::testing::Test {
 protected:
  void run_all() {
    while (!agenda_.empty()) agenda_.run_next();
  }
  void send(HostId from, HostId to) {
    network_.send(from, to, [this] { ++arrived_; });
  }

  Agenda agenda_{Rng(1)};
  Network network_{agenda_, Rng(2), 3, LinkStrength{}};
  int arrived_ = 0;
};

TEST_F(NetworkTest, DeliversOnce) {
  send(kA, kB);
  run_all();
  EXPECT_EQ(arrived_, 1);
}

TEST_F(NetworkTest, CutIsOneWay) {
  network_.cut(kA, kB, true);
  send(kA, kB);
  send(kB, kA);
  run_all();
  EXPECT_EQ(arrived_, 1);
}

TEST_F(NetworkTest, CutTakesWhatIsOnTheWay) {
  send(kA, kB);
  network_.cut(kA, kB, true);
  run_all();
  EXPECT_EQ(arrived_, 0);
}

TEST_F(NetworkTest, ClogHoldsAndReleasesInABurst) {
  network_.clog(kA, kB, true);
  send(kA, kB);
  send(kA, kB);
  run_all();
  EXPECT_EQ(arrived_, 0);
  network_.clog(kA, kB, false);
  run_all();
  EXPECT_EQ(arrived_, 2);
}

TEST_F(NetworkTest, OverlappingCutsEndWithTheLast) {
  network_.cut(kA, kB, true);
  network_.isolate(kA, true);
  network_.cut(kA, kB, false);
  EXPECT_FALSE(network_.is_open(kA, kB));
  EXPECT_TRUE(network_.is_isolated(kA));
  network_.isolate(kA, false);
  EXPECT_TRUE(network_.is_open(kA, kB));
}

TEST(NetworkStrength, RepeatsRequestsAndDropsMessages) {
  Agenda agenda{Rng(1)};
  LinkStrength strength;
  strength.repeat_permille = 1000;
  Network repeating(agenda, Rng(2), 2, strength);
  int arrived = 0;
  repeating.send_request(kA, kB, [&] { ++arrived; });
  while (!agenda.empty()) agenda.run_next();
  EXPECT_EQ(arrived, 2);
  strength.drop_permille = 1000;
  Network dropping(agenda, Rng(2), 2, strength);
  dropping.send_request(kA, kB, [&] { ++arrived; });
  while (!agenda.empty()) agenda.run_next();
  EXPECT_EQ(arrived, 2);
}

TEST(Agenda, OrdersByTimeWhateverTheOrderOfAsking) {
  Agenda agenda{Rng(1)};
  std::vector<int> order;
  agenda.at(Instant{20}, [&] { order.push_back(2); });
  agenda.at(Instant{10}, [&] { order.push_back(1); });
  agenda.at(Instant{30}, [&] { order.push_back(3); });
  while (!agenda.empty()) agenda.run_next();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(agenda.now(), Instant{30});
}

TEST(HostClock, ConvertsBackToTheFirstTrueTime) {
  for (const std::int64_t ppm : {-200'000, -15'000, 0, 1, 15'000, 200'000}) {
    const HostClock clock(seconds(77), ppm);
    for (const std::int64_t us : {0L, 1L, 999L, 123'456'789L, 7'200'000'000L}) {
      const Instant boot = clock.boot(Instant{us});
      const Instant back = clock.true_at(boot);
      EXPECT_GE(clock.boot(back), boot);
      EXPECT_LE(back, Instant{us});
    }
  }
}

TEST(HostClock, WallJumpsLeaveTheBootClockAlone) {
  HostClock clock(seconds(1), 0);
  clock.jump_wall(hours(1));
  EXPECT_EQ(clock.boot(Instant{5}), Instant{5} + seconds(1));
  EXPECT_EQ(clock.wall(Instant{5}), Instant{5} + seconds(1) + hours(1));
}

TEST(Process, PausedHoldsAndDeadForgets) {
  Process process;
  int done = 0;
  process.begin();
  const auto action = process.mine([&] { ++done; });
  process.pause();
  action();
  EXPECT_EQ(done, 0);
  process.resume();
  EXPECT_EQ(done, 1);
  process.die();
  action();
  process.begin();
  action();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace vortex::sim
