// The one place that knows the two major versions of Catch2 (2 on Debian 12, 3 on Debian 13).
#pragma once
#ifdef LFC_CATCH3
#include <catch2/catch_all.hpp>

using Catch::Approx;  // of the global namespace before
#else
#include <catch2/catch.hpp>
#endif
