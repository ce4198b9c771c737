// A prepared case whose output is known beforehand.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "harness/core/backend.h"

namespace qconform::testing {

class PreparedOutput final : public PreparedCase {
 public:
  explicit PreparedOutput(Tensor output) : output_(std::move(output)) {}
  void run(OutputSink& sink) override {
    const std::span<std::byte> y = sink.allocate(output_.type, output_.shape);
    if (!y.empty()) std::memcpy(y.data(), output_.bytes.data(), y.size());
  }

 private:
  Tensor output_;
};

}  // namespace qconform::testing
