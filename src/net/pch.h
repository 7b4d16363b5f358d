// Precompiled header of everything that uses the network: Asio is slow to parse.
// No file may rely on it.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/pch.h"
