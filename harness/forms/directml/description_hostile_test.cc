// Damaged and hostile files: an error or descriptions, at bounded cost; never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/forms/directml/lower.h"
#include "harness/model/draws/rng.h"
#include "harness/model/operator.h"
#include "harness/tests/directml_descriptions.h"
#include "harness/tests/test_scale.h"

namespace qconform::directml {
namespace {

using ::testing::EndsWith;

// Every description that can be read can also be lowered to a case, and written and read again.
void expect_error_or_case(const std::string& text) {
  const Result<std::vector<Description>> read = read_descriptions_json(text, {.buffer_bytes = 1 << 20});
  if (!read) {
    EXPECT_FALSE(read.error().message.empty());
    return;
  }
  const Result<std::vector<Description>> again = read_descriptions_json(descriptions_json(*read));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *read);
  for (const Description& description : *read) {
    const Result<Case> lowered = lower(description);
    ASSERT_TRUE(lowered) << lowered.error().text();
    EXPECT_TRUE(classify(*lowered).contract.holds());
  }
}

TEST(HostileDescription, EveryTruncationIsRefused) {
  const std::string text = kValid;
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(read_descriptions_json(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(HostileDescription, ChangedBytesGiveAnErrorOrACase) {
  const std::vector<Description> all = samples();
  const std::string texts[] = {kValid, descriptions_json(all)};
  Rng rng(20261121);
  for (int round = 0; round < testing::scaled(4000); ++round) {
    std::string damaged = texts[rng.below(2)];
    const std::uint64_t changes = 1 + rng.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto length = static_cast<std::uint32_t>(damaged.size());
      // Most new bytes come from the file itself or are digits: they keep the grammar more often.
      const char bytes[] = {static_cast<char>(rng.below(256)), damaged[rng.below(length)],
                            static_cast<char>('0' + static_cast<char>(rng.below(10)))};
      damaged[rng.below(length)] = rng.pick(bytes);
    }
    expect_error_or_case(damaged);
  }
}

std::string with_input(const std::string& input) {
  std::string text = kValid;
  const std::size_t begin = text.find(R"({"DataType": "UINT8", "Sizes": [1, 2, 3, 3], "fill": 7})");
  return text.replace(begin, text.find('}', begin) + 1 - begin, input);
}

TEST(HostileDescription, LargeBuffersAreRefusedBeforeTheyAreMade) {
  // 4 GiB by strides, in a file of a kilobyte.
  const Result<std::vector<Description>> strided = read_descriptions_json(
      with_input(R"({"DataType": "UINT8", "Sizes": [1, 2, 3, 3], "Strides": [0, 4000000000, 3, 1], "fill": 7})"));
  ASSERT_FALSE(strided);
  EXPECT_EQ(strided.error().text(), "InputTensor.fill: the tensors of the file exceed the limit [rule limit]");
  // Sizes beyond what the harness takes, although the buffer is tiny.
  const Result<std::vector<Description>> broadcast = read_descriptions_json(with_input(
      R"({"DataType": "UINT8", "Sizes": [4294967295, 2, 4294967295, 3], "Strides": [0, 0, 0, 0], "fill": 7})"));
  ASSERT_FALSE(broadcast);
  EXPECT_EQ(broadcast.error().text(), "InputTensor (x): more than 1073741824 elements [rule limit]");
}

TEST(HostileDescription, TensorsShareOneBudget) {
  std::string list = R"({"format": "qconform-directml", "version": 1, "cases": [)";
  for (int i = 0; i < 10; ++i) list += std::string(i == 0 ? "" : ", ") + kValid;
  list += "]}";
  EXPECT_TRUE(read_descriptions_json(list));
  const Result<std::vector<Description>> read = read_descriptions_json(list, {.buffer_bytes = 300});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), EndsWith("the tensors of the file exceed the limit [rule limit]"));
}

TEST(HostileDescription, DepthIsBounded) {
  const Result<std::vector<Description>> read = read_descriptions_json(std::string(1000000, '['));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text(), "nested deeper than 32 levels [rule limit]");
}

TEST(HostileDescription, MissingFilesAreNamed) {
  const Result<std::vector<Description>> read = load_descriptions("/nonexistent/description.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr("/nonexistent/description.json"));
}

}  // namespace
}  // namespace qconform::directml
