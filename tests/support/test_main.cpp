// Catch2's main, for version 2 (which has none of its own) and version 3 (which is linked).
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
