// Precompiled header of the tests: the common standard headers and GoogleTest.
// No file may rely on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/pch.h"
