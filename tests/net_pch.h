// Precompiled header of the tests that use the network: the tests' own and Asio.
// No file may rely on it.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "tests/pch.h"
