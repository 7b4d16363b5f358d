#pragma once
// Why a call to a controller brought nothing, as a value: what is shown, and the exit code.
//
// The code, the text and the help are the controller's own (problem+json) wherever it answered.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "net/client.h"
#include "net/http.h"

namespace vortex::cli {

struct Failure {
  // One value of what was sent that is wrong.
  struct Mistake {
    std::string where;  // JSON pointer, with line and column when they are known
    std::string message;
    std::string help;
  };

  ExitCode exit = ExitCode::kFailed;
  int status = 0;    // 0: no answer came
  std::string code;  // VX-RUN-001; empty: none
  std::string what;
  std::string help;
  std::vector<Mistake> places;
  std::string request_id;
  std::string body;  // of the answer, as it came
};

// 401 and 403 are auth, 404 not found, and so on; a wrong DAG is an invalid file.
ExitCode exit_code_of(int status, std::string_view code);

Failure failure_of(const net::Response& response);
Failure failure_of(const net::CallError& error, std::string_view server);

// error[VX-RUN-001]: there is no such run: r7
//   = help: ...
std::string failure_text(const Failure& failure);

// Says it on stderr; the exit code.
ExitCode report(const Failure& failure);

}  // namespace vortex::cli
