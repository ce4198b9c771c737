// Lowered descriptions against DirectML's definition, evaluated on the description itself.
#include "harness/forms/directml/description.h"

#include <gmock/gmock.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "harness/model/operator.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/directml_descriptions.h"
#include "harness/tests/temporary_folder.h"
#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::directml {
namespace {

namespace oracle = reference::oracle;

// One element of a buffer tensor, found by its coordinates and strides; 0 where the tensor is null.
mpq_class element(const std::optional<BufferTensor>& tensor, UINT n, UINT c, UINT h, UINT w) {
  if (!tensor) return 0;
  const std::vector<UINT>& sizes = tensor->sizes;
  const std::vector<UINT> packed{sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  const std::vector<UINT>& strides = tensor->strides ? *tensor->strides : packed;
  const std::size_t offset = std::size_t{n} * strides[0] + std::size_t{c} * strides[1] + std::size_t{h} * strides[2] +
                             std::size_t{w} * strides[3];
  const auto read = [&](auto value) {
    std::memcpy(&value, tensor->bytes.data() + offset * sizeof value, sizeof value);
    return value;
  };
  switch (tensor->data_type) {
    case DML_TENSOR_DATA_TYPE_UINT8: return read(std::uint8_t{});
    case DML_TENSOR_DATA_TYPE_INT8: return read(std::int8_t{});
    case DML_TENSOR_DATA_TYPE_INT32: return read(std::int32_t{});
    default: return oracle::exact(static_cast<double>(read(float{})));
  }
}

// DirectML's words: dequantize input and filter, convolve, add the bias, quantize. In rationals; a
// tap in the padding adds nothing, the bias counts in units of both scales, ties go to even.
class DirectmlDefinition {
 public:
  explicit DirectmlDefinition(const Description& description) : d_(description) {}

  std::int64_t output(UINT n, UINT m, UINT oh, UINT ow) const {
    const mpq_class value = (convolution(n, m, oh, ow) + dequantized_bias(m)) / parameter(TensorRole::output_scale, 0);
    const mpz_class rounded = oracle::rne(value) + mpz_class(parameter(TensorRole::output_zero_point, 0));
    const bool is_signed = at(TensorRole::output)->data_type == DML_TENSOR_DATA_TYPE_INT8;
    const mpz_class clamped = std::clamp(rounded, mpz_class(is_signed ? -128 : 0), mpz_class(is_signed ? 127 : 255));
    return clamped.get_si();
  }

 private:
  const std::optional<BufferTensor>& at(TensorRole role) const { return d_.tensors[index_of(role)]; }

  // A parameter for output channel `m`, whether it is per tensor or per channel.
  mpq_class parameter(TensorRole role, UINT m) const {
    return element(at(role), 0, at(role) && at(role)->sizes[1] > 1 ? m : 0, 0, 0);
  }

  mpq_class filter_scale(UINT m) const { return parameter(TensorRole::filter_scale, m); }

  mpq_class dequantized_bias(UINT m) const {
    return parameter(TensorRole::bias, m) * parameter(TensorRole::input_scale, 0) * filter_scale(m);
  }

  mpq_class convolution(UINT n, UINT m, UINT oh, UINT ow) const {
    const std::vector<UINT>& filter = at(TensorRole::filter)->sizes;
    const UINT first_channel = m / (filter[0] / d_.group_count) * filter[1];
    mpq_class sum = 0;
    for (UINT c = 0; c < filter[1]; ++c) {
      for (UINT kh = 0; kh < filter[2]; ++kh) {
        for (UINT kw = 0; kw < filter[3]; ++kw) {
          const mpq_class weight =
              (element(at(TensorRole::filter), m, c, kh, kw) - parameter(TensorRole::filter_zero_point, m)) *
              filter_scale(m);
          sum += weight * tap(n, first_channel + c, position(0, oh, kh), position(1, ow, kw));
        }
      }
    }
    return sum;
  }

  std::int64_t position(std::size_t axis, UINT out, UINT k) const {
    return std::int64_t{out} * d_.strides[axis] + std::int64_t{k} * d_.dilations[axis] -
           std::int64_t{d_.start_padding[axis]};
  }

  mpq_class tap(UINT n, UINT c, std::int64_t h, std::int64_t w) const {
    const std::vector<UINT>& input = at(TensorRole::input)->sizes;
    if (h < 0 || w < 0 || h >= input[2] || w >= input[3]) return 0;
    const mpq_class x = element(at(TensorRole::input), n, c, static_cast<UINT>(h), static_cast<UINT>(w));
    return (x - parameter(TensorRole::input_zero_point, 0)) * parameter(TensorRole::input_scale, 0);
  }

  const Description& d_;
};

// Adds the outputs to `seen`.
void expect_definition(const Description& description, std::set<std::int64_t>& seen) {
  const Result<Case> lowered = lower(description);
  ASSERT_TRUE(lowered) << lowered.error().text();
  const Classification classification = classify(*lowered);
  ASSERT_EQ(classification.expectation(), Expectation::valid) << classification.deciding_remark()->text();
  const Tensor y = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  const std::vector<UINT>& sizes = description.tensors[index_of(TensorRole::output)]->sizes;
  ASSERT_EQ(y.shape, std::vector<std::int64_t>(sizes.begin(), sizes.end()));
  const DirectmlDefinition definition(description);
  std::int64_t index = 0;
  for (UINT n = 0; n < sizes[0]; ++n) {
    for (UINT m = 0; m < sizes[1]; ++m) {
      for (UINT h = 0; h < sizes[2]; ++h) {
        for (UINT w = 0; w < sizes[3]; ++w, ++index) {
          seen.insert(integer_at(y, index));
          ASSERT_EQ(integer_at(y, index), definition.output(n, m, h, w))
              << description.id << " [" << n << ", " << m << ", " << h << ", " << w << "]";
        }
      }
    }
  }
}

TEST(Lower, SamplesGiveWhatTheDefinitionGives) {
  std::set<std::int64_t> seen;
  for (const Description& description : samples()) expect_definition(description, seen);
  EXPECT_GE(seen.size(), 50U);
}

Description valid() {
  return read_descriptions_json(kValid)->front();
}

TEST(Lower, NamesWhatItIs) {
  Description description = valid();
  description.id = "mine";
  const Case lowered = lower(description).value();
  EXPECT_EQ(lowered.id, "mine");
  EXPECT_EQ(lowered.node().op_type, "QLinearConv");
  EXPECT_EQ(lowered.node().opset_version, 10);
  EXPECT_THAT(lowered.tags, ::testing::ElementsAre("directml", "profile:dml-doc"));
  EXPECT_THAT(lowered.note, ::testing::HasSubstr("profile dml-doc applies"));
  EXPECT_EQ(lowered.inputs.size(), 9U);
  EXPECT_TRUE(lowered.recorded_outputs.empty());
}

TEST(Lower, PadsHaveBeginsBeforeEnds) {
  Description description = valid();
  description.start_padding = {1, 2};
  description.end_padding = {3, 4};
  description.tensors[index_of(TensorRole::output)]->sizes = {1, 4, 6, 8};
  description.tensors[index_of(TensorRole::output)]->total_size_in_bytes = 192;
  const Case lowered = lower(description).value();
  EXPECT_EQ(lowered.attribute("pads")->value, Attribute::Value(std::vector<std::int64_t>{1, 2, 3, 4}));
}

// Rule C12 leaves a mixture of shapes open; the description means one thing.
TEST(Lower, FilterParametersHaveOneShape) {
  const auto shapes = [](const Description& description) {
    const Case lowered = lower(description).value();
    EXPECT_EQ(classify(lowered).expectation(), Expectation::valid);
    return std::pair(lowered.input(4)->shape, lowered.input(5)->shape);
  };
  using Shape = std::vector<std::int64_t>;
  const std::pair<Shape, Shape> per_channel({4}, {4});
  const std::pair<Shape, Shape> per_tensor({}, {});
  Description description = valid();  // scale per channel, zero point per tensor
  EXPECT_EQ(shapes(description), per_channel);
  EXPECT_EQ(lower(description)->input(5)->values<std::int8_t>(), (std::vector<std::int8_t>{1, 1, 1, 1}));
  auto& scale = description.tensors[index_of(TensorRole::filter_scale)];
  auto& zero_point = description.tensors[index_of(TensorRole::filter_zero_point)];
  const auto one = description.tensors[index_of(TensorRole::input_scale)];
  zero_point.reset();
  EXPECT_EQ(shapes(description), per_channel);
  scale = one;
  EXPECT_EQ(shapes(description), per_tensor);
  description = valid();
  scale = one;
  zero_point->sizes = {1, 4, 1, 1};
  zero_point->bytes = std::vector<std::byte>(4, std::byte{9});
  EXPECT_EQ(shapes(description), per_channel);
  EXPECT_EQ(lower(description)->input(4)->values<float>(), (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F}));
}

TEST(Lower, NullZeroPointsAreZeroOfTheirTensorsType) {
  Description description = valid();
  for (const TensorRole role :
       {TensorRole::input_zero_point, TensorRole::filter_zero_point, TensorRole::output_zero_point, TensorRole::bias}) {
    description.tensors[index_of(role)].reset();
  }
  const Case lowered = lower(description).value();
  EXPECT_EQ(*lowered.input(2), Tensor::scalar(ElementType::uint8, std::uint8_t{0}));
  EXPECT_EQ(*lowered.input(5), Tensor::of(ElementType::int8, {4}, std::vector<std::int8_t>(4)));
  EXPECT_EQ(*lowered.input(7), Tensor::scalar(ElementType::int8, std::int8_t{0}));
  EXPECT_EQ(lowered.inputs.size(), 8U);
  std::set<std::int64_t> seen;
  expect_definition(description, seen);
}

TEST(Lower, GathersTheRecordedOutput) {
  const std::vector<Description> all = samples();
  const auto recorded =
      std::find_if(all.begin(), all.end(), [](const Description& d) { return d.id == "recorded-output"; });
  ASSERT_NE(recorded, all.end());
  const Case lowered = lower(*recorded).value();
  ASSERT_NE(lowered.recorded_output(), nullptr);
  EXPECT_EQ(lowered.recorded_output()->values<std::int8_t>(), (std::vector<std::int8_t>{-4, -8, -11}));
}

TEST(Lower, RefusesAShortBinding) {
  Description description = valid();
  description.tensors[index_of(TensorRole::bias)]->bytes.resize(15);
  EXPECT_EQ(lower(description).error().text(),
            "BiasTensor: expected at least 16 bytes for 4 elements, got 15 [rule X14]");
  description.group_count = 0;
  EXPECT_EQ(lower(description).error().rule, "C8");
}

class RandomDescription {
 public:
  explicit RandomDescription(std::uint64_t seed) : random_(seed) {}

  Description next() {
    Description d;
    const UINT channels = size(3), outputs = size(3);
    d.group_count = size(3);
    std::vector<UINT> input{size(2), channels * d.group_count}, filter{outputs * d.group_count, channels};
    std::vector<UINT> output{input[0], filter[0]};
    for (int axis = 0; axis < 2; ++axis) add_axis(d, input, filter, output);
    const DML_TENSOR_DATA_TYPE x = integer8(), w = integer8(), y = integer8();
    const auto put = [&d](TensorRole role, BufferTensor tensor) { d.tensors[index_of(role)] = std::move(tensor); };
    put(TensorRole::input, tensor(x, input));
    put(TensorRole::filter, tensor(w, filter));
    put(TensorRole::output, tensor(y, output));
    d.tensors[index_of(TensorRole::output)]->bytes.clear();
    d.tensors[index_of(TensorRole::output)]->strides.reset();
    put(TensorRole::input_scale, tensor(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}));
    put(TensorRole::filter_scale, tensor(DML_TENSOR_DATA_TYPE_FLOAT32, {1, one_or(filter[0]), 1, 1}));
    // Large enough that most outputs do not saturate.
    put(TensorRole::output_scale, tensor(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 1, 1}, 0, 9));
    if (random_.one_in(2)) put(TensorRole::input_zero_point, tensor(x, {1, 1, 1, 1}));
    if (random_.one_in(2)) put(TensorRole::filter_zero_point, tensor(w, {1, one_or(filter[0]), 1, 1}));
    if (random_.one_in(2)) put(TensorRole::output_zero_point, tensor(y, {1, 1, 1, 1}));
    if (random_.one_in(2)) put(TensorRole::bias, tensor(DML_TENSOR_DATA_TYPE_INT32, {1, filter[0], 1, 1}));
    return d;
  }

 private:
  UINT size(std::int64_t most) { return static_cast<UINT>(random_.between(1, most)); }
  UINT one_or(UINT count) { return random_.one_in(2) ? 1 : count; }
  DML_TENSOR_DATA_TYPE integer8() { return random_.one_in(2) ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8; }

  void add_axis(Description& d, std::vector<UINT>& input, std::vector<UINT>& filter, std::vector<UINT>& output) {
    const UINT kernel = size(3), dilation = size(2), stride = size(3);
    const UINT start = size(4) - 1, end = size(4) - 1;
    const UINT extent = (kernel - 1) * dilation + 1;
    const UINT in = std::max(size(5), extent > start + end ? extent - start - end : 1);
    input.push_back(in);
    filter.push_back(kernel);
    output.push_back((in + start + end - extent) / stride + 1);
    d.strides.push_back(stride);
    d.dilations.push_back(dilation);
    d.start_padding.push_back(start);
    d.end_padding.push_back(end);
  }

  // A packed, padded, transposed, broadcast or overlapping layout.
  std::optional<std::vector<UINT>> layout(const std::vector<UINT>& sizes) {
    if (random_.one_in(3)) return std::nullopt;
    std::vector<UINT> strides(4);
    if (random_.one_in(3)) {
      for (UINT& stride : strides) stride = size(4) - 1;
      return strides;
    }
    std::vector<std::size_t> order{3, 2, 1, 0};
    for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[size(static_cast<std::int64_t>(i) + 1) - 1]);
    UINT next = 1;
    for (const std::size_t dimension : order) {
      strides[dimension] = random_.one_in(5) ? 0 : next;
      next = next * sizes[dimension] + (random_.one_in(4) ? 2 : 0);
    }
    return strides;
  }

  // Floats lie in [2^lo, 2^(hi+1)).
  BufferTensor tensor(DML_TENSOR_DATA_TYPE type, const std::vector<UINT>& sizes, int lo = -5, int hi = 0) {
    BufferTensor result;
    result.data_type = type;
    result.sizes = sizes;
    result.strides = layout(sizes);
    result.total_size_in_bytes = 1 << 20;
    UINT count = 1;
    for (std::size_t i = 0; i < 4; ++i) count += (sizes[i] - 1) * (result.strides ? (*result.strides)[i] : 0);
    if (!result.strides) count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
    for (UINT i = 0; i < count; ++i) append(result, lo, hi);
    return result;
  }

  void append(BufferTensor& tensor, int lo, int hi) {
    const auto push = [&tensor](auto value) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof value);
    };
    if (tensor.data_type == DML_TENSOR_DATA_TYPE_FLOAT32) return push(random_.positive_float(lo, hi));
    if (tensor.data_type == DML_TENSOR_DATA_TYPE_INT32) {
      return push(static_cast<std::int32_t>(random_.of_any_length(16)));
    }
    push(static_cast<std::uint8_t>(random_.between(0, 255)));
  }

  oracle::Random random_;
};

TEST(Lower, RandomDescriptionsGiveWhatTheDefinitionGives) {
  RandomDescription random(20261122);
  std::set<std::int64_t> seen;
  for (int i = 0; i < testing::scaled(300); ++i) {
    const Description description = random.next();
    SCOPED_TRACE(i);
    expect_definition(description, seen);
    const std::vector<Description> one{description};
    const Result<std::vector<Description>> again = read_descriptions_json(descriptions_json(one));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->front(), description);
    if (HasFailure()) return;
  }
  EXPECT_GE(seen.size(), 40U) << "mostly saturated: the comparison proves little";
}

}  // namespace
}  // namespace qconform::directml
