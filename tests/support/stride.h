// How much of a long walk is gone.
#pragma once

namespace tune::test {

/// A walk over hundreds of cases takes each of them, but every so manieth under the sanitizers,
/// which take ten times as long: they look for errors of memory, which many cases share. It is odd,
/// so that what alternates still does.
#ifdef TUNE_SANITIZED
constexpr int stride = 5;
#else
constexpr int stride = 1;
#endif

}  // namespace tune::test
