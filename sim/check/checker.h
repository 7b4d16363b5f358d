#pragma once
// What every checker is: a name, a stream of facts, and a place to say what they break.
//
// A checker sees a fact after the picture has taken it. It keeps only what its own invariant needs
// and never looks at the whole picture before the end of the history.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/state/policy.h"
#include "sim/check/picture.h"
#include "sim/history.h"

namespace vortex::sim {

class Findings {
 public:
  void set_time(Instant true_time) { now_ = true_time; }
  void add(std::string_view invariant, std::string_view detail);
  const std::vector<Violation>& all() const { return all_; }

 private:
  Instant now_;
  std::vector<Violation> all_;
};

struct CheckerTools {
  const core::Policy& policy;
  Findings& findings;
};

class Checker {
 public:
  Checker(std::string_view name, const CheckerTools& tools)
      : policy_(tools.policy), name_(name), findings_(tools.findings) {}
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  Checker(Checker&&) = delete;
  Checker& operator=(Checker&&) = delete;

  std::string_view name() const { return name_; }
  virtual void fact(const Picture& picture, Instant true_time, const Fact& fact) = 0;
  virtual void finish(const Picture&, Instant) {}

 protected:
  template <class... Args>
  void violated(fmt::format_string<Args...> text, Args&&... args) {
    // One broken rule tends to break again with every commit; the first few tell it all.
    if (++violations_ > kViolationsMax) return;
    findings_.add(name_, fmt::format(text, std::forward<Args>(args)...));
  }

  const core::Policy& policy() const { return policy_; }

 private:
  static constexpr std::uint32_t kViolationsMax = 10;

  const core::Policy& policy_;
  std::string_view name_;
  Findings& findings_;
  std::uint32_t violations_ = 0;
};

// One that looks at commits only.
class CommitChecker : public Checker {
 public:
  using Checker::Checker;
  void fact(const Picture& picture, Instant, const Fact& fact) final {
    if (const auto* commit = std::get_if<Committed>(&fact)) committed(picture, *commit);
  }
  virtual void committed(const Picture& picture, const Committed& commit) = 0;
};

using CheckerList = std::vector<std::unique_ptr<Checker>>;

}  // namespace vortex::sim
