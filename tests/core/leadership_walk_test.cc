// Three controllers and one lease row, with answers that are late, lost or never come, and
// controllers that stand still for a while: never two who may serve, and in the end one who does.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/leadership.h"

namespace vortex::core::lead {
namespace {

constexpr Instant kFaultsUntil{seconds(300).us};
constexpr Instant kUntil{seconds(400).us};

class LeaseWalk {
 public:
  static constexpr Duration kLength = seconds(10);  // of the lease

  explicit LeaseWalk(std::uint64_t seed) : rng_(seed) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      const LeadershipConfig config{ControllerId{"c" + std::to_string(i)}, kLength, seed * 3 + i};
      controllers_.push_back({Leadership(config, Instant{}), Instant{}});
    }
  }

  void run() {
    while (now_ < kUntil && !two_served_) step();
  }
  bool two_served() const { return two_served_; }
  std::size_t serving() const {
    std::size_t count = 0;
    for (const auto& [leadership, away_until] : controllers_) {
      if (leadership.leads() && now_ < *leadership.serves_until()) ++count;
    }
    return count;
  }
  std::uint64_t terms() const { return row_term_.value; }

 private:
  struct Controller {
    Leadership leadership;
    Instant away_until;
  };

  bool faulty() const { return now_ < kFaultsUntil; }

  void step() {
    Instant next = events_.empty() ? kUntil : events_.begin()->first;
    for (const auto& [leadership, away_until] : controllers_) {
      next = std::min(next, std::max(leadership.next_wake(), away_until));
    }
    now_ = std::max(now_, next);
    if (!events_.empty() && events_.begin()->first <= now_) {
      const auto event = events_.extract(events_.begin());
      event.mapped()();
    }
    for (std::size_t i = 0; i < controllers_.size(); ++i) {
      if (controllers_[i].leadership.next_wake() <= now_) feed(i, Tick{});
    }
    if (serving() > 1) two_served_ = true;
  }

  void feed(std::size_t i, const Input& input) {
    Controller& controller = controllers_[i];
    if (now_ < controller.away_until) {
      events_.emplace(controller.away_until, [this, i, input] { feed(i, input); });
      return;
    }
    if (faulty() && rng_.chance(20)) {
      controller.away_until = now_ + rng_.between(Duration{}, seconds(15));
    }
    for (const Output& output : controller.leadership.on(input, now_)) obey(i, output);
    if (faulty() && controller.leadership.leads() && rng_.chance(50)) doubt(i);
  }

  void doubt(std::size_t i) {
    const auto& leading = std::get<Leadership::Leading>(controllers_[i].leadership.state());
    const Term term = leading.hold.term;
    for (const Output& output : controllers_[i].leadership.on(CommitUnknown{term}, now_)) {
      obey(i, output);
    }
  }

  void obey(std::size_t i, const Output& output) {
    if (const auto* asked = std::get_if<TryAcquire>(&output)) {
      exchange(i, [this, asked = *asked]() -> std::pair<Input, Input> {
        return {AcquireAnswer{asked.call, acquire(asked)}, AcquireAnswer{asked.call, Unknown{}}};
      });
    } else if (const auto* renew = std::get_if<Renew>(&output)) {
      exchange(i, [this, renew = *renew]() -> std::pair<Input, Input> {
        const bool held = row_term_ == renew.term;
        if (held) row_expires_ = now_ + renew.lease;
        if (held) return {RenewAnswer{renew.call, Renewed{}}, RenewAnswer{renew.call, Unknown{}}};
        return {RenewAnswer{renew.call, Lost{}}, RenewAnswer{renew.call, Unknown{}}};
      });
    } else if (const auto* loading = std::get_if<StartLoading>(&output)) {
      const Term term = loading->term;
      events_.emplace(now_ + rng_.between(Duration{}, seconds(2)),
                      [this, i, term] { feed(i, ReloadDone{term}); });
    }
  }

  // Serves at the store, then the answer, an "unknown" or nothing at all comes back.
  void exchange(std::size_t i, std::function<std::pair<Input, Input>()> serve) {
    const auto delay = [this] {
      return rng_.between(millis(1), faulty() ? seconds(4) : millis(20));
    };
    events_.emplace(now_ + delay(), [this, i, delay, serve = std::move(serve)] {
      const auto [answer, unknown] = serve();
      if (faulty() && rng_.chance(50)) return;
      const Input told = faulty() && rng_.chance(150) ? unknown : answer;
      events_.emplace(now_ + delay(), [this, i, told] { feed(i, told); });
    });
  }

  std::variant<Won, HeldByOther, Unavailable, Unknown> acquire(const TryAcquire& asked) {
    if (row_holder_ != asked.me && now_ < row_expires_) {
      return HeldByOther{row_holder_, row_expires_ - now_};
    }
    row_holder_ = asked.me;
    row_expires_ = now_ + asked.lease;
    row_term_ = row_term_.next();
    return Won{row_term_, now_};
  }

  Rng rng_;
  Instant now_;
  std::vector<Controller> controllers_;
  std::multimap<Instant, std::function<void()>> events_;
  ControllerId row_holder_;
  Term row_term_;
  Instant row_expires_;
  bool two_served_ = false;
};

TEST(LeaseWalks, NeverTwoWhoMayServeAndInTheEndOneWhoDoes) {
  std::uint64_t terms = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LeaseWalk walk(seed);
    walk.run();
    ASSERT_FALSE(walk.two_served()) << "seed " << seed;
    ASSERT_EQ(walk.serving(), 1u) << "seed " << seed;
    terms += walk.terms();
  }
  EXPECT_GT(terms, 1000u) << "the walks hardly changed the leader";
}

}  // namespace
}  // namespace vortex::core::lead
