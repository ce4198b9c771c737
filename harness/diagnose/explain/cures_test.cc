#include "harness/diagnose/explain/cures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/specification.h"
#include "harness/base/text.h"
#include "harness/model/case_builder.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform::diagnose {
namespace {

constexpr std::string_view kListed = "off";
constexpr backend::Switch kParts[] = {{"exact", "1"}, {kListed, "A", true}, {kListed, "B", true}, {kListed, "C", true}};

// A library whose parts are wrong: the id of a case, "A+B", names those of which each makes it wrong. "kernel" is in no
// part.
class FlawedBackend final : public Backend {
 public:
  explicit FlawedBackend(const backend::Specification& what) : info_{backend::text_of(what), "1", "test"} {
    for (const backend::Setting& setting : what.settings) {
      if (setting.key != kListed) {
        off_.push_back(setting.key + "=" + setting.value);
        continue;
      }
      for (const std::string_view part : split(setting.value, ";")) off_.emplace_back(part);
    }
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    Tensor y = *expect(test_case, Policy{}).output;
    bool is_wrong = false;
    for (const std::string_view part : split(test_case.id, "+")) {
      is_wrong = is_wrong || std::find(off_.begin(), off_.end(), part) == off_.end();
    }
    if (is_wrong) y.bytes[0] ^= std::byte{64};
    return std::make_unique<testing::PreparedOutput>(std::move(y));
  }

 private:
  BackendInfo info_;
  std::vector<std::string> off_;
};

backend::Library flawed() {
  backend::Library library{
      "flawed",
      "a library of wrong parts",
      {{"plain", "all"}, {{"exact", "1"}, {kListed, "TEXT"}}},
      [] {
        return backend::LibraryState{"1", {}};
      },
  };
  library.start = [](const backend::Specification& what, const SandboxLimits&) -> Result<std::unique_ptr<Backend>> {
    return std::make_unique<FlawedBackend>(what);
  };
  library.levels = {"plain", "all"};
  library.switches = kParts;
  return library;
}

class CuresTest : public ::testing::Test {
 protected:
  void SetUp() override { backend::offer_libraries(std::span(&library_, 1)); }
  void TearDown() override { backend::offer_libraries({}); }

  static std::string cure(Cures& cures, const std::string& wrong_parts) {
    const Case failing = ConvIntegerBuilder()
                             .id(wrong_parts)
                             .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
                             .w(make::uint8({1, 1, 1, 1}, {5}))
                             .build();
    return cures.cure_of(failing, Policy{}).value_or("none");
  }

 private:
  backend::Library library_ = flawed();
};

TEST_F(CuresTest, AreTheFewestPartsThatHaveToBeSwitchedOff) {
  Cures cures("flawed@all");
  ASSERT_TRUE(cures.has_switches());
  EXPECT_EQ(cure(cures, "B"), "cured-by:B");
  EXPECT_EQ(cure(cures, "exact=1"), "cured-by:exact=1");
  EXPECT_EQ(cure(cures, "kernel"), "none");
  EXPECT_TRUE(cures.is_broad("cured-by:exact=1"));
  EXPECT_FALSE(cures.is_broad("cured-by:B"));
}

// What cured one case may switch off more than another one needs.
TEST_F(CuresTest, OfOneCaseAreNotNamedForAnother) {
  Cures cures("flawed@all");
  EXPECT_EQ(cure(cures, "A+C"), "cured-by:A+C");
  EXPECT_EQ(cure(cures, "C"), "cured-by:C");
  EXPECT_EQ(cure(cures, "A"), "cured-by:A");
  EXPECT_EQ(cure(cures, "A+C"), "cured-by:A+C");
}

TEST_F(CuresTest, AreSettingsOfTheBackend) {
  EXPECT_EQ(cure_in("cured-by:A+C of DequantizeLinear+Gemm, by one", "flawed@all"), "all,off=A;C");
  EXPECT_EQ(cure_in("cured-by:exact=1, crashed", "flawed@all"), "all,exact=1");
  EXPECT_EQ(cure_in("unexplained:everywhere", "flawed@all"), "");
  EXPECT_FALSE(Cures("flawed@plain").has_switches()) << "the first level optimizes nothing";
  EXPECT_FALSE(Cures("flawed").has_switches());
}

}  // namespace
}  // namespace qconform::diagnose
