// `qconform model`: a network of many layers, and the one that is wrong in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>

#include "harness/base/file.h"
#include "harness/model/draws/draws.h"
#include "harness/tests/model_runtime.h"
#include "harness/tests/network.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kLayers = 50;
constexpr std::int64_t kWidth = 24;

// Fifty products of matrices, dynamically quantized: a LeakyRelu behind each, and a Softmax behind all. Layer `changed`
// has another column of weights.
Network deep_network(int changed) {
  Network net;
  net.input("x0", ElementType::float32, {2, kWidth});
  Rng rng(5);
  std::string x = "x0";
  for (int layer = 1; layer <= kLayers; ++layer) {
    const std::string id = std::to_string(layer);
    onnx::NodeProto& dynamic = net.node("DynamicQuantizeLinear", {x}, "q" + id);
    dynamic.add_output("s" + id);
    dynamic.add_output("z" + id);
    std::vector<std::int8_t> weights;
    for (std::int64_t i = 0; i < kWidth * kWidth; ++i)
      weights.push_back(static_cast<std::int8_t>(rng.between(-100, 100)));
    for (std::int64_t i = 7; layer == changed && i < kWidth * kWidth; i += kWidth)
      weights[static_cast<std::size_t>(i)] /= 2;
    net.constant("w" + id, Tensor::of<std::int8_t>(ElementType::int8, {kWidth, kWidth}, weights));
    net.node("MatMulInteger", {"q" + id, "w" + id, "z" + id}, "sum" + id);
    Network::integer(net.node("Cast", {"sum" + id}, "real" + id), "to", 1);
    net.constant("ws" + id, Tensor::scalar<float>(ElementType::float32, 1.0F / 300));
    net.node("Mul", {"s" + id, "ws" + id}, "scale" + id);
    net.node("Mul", {"real" + id, "scale" + id}, "y" + id);
    x = "x" + id;
    net.node("LeakyRelu", {"y" + id}, x);
  }
  net.node("Sigmoid", {x}, "between");
  net.node("Softmax", {"between"}, "probabilities");
  net.graph().add_output()->set_name("probabilities");
  net.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return net;
}

// Returns the layers of a report in the signs of the terminal's line.
std::string line_of(const nlohmann::json& model) {
  const std::map<std::string, char> signs{
      {"right", '.'}, {"wrong", 'W'}, {"wrong-behind", 'w'}, {"fed-wrong", ','}, {"not-judged", '?'}};
  std::string line;
  for (const auto& layer : model.at("layers")) line += signs.at(layer.at("state"));
  return line;
}

class ModelCommand : public WithModelRuntime {
 protected:
  std::string written(const std::string& name, int changed) {
    const auto file = folder_.path() / name;
    EXPECT_TRUE(write_file(file, deep_network(changed).model().SerializeAsString()));
    return file.string();
  }
  std::string out() const { return (folder_.path() / "out").string(); }

  TemporaryFolder folder_;
};

TEST_F(ModelCommand, JudgesEveryLayerOnItsOwnInputs) {
  const auto ran = qconform("model " + written("net.onnx", 0) + " --backend onnxruntime@all --out " + out());
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("no layer is wrong"), HasSubstr("judged 100 of 100 quantized nodes"),
                                HasSubstr(std::string(kLayers, '.'))));
  EXPECT_THAT(ran.output, Not(HasSubstr("changes what the runtime fuses")))
      << "what stands behind the last layer runs too";
}

TEST_F(ModelCommand, NamesTheLayerThatIsWrongAndNoOther) {
  const std::string net = written("net.onnx", 0);
  for (const int layer : {1, 2, 17, 33, 50}) {
    const auto ran = qconform("model " + net + " --run " + written("changed.onnx", layer) +
                              " --backend onnxruntime@all --no-explain --out " + out());
    EXPECT_EQ(ran.exit_code, 1) << ran.output;
    const std::string line = std::string(static_cast<std::size_t>(layer - 1), '.') + "W" +
                             std::string(static_cast<std::size_t>(kLayers - layer), ',');
    EXPECT_THAT(ran.output, HasSubstr("  " + line + "\n")) << layer;
    EXPECT_THAT(ran.output, AllOf(HasSubstr("the first wrong layer: " + std::to_string(layer) + " of 50, "),
                                  Not(HasSubstr(" wrong behind  "))))
        << layer;
    const auto report = nlohmann::json::parse(read_file(out() + "/report.json", 1 << 24).value_or("{}"));
    const auto& model = report.at("model");
    EXPECT_EQ(line_of(model), line);
    EXPECT_EQ(model.at("first_wrong"), layer - 1);
    const auto& wrong = model.at("layers").at(static_cast<std::size_t>(layer - 1));
    EXPECT_EQ(wrong.at("wrong_elements"), report.at("findings").at(0).at("wrong_elements"));
    EXPECT_EQ(wrong.at("worst"), report.at("findings").at(0).at("worst"));
    EXPECT_THAT(ran.output, HasSubstr(" of " + wrong.at("elements").dump() + " elements wrong, F1  " +
                                      wrong.at("id").get<std::string>() + "\n"));
    const auto again = report.at("findings").at(0).at("replay").get<std::string>();
    EXPECT_THAT(again, AllOf(StartsWith("qconform model "), HasSubstr(" --run "), HasSubstr("changed.onnx")));
    EXPECT_THAT(qconform("report summary " + out() + "/report.json").output, HasSubstr("  " + line + "\n"));
  }
}

TEST_F(ModelCommand, RunsEverySampleOfAFolder) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 24), }";
  header = std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(header.size()) + '\0' + header;
  for (const char* name : {"a", "b"}) {
    std::string data(2 * kWidth * sizeof(float), '\0');
    for (std::size_t i = 3; i < data.size(); i += 4)
      data[i] = static_cast<char>(0x3e + (i / 4 + static_cast<std::size_t>(name[0])) % 2);
    std::filesystem::create_directories(folder_.path() / "inputs" / name);
    ASSERT_TRUE(write_file(folder_.path() / "inputs" / name / "x0.npy", header + data));
  }
  const std::string inputs = (folder_.path() / "inputs").string();
  const auto ran = qconform("model " + written("net.onnx", 0) + " --inputs " + inputs + " --out " + out());
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("sample 1 of 2: "), HasSubstr("sample 2 of 2: "), HasSubstr("inputs given")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out" / "sample-2" / "report.json"));
}

TEST_F(ModelCommand, SaysWhatIsWrongWithItsArguments) {
  const std::string net = written("net.onnx", 0);
  const auto other = qconform("model " + net + " --backend avx2 --out " + out());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("avx2 computes no whole models; onnxruntime[:VERSION][@LEVEL] does"));
  const auto sample = qconform("model " + net + " --sample x --out " + out());
  EXPECT_EQ(sample.exit_code, 2);
  EXPECT_THAT(sample.output, HasSubstr("--sample: expected"));
  const auto dimension = qconform("model " + net + " --dim batch=0 --out " + out());
  EXPECT_EQ(dimension.exit_code, 2);
  EXPECT_THAT(dimension.output, HasSubstr("--dim: expected NAME=SIZE with a size from 1 on, got 'batch=0'"));
  const auto unknown = qconform("model " + net + " --dim batch=3 --out " + out());
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("no input has a symbolic dimension 'batch'"));
  EXPECT_EQ(qconform("model nowhere.onnx --out " + out()).exit_code, 2);
}

}  // namespace
}  // namespace qconform::testing
