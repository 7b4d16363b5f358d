// Precompiled header of the command line: Asio, the parser of arguments and JSON are slow to parse.
// No file may rely on it.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "net/pch.h"
