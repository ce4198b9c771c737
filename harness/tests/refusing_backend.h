// A backend that has nothing: what was not run must never count as passed.
#pragma once

#include "harness/core/backend.h"

namespace qconform::testing {

/// Refuses every case with the reason "nothing is implemented".
class RefusingBackend final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& /*test_case*/) override {
    return outcome::Unsupported{"nothing is implemented"};
  }

 private:
  BackendInfo info_{"refusing", "0", "test"};
};

}  // namespace qconform::testing
