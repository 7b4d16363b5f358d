#include <string_view>
#include <vector>

#include "sim/cli.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  return vortex::sim::run_cli(arguments);
}
