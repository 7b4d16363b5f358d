// Reading the audit log.

#include <utility>

#include "api/audit/audit_log.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

Handled get_audit(Call& call) {
  QueryReader query(call.request().query);
  store::AuditFilter filter;
  filter.who = query.text("who");
  filter.what = query.text("what");
  if (const auto outcome = query.word("outcome", words_of<AuditOutcome>())) {
    filter.outcome = static_cast<AuditOutcome>(*outcome);
  }
  if (const auto since = query.time("since")) filter.since = *since;
  filter.after = query.number("after");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  // Whoever asks sees what was done before.
  co_await call.audit.flush(AuditLog::Which::kDue);
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("entries", reader.audit(filter, page), write_audit_entry);
  });
}

}  // namespace vortex::api
