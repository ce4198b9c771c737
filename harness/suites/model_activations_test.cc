// Values that go into a model and come out of it, with a runtime that says what it is told to say.
#include "harness/suites/model_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/file.h"
#include "harness/suites/onnx_model.h"
#include "harness/tests/network.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::qconform::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRefusal = "no such operator";
bool refuses = false;
std::size_t bytes_taken = 0;

// Every output is a tensor of the shape [1, 2, 2, 2] with as many as its position for its elements.
Result<NamedTensors> run(const std::string& model, const std::filesystem::path&, const NamedTensors&) {
  if (refuses) return fail("test runtime", kRefusal);
  const std::vector<char> memory(bytes_taken);
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return fail("", "no model");
  NamedTensors values;
  for (const onnx::ValueInfoProto& output : proto.graph().output()) {
    const std::vector<std::uint8_t> codes(8, static_cast<std::uint8_t>(values.size()));
    values.emplace(output.name(), Tensor::of<std::uint8_t>(ElementType::uint8, {1, 2, 2, 2}, codes));
  }
  return values;
}

Network two_convolutions() {
  Network net;
  net.input("image", ElementType::float32, {-1, 2, 2, 2});
  net.node("QuantizeLinear", {"image", net.scale("is"), net.zero_point("iz")}, "a");
  net.convolution("a", "b", {2, 2, 1, 1}, 1, 1);
  net.node("Relu", {"b"}, "c");
  net.convolution("c", "d", {2, 2, 1, 1}, 1, 1);
  net.graph().add_output()->set_name("d");
  return net;
}

class Activations : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    offer_model_runtime([]() { return ModelRuntime{"test runtime 1", "", run}; });
  }
  void SetUp() override {
    refuses = false;
    bytes_taken = 0;
  }

  Result<std::unique_ptr<OnnxModelSuite>> open(Network& net, const ModelOptions& options) {
    const auto file = folder_.path() / "net.onnx";
    EXPECT_TRUE(write_file(file, net.model().SerializeAsString()).has_value());
    return OnnxModelSuite::open(file, 7, options);
  }

  // A file with a tensor of that name.
  std::filesystem::path tensor_file(const std::string& name, const Tensor& tensor) {
    onnx::TensorProto proto;
    write_tensor(tensor, name, proto);
    const auto file = folder_.path() / ("input_" + std::to_string(files_++) + ".pb");
    EXPECT_TRUE(write_file(file, proto.SerializeAsString()).has_value());
    return file;
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

Tensor floats(std::vector<std::int64_t> shape, float value) {
  const auto count = static_cast<std::size_t>(elements_of(shape));
  return Tensor::of<float>(ElementType::float32, std::move(shape), std::vector<float>(count, value));
}

TEST_F(Activations, ReachTheNodesThatTheyReachInTheModel) {
  Network net = two_convolutions();
  auto source = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_THAT((*source)->name(), HasSubstr("net.onnx, activations of test runtime 1, inputs drawn from seed 7"));
  std::vector<Case> cases;
  for (auto next = (*source)->next(); next && *next; next = (*source)->next()) cases.push_back(std::move(**next));
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].inputs[0]->shape, (std::vector<std::int64_t>{1, 2, 2, 2})) << "a batch of one";
  // Outputs of the exposing model are a, b, c and d, in this order.
  EXPECT_EQ(cases[1].inputs[0]->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 0));
  EXPECT_EQ(cases[1].recorded_output()->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 1));
  EXPECT_EQ(cases[2].inputs[0]->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 2)) << "behind what is no case";
  EXPECT_EQ(cases[2].recorded_output()->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 3));
  EXPECT_EQ(cases[2].id, "d_node#3");
  EXPECT_THAT(cases[2].note, HasSubstr("activations of test runtime 1"));
}

TEST_F(Activations, AreDrawnWhereTheModelCannotRun) {
  refuses = true;
  Network net = two_convolutions();
  const auto must = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_FALSE(must);
  EXPECT_THAT(must.error().text(), HasSubstr(kRefusal));
  const auto may = open(net, {.activations = ModelOptions::Activations::computed_if_possible});
  ASSERT_TRUE(may) << may.error().text();
  EXPECT_EQ((*may)->origin(), "activations drawn from seed 7");
  EXPECT_EQ(
      (*may)->skipped().count("a run of the model, activations are drawn instead (test runtime 1, no such operator)"),
      1U);
  const auto first = (*may)->next();
  ASSERT_TRUE(first && *first);
  EXPECT_FALSE((*first)->recorded_output());
}

TEST_F(Activations, OfAModelThatTakesTooMuchMemoryAreAnError) {
  if (!kCanLimitAddressSpace) GTEST_SKIP() << "this build's sanitizer maps terabytes";
  bytes_taken = std::size_t{1} << 30;
  Network net = two_convolutions();
  ModelOptions options{.activations = ModelOptions::Activations::computed_if_possible};
  options.memory = std::uint64_t{256} << 20;
  const auto opened = open(net, options);
  ASSERT_FALSE(opened);
  EXPECT_THAT(
      opened.error().text(),
      HasSubstr("net.onnx: test runtime 1: needs more than the limit of 256 MiB of memory; --model-memory gives "
                "it more [rule limit]"));
}

TEST_F(Activations, OfALargeModelAreComputedPartByPart) {
  Network net;
  net.input("v0", ElementType::uint8, {1, 2, 2, 2});
  constexpr int kNodes = 1500;
  for (int i = 0; i < kNodes; ++i) {
    net.node("QuantizeLinear", {"v" + std::to_string(i), net.scale("s" + std::to_string(i)), ""},
             "v" + std::to_string(i + 1));
  }
  net.graph().add_output()->set_name("v1500");
  const auto opened = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ((*opened)->size(), std::uint64_t{kNodes});
}

TEST_F(Activations, InputsOfFilesAreCheckedAgainstTheModel) {
  Network net = two_convolutions();
  const auto error = [&](const std::vector<std::filesystem::path>& files) {
    const auto inputs = read_model_inputs(net.graph(), files);
    return inputs ? "" : inputs.error().text();
  };
  EXPECT_EQ(error({tensor_file("", floats({3, 2, 2, 2}, 1))}), "") << "any batch";
  EXPECT_EQ(error({}), "--input: expected one file for each input ('image'), got 0");
  EXPECT_EQ(error({tensor_file("", floats({1, 2, 2, 3}, 1))}),
            "input 'image': expected shape [?, 2, 2, 2], got [1, 2, 2, 3]");
  EXPECT_EQ(error({tensor_file("", floats({8}, 1))}), "input 'image': expected shape [?, 2, 2, 2], got [8]");
  const Tensor codes = Tensor::of<std::uint8_t>(ElementType::uint8, {1}, std::vector<std::uint8_t>{1});
  EXPECT_EQ(error({tensor_file("", codes)}), "input 'image': expected float, got uint8");
  const auto damaged = folder_.path() / "damaged.pb";
  ASSERT_TRUE(write_file(damaged, "no tensor"));
  EXPECT_THAT(error({damaged}), HasSubstr("damaged.pb"));
}

TEST_F(Activations, InputsAreFoundByNameThenByOrder) {
  Network net;
  for (const char* name : {"first", "second", "third"}) net.input(name, ElementType::float32, {1});
  const std::vector<std::filesystem::path> files = {
      tensor_file("other", floats({1}, 5)), tensor_file("first", floats({1}, 6)), tensor_file("", floats({1}, 7))};
  const auto inputs = read_model_inputs(net.graph(), files);
  ASSERT_TRUE(inputs) << inputs.error().text();
  EXPECT_THAT(inputs->at("first").values<float>(), ElementsAre(6));
  EXPECT_THAT(inputs->at("second").values<float>(), ElementsAre(5));
  EXPECT_THAT(inputs->at("third").values<float>(), ElementsAre(7));
}

TEST_F(Activations, DrawnInputsAreThoseOfTheSeed) {
  Network net;
  net.input("image", ElementType::float32, {-1, 1000});
  const auto inputs = draw_model_inputs(net.graph(), 3);
  ASSERT_TRUE(inputs) << inputs.error().text();
  const std::vector<float> values = inputs->at("image").values<float>();
  EXPECT_EQ(values.size(), 1000U);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -2.0F);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 2.0F);
  EXPECT_EQ(draw_model_inputs(net.graph(), 3)->at("image"), inputs->at("image"));
  EXPECT_NE(draw_model_inputs(net.graph(), 4)->at("image"), inputs->at("image"));
}

TEST_F(Activations, ReportsInputsThatItCannotDraw) {
  const auto error = [](ElementType type, const std::vector<std::int64_t>& shape) {
    Network net;
    net.input("x", type, shape);
    const auto inputs = draw_model_inputs(net.graph(), 1);
    return inputs ? "" : inputs.error().text();
  };
  EXPECT_EQ(error(ElementType::float32, {1, -1}),
            "input 'x': dimension 1 of [1, ?] is unknown; give a tensor with --input");
  EXPECT_EQ(error(ElementType::float64, {1}),
            "input 'x': values of type double are not drawn; give a tensor with --input");
  EXPECT_EQ(error(ElementType::bfloat16, {1}), "");
  EXPECT_EQ(error(ElementType::string, {1}), "input 'x': expected a tensor of a known type");
}

}  // namespace
}  // namespace qconform
