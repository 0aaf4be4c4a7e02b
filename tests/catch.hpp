// The one place that knows the two major versions of Catch2 (2 on Debian 12, 3 on Debian 13).
#pragma once
// An exception that no test expects ends its test case, not the assertion alone: that costs a fifth less to compile.
#define CATCH_CONFIG_FAST_COMPILE
#ifdef LFC_CATCH3
#include <catch2/catch_all.hpp>

using Catch::Approx;  // of the global namespace before
#else
#include <catch2/catch.hpp>
#endif
