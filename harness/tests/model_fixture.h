// Tests on suites of whole models.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/file.h"
#include "harness/suites/onnx_model.h"
#include "harness/tests/network.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {

class ModelFixture : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModelSuite> open(Network& net, std::uint64_t seed = 1) {
    auto source = OnnxModelSuite::open(written(net), seed);
    EXPECT_TRUE(source.has_value()) << source.error().text();
    return std::move(*source);
  }

  std::string error_of(Network& net) {
    const auto source = OnnxModelSuite::open(written(net), 1);
    return source ? "" : source.error().text();
  }

  static std::vector<Case> cases_of(OnnxModelSuite& source) {
    std::vector<Case> cases;
    while (true) {
      auto next = source.next();
      if (!next) ADD_FAILURE() << next.error().text();
      if (!next || !*next) return cases;
      cases.push_back(std::move(**next));
    }
  }

  /// The only case of a network.
  Case only_case(Network& net) {
    auto source = open(net);
    const std::vector<Case> cases = cases_of(*source);
    EXPECT_EQ(cases.size(), 1U);
    return cases.empty() ? Case{} : cases.front();
  }

  /// "2 com.microsoft::QLinearAdd: operator: ..." of the quantized nodes that no case so far holds.
  static std::vector<std::string> in_no_case(const OnnxModelSuite& source) {
    std::vector<std::string> texts;
    const auto coverage = source.node_coverage(nullptr);
    for (const UncoveredNodes& part : coverage->uncovered) {
      texts.push_back(std::to_string(part.nodes) + " " + part.op_type + ": " + part.reason);
    }
    return texts;
  }

  TemporaryFolder folder_;

 private:
  std::filesystem::path written(Network& net) {
    auto file = folder_.path() / "net.onnx";
    EXPECT_TRUE(write_file(file, net.model().SerializeAsString()).has_value());
    return file;
  }
};

}  // namespace qconform::testing
