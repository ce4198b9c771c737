// Tests that run whole models, where ONNX Runtime is here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"

namespace qconform::testing {

/// Skips a test where ONNX Runtime is missing, and only there: where its nodes are computed, it has to run models too.
class WithModelRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    offer_model_runtime(libraries::model_runtime);
    const std::string& absent = offered_model_runtime().absent;
    if (absent.empty()) return;
    const auto all = libraries::libraries();
    const auto found = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.name == "onnxruntime"; });
    ASSERT_NE(found, all.end());
    ASSERT_FALSE(found->state().absent.empty()) << "the library is here, and runs no models: " << absent;
    GTEST_SKIP() << absent;
  }
};

}  // namespace qconform::testing
