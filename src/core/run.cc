#include "core/run.h"

#include "base/assert.h"

namespace vortex::core {

RunIx RunTable::add(RunId id) {
  RunIx ix{static_cast<std::uint32_t>(slots_.size())};
  if (free_.empty()) {
    slots_.push_back(nullptr);
  } else {
    ix.value = free_.back();
    free_.pop_back();
  }
  slots_[ix.value] = std::make_unique<Run>();
  slots_[ix.value]->id = id;
  auto& page = pages_[id.value / kPage];
  if (!page) page = std::make_unique<Page>();
  VX_ASSERT(!page->runs[id.value % kPage].valid());
  page->runs[id.value % kPage] = ix;
  ++page->used;
  ++live_;
  return ix;
}

void RunTable::remove(RunIx ix) {
  const RunId id = slots_[ix.value]->id;
  const auto page = pages_.find(id.value / kPage);
  page->second->runs[id.value % kPage] = RunIx::none();
  if (--page->second->used == 0) pages_.erase(page);
  slots_[ix.value].reset();
  free_.push_back(ix.value);
  --live_;
}

RunIx RunTable::find(RunId id) const {
  const auto page = pages_.find(id.value / kPage);
  if (page == pages_.end()) return RunIx::none();
  return page->second->runs[id.value % kPage];
}

}  // namespace vortex::core
