#include "tests/base/settings_docs.h"

#include <fmt/format.h>

#include "base/settings_table.h"
#include "base/settings_timing.h"
#include "base/settings_value.h"

namespace vortex {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Configuration

This page is generated from the settings table in `src/base/settings_rows_*.cc`; do not edit it by hand.

Every setting can be given in three places, in order of precedence:

1. a flag: `--controller.heartbeat-timeout-secs=30`
2. an environment variable: `VORTEX_CONTROLLER_HEARTBEAT_TIMEOUT_SECS=30`
3. the TOML file

Settings that are not given come from the tuning; timing values that are not given are derived from those
that are, so that the timing rules below hold. Everything else has its default. Unknown keys, values out of
range and combinations that violate a timing rule are rejected at startup; all errors are reported at once,
each with its source. Durations may be fractions (`0.5`).

```toml
tuning = "standard"

[controller]
heartbeat_timeout_secs = 60
health_check_interval_secs = 15
max_task_retries = 3
task_timeout_secs = 3600

[database]
path = "./vortex.db"
pool_size = 10

[monitoring]
log_level = "info"
metrics_enabled = true
```
)";

std::string tunings() {
  std::string text =
      "\n## Tunings\n\n"
      "Chosen with `tuning = \"lan\"`, `VORTEX_TUNING=lan` or `--tuning=lan`.\n\n"
      "| setting | lan | standard | wan | testing |\n|---|---|---|---|---|\n";
  for (const SettingSpec& spec : settings_table()) {
    if (spec.tuned.standard.empty()) continue;
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", spec.full_key(), spec.tuned.lan,
                        spec.tuned.standard, spec.tuned.wan, spec.tuned.testing);
  }
  return text;
}

std::string rules() {
  std::string text =
      "\n## Timing rules\n\nA configuration that violates one of these rules is rejected, with the "
      "numbers.\n\n"
      "| rule | otherwise |\n|---|---|\n";
  for (const TimingRule& rule : timing_rules()) {
    text += fmt::format("| `{}` | {} |\n", rule_text(rule), rule.why);
  }
  return text;
}

std::string entry(const SettingSpec& spec) {
  std::string takes = expectation(spec);
  if (spec.usual.max > 0) {
    takes += fmt::format("; only {} to {} unless `{}` is true", spec.usual.min, spec.usual.max,
                         kAllowExtremeKey);
  }
  const std::string fallback = spec.fallback.empty() ? "empty" : fmt::format("`{}`", spec.fallback);
  return fmt::format(
      "\n### `{}`\n\n{}\n\n- Takes {}. Default: {}.\n- Environment: `{}`. Flag: `{}`.\n",
      spec.full_key(), spec.doc, takes, fallback, spec.environment_name(), spec.flag());
}

std::string words() {
  std::string text =
      "\n## Other names that are accepted\n\n"
      "Names from other documents are accepted in the file, in the environment and as flags; a "
      "note "
      "says\nwhat they are called here. A setting that is given twice in one place, by two names "
      "and "
      "with two\nvalues, is rejected.\n\n| name | environment | meaning |\n|---|---|---|\n";
  for (const SettingWord& word : setting_words()) {
    const std::string meaning =
        word.ours.empty() ? fmt::format("no effect: {}", word.why) : fmt::format("`{}`", word.ours);
    text +=
        fmt::format("| `{}` | `{}` | {} |\n", word.full_key(), word.environment_name(), meaning);
  }
  return text;
}

}  // namespace

std::string settings_reference() {
  std::string text = std::string(kIntroduction) + tunings() + rules();
  std::string_view section;
  for (const SettingSpec& spec : settings_table()) {
    if (&spec == &settings_table().front() || spec.section != section) {
      section = spec.section;
      text += section.empty() ? "\n## Top level\n" : fmt::format("\n## [{}]\n", section);
    }
    text += entry(spec);
  }
  return text + words();
}

}  // namespace vortex
