// Precompiled header of the command line: Asio and JSON are slow to parse.
// No file may rely on it.
#pragma once

#include <boost/json.hpp>
#include <fmt/format.h>

#include "net/pch.h"
