#pragma once
// The rules of a time zone as data: since when which offset from UTC applies.
//
// Plain values, so that pure code can compute with them; base/zone_files.h reads them from the
// system. A zone has at least one span, the first begins before all time, they are in order, and
// neighbours have different offsets.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vortex {

struct ZoneSpan {
  std::int64_t begins_s = 0;  // seconds since 1970, UTC
  std::int32_t offset_s = 0;  // to add to UTC
  friend bool operator==(ZoneSpan, ZoneSpan) = default;
};

struct Zone {
  std::string name = "UTC";
  std::vector<ZoneSpan> spans = {{std::numeric_limits<std::int64_t>::min(), 0}};
};

using ZonePtr = std::shared_ptr<const Zone>;

// Where zones come from. The same name gives the same zone for as long as the source lives.
class ZoneSource {
 public:
  ZoneSource() = default;
  ZoneSource(const ZoneSource&) = delete;
  ZoneSource& operator=(const ZoneSource&) = delete;
  virtual ~ZoneSource() = default;

  virtual ZonePtr find(std::string_view name) const = 0;  // none: unknown
  virtual std::vector<std::string> names() const = 0;     // sorted
};

}  // namespace vortex
