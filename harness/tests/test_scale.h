// How many repetitions a test makes: fewer under sanitizers and emulators, more over night.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace qconform::testing {

/// `count` times the environment variable QCONFORM_TEST_SCALE (default 1), at least 1.
inline int scaled(int count) {
  const char* text = std::getenv("QCONFORM_TEST_SCALE");
  const double scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return std::max(1, static_cast<int>(count * scale));
}

/// A sweep over many values takes one of this many: 256 by default, and every value from scale 64 on.
inline std::int64_t sweep_stride() {
  const int hundredths = scaled(100);
  return hundredths >= 6400 ? 1 : 25600 / hundredths;
}

}  // namespace qconform::testing
