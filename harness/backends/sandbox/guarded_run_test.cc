// Guard bytes, and the nodes that are run between two runs of a case.

#include "harness/backends/sandbox/guarded_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/suites/drawn.h"
#include "harness/tests/linear_builder.h"

namespace qconform {
namespace {

constexpr std::size_t kLongest = 2 * kWholeVectors + 3;
constexpr std::byte kOld{0x11};
constexpr std::byte kNew{0xA5};

// Against the edge of a page without access: a byte too many is a fault.
TEST(GuardBytes, FillsTheRangeAlone) {
  GuardedMemory memory(kWholeVectors);
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::span<std::byte> all = memory.place(kLongest, GuardedMemory::Against::end);
    std::fill(all.begin(), all.end(), kOld);
    fill_to_edge(all.data() + all.size() - size, kNew, size);
    EXPECT_EQ(std::count(all.begin(), all.end() - static_cast<std::ptrdiff_t>(size), kOld),
              static_cast<std::ptrdiff_t>(kLongest - size));
    EXPECT_EQ(std::count(all.end() - static_cast<std::ptrdiff_t>(size), all.end(), kNew),
              static_cast<std::ptrdiff_t>(size));
  }
}

TEST(GuardBytes, SeesEveryByteThatDiffers) {
  GuardedMemory memory(kWholeVectors);
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::span<std::byte> placed = memory.place(size, GuardedMemory::Against::end);
    fill_to_edge(placed.data(), kNew, size);
    std::vector<std::byte> content(size, kNew);
    EXPECT_TRUE(equal_to_edge(content.data(), placed.data(), size));
    for (std::byte& byte : content) {
      byte ^= std::byte{0x80};
      EXPECT_FALSE(equal_to_edge(content.data(), placed.data(), size)) << size;
      byte = kNew;
    }
  }
}

TEST(Neighbour, HasTheCasesTypesShapesAndAttributesAndOtherWeights) {
  Case neighbour;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Case test_case = random_case(3, index);
    make_neighbour(test_case, neighbour);
    EXPECT_EQ(neighbour.node(), test_case.node());
    ASSERT_EQ(neighbour.inputs.size(), test_case.inputs.size());
    for (std::size_t i = 0; i < neighbour.inputs.size(); ++i) {
      const auto& one = test_case.inputs[i];
      const auto& other = neighbour.inputs[i];
      ASSERT_EQ(one.has_value(), other.has_value());
      if (!one) continue;
      EXPECT_EQ(one->type, other->type);
      EXPECT_EQ(one->shape, other->shape);
      EXPECT_EQ(one->bytes.size(), other->bytes.size());
      if (!is_integer(one->type) || one->elements() == 0) continue;
      EXPECT_NE(one->bytes, other->bytes);
    }
  }
}

TEST(OtherInput, IsTheSameNodeWithAnotherXAlone) {
  for (std::uint64_t index = 0; index < 500; ++index) {
    const Case test_case = random_case(17, index);
    Case other;
    const auto position = make_other_input(test_case, other);
    if (!position) continue;
    EXPECT_EQ(*position, 0U);
    EXPECT_NE(other.inputs[0], test_case.inputs[0]);
    other.inputs[0] = test_case.inputs[0];
    EXPECT_EQ(digest_of(other), digest_of(test_case));
  }
}

TEST(Neighbour, LeavesPaddingBitsAndNumbersThatAreNotNormal) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
  Case test_case;
  test_case.inputs.push_back(Tensor{ElementType::int4, {3}, {std::byte{0x21}, std::byte{0x03}}});
  test_case.inputs.push_back(
      Tensor::of(ElementType::float32, {4}, std::vector<float>{1.5F, kInfinity, kSubnormal, 0.0F}));
  test_case.inputs.push_back(Tensor{ElementType::float8e8m0, {2}, {std::byte{127}, std::byte{255}}});
  Case neighbour;
  make_neighbour(test_case, neighbour);
  EXPECT_EQ(neighbour.inputs[0]->bytes, (std::vector<std::byte>{std::byte{0x74}, std::byte{0x06}}));
  EXPECT_EQ(neighbour.inputs[1]->values<float>(), (std::vector<float>{0.75F, kInfinity, kSubnormal, 0.0F}));
  EXPECT_EQ(neighbour.inputs[2]->bytes, (std::vector<std::byte>{std::byte{126}, std::byte{255}}));
}

// Half of a scale of 1 would leave an axis of one element without any.
TEST(Neighbour, LeavesWhatDecidesShapes) {
  GraphBuilder graph(13);
  const std::string x = graph.input(make::float32({1, 1}, {3}));
  const std::string scales = graph.initializer(make::float32({2}, {1, 1}));
  const Case test_case = graph.build({graph.node("Resize", {x, "", scales})});
  Case neighbour;
  make_neighbour(test_case, neighbour);
  EXPECT_EQ(neighbour.inputs[0]->values<float>(), std::vector<float>{1.5F});
  EXPECT_EQ(neighbour.inputs[1], test_case.inputs[1]);
}

// Answers with zeros, and notes on which x it was prepared last.
class LastPrepared final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    x = test_case.inputs[0];
    return std::make_unique<Zeros>(test_case.inputs[0]->shape);
  }

  std::optional<Tensor> x;

 private:
  class Zeros final : public PreparedCase {
   public:
    explicit Zeros(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}
    void run(OutputSink& sink) override { std::ranges::fill(sink.allocate(ElementType::uint8, shape_), std::byte{0}); }

   private:
    std::vector<std::int64_t> shape_;
  };

  BackendInfo info_{.name = "zeros", .takes_other_inputs = true};
};

// A cache of one entry, which some kernels keep of x, then meets the next case.
TEST(GuardedRun, EndsWithTheCasesOwnX) {
  const Case test_case =
      LinearBuilder::quantize().x(Tensor::of(ElementType::float32, {2}, std::vector<float>{1.5F, 2})).scale(1).build();
  GuardedRun guarded;
  guarded.begins = [](bool) {};
  LastPrepared backend;
  const Outcome outcome = guarded(backend, test_case, true);
  ASSERT_TRUE(std::holds_alternative<outcome::Produced>(outcome));
  EXPECT_TRUE(outcome.on_other_input.has_value());
  EXPECT_EQ(backend.x, test_case.inputs[0]);
}

}  // namespace
}  // namespace qconform
