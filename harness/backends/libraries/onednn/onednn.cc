// oneDNN: its convolution for QLinearConv and ConvInteger, its reorder for the linear operators, with the instruction
// set chosen.
#include <dlfcn.h>

#include <fmt/format.h>
#include <dnnl.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/onednn/onednn.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/convolution/convolution.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform::libraries {
namespace {

using dnn::InstructionSet;
using dnn::PackedConvolution;
using dnn::PackedReorder;
using dnn::PlacedConvolution;
using dnn::ReorderProblem;

// Sets the number of threads of the OpenMP runtime that the library brings along. That runtime read its environment
// when the program was loaded: OMP_NUM_THREADS would come too late. The number holds for everything prepared and run
// from now on. Returns the number, or 1 where the runtime is another one.
int use_threads(int count) {
  // POSIX: a function's address comes as an object's.
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set == nullptr) return 1;
  set(count);
  return count;
}

// `Packed` is a primitive with all but the place of its output.
template <typename Packed>
class PreparedPrimitive final : public PreparedCase {
 public:
  PreparedPrimitive(std::unique_ptr<Packed> packed, const Case& test_case)
      : packed_(std::move(packed)), case_(test_case) {}

  void run(OutputSink& sink) override {
    try {
      packed_->write_to(sink.allocate(packed_->y_type(), packed_->y_shape()));
      packed_->run();
    } catch (const dnnl::error& error) {
      sink.refuse(refusal(case_, error.what()));
    }
  }

 private:
  std::unique_ptr<Packed> packed_;
  const Case& case_;
};

class RepeatedPrimitive final : public RepeatedRun {
 public:
  RepeatedPrimitive(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PackedConvolution> packed,
                    const Case& test_case)
      : inputs_(std::move(inputs)), packed_(std::move(packed)), case_(test_case) {}

  void run() override {
    try {
      packed_->run();
    } catch (const dnnl::error& error) {
      refusal_ = refusal(case_, error.what());
    }
  }
  [[nodiscard]] Outcome outcome() override {
    if (refusal_) return *refusal_;
    const std::span<const std::byte> y = packed_->y();
    Tensor output{packed_->y_type(), packed_->y_shape(), {}};
    if (packed_->setting().layout == Layout::channels_last) {
      to_channels_first(y, output);
    } else {
      output.bytes.assign(y.begin(), y.end());
    }
    return outcome::Produced{std::move(output)};
  }
  [[nodiscard]] RunSetting setting() const override { return packed_->setting(); }
  [[nodiscard]] std::string implementation() const override { return packed_->implementation(); }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  std::optional<Outcome> refusal_;
};

std::span<std::byte> x_of(const Case& test_case, Layout layout, InputMemory& inputs) {
  if (layout == Layout::channels_first) return inputs.bytes(0);
  return inputs.converted(0, test_case.input(0)->bytes.size(), 0, to_channels_last);
}

// Whether the node asks for another precision than the library's (rule Q8).
bool divides_otherwise(const reference::QuantizeLinear& node) {
  return node.precision != ElementType::undefined && node.precision != ElementType::float32;
}
bool divides_otherwise(const reference::DequantizeLinear& /*node*/) {
  return false;
}

// Converts a linear operator to the library's terms: parameters one for each channel, whatever their type.
ReorderProblem linear_of(const Case& test_case, const reference::QuantizeLinear& node) {
  return {node.layout,      test_case.input(0)->type, node.y_type, true, {node.y_scale.begin(), node.y_scale.end()},
          node.y_zero_point};
}
ReorderProblem linear_of(const Case& test_case, const reference::DequantizeLinear& node) {
  return {node.layout,
          test_case.input(0)->type,
          node.y_type,
          false,
          {node.x_scale.begin(), node.x_scale.end()},
          {node.x_zero_point.begin(), node.x_zero_point.end()}};
}

PlacedConvolution convolution_of(const reference::QLinearConv& node, InputMemory& inputs) {
  const auto floats = [&](std::size_t position) {
    const std::span<std::byte> bytes = inputs.bytes(position);
    return std::span<float>(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
  };
  constexpr std::size_t kBias = 8;
  const bool has_bias = !node.operands.bias.empty();
  return {node.operands, &node,     floats(1),
          floats(4),     floats(6), has_bias ? inputs.bytes(kBias) : std::span<std::byte>{}};
}
PlacedConvolution convolution_of(const reference::ConvInteger& node, InputMemory& /*inputs*/) {
  return {.operands = node.operands};
}

template <typename Node>
constexpr bool kIsConvolution =
    std::is_same_v<Node, reference::QLinearConv> || std::is_same_v<Node, reference::ConvInteger>;

class OneDnn final : public Backend {
 public:
  explicit OneDnn(BackendInfo info) : info_(std::move(info)), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return caught<Preparation>(test_case, [&](const auto& node) -> Preparation {
      if constexpr (kIsConvolution<std::decay_t<decltype(node)>>) {
        return pack_convolution<Preparation>(test_case, node, inputs, {}, [&](auto packed) {
          return std::make_unique<PreparedPrimitive<PackedConvolution>>(std::move(packed), test_case);
        });
      } else {
        return pack_reorder(test_case, node, inputs);
      }
    });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    auto inputs = std::make_unique<PlainInputs>(test_case);
    const RunSetting granted{wanted.layout, use_threads(wanted.threads)};
    return caught<RepeatedPreparation>(test_case, [&](const auto& node) -> RepeatedPreparation {
      if constexpr (kIsConvolution<std::decay_t<decltype(node)>>) {
        return pack_convolution<RepeatedPreparation>(test_case, node, *inputs, granted, [&](auto packed) {
          return std::make_unique<RepeatedPrimitive>(std::move(inputs), std::move(packed), test_case);
        });
      } else {
        return outcome::Unsupported{"only convolutions of oneDNN are run repeatedly"};
      }
    });
  }

 private:
  template <typename Either, typename Prepare>
  static Either caught(const Case& test_case, Prepare prepare) {
    try {
      return prepare_described<Either>(test_case, prepare);
    } catch (const dnnl::error& error) {
      return refused_as<Either>(test_case, std::string("oneDNN: ") + error.what());
    }
  }

  template <typename Either, typename Node, typename Make>
  Either pack_convolution(const Case& test_case, const Node& node, InputMemory& inputs, const RunSetting& setting,
                          Make make) {
    if (node.operands.geometry.axes.size() > 3) return outcome::Unsupported{"more than 3 spatial dimensions"};
    const PlacedConvolution convolution = convolution_of(node, inputs);
    auto quantization = quantization_of(convolution, engine_);
    if (!quantization) return outcome::Unsupported{quantization.error()};
    constexpr std::size_t kWeights = std::is_same_v<Node, reference::QLinearConv> ? 3 : 1;
    return make(std::make_unique<PackedConvolution>(
        engine_, stream_, convolution, std::move(*quantization),
        dnn::Data{x_of(test_case, setting.layout, inputs), inputs.bytes(kWeights)}, setting));
  }

  template <typename Node>
  Preparation pack_reorder(const Case& test_case, const Node& node, InputMemory& inputs) {
    if (node.scale_type != ElementType::float32) return outcome::Unsupported{"its scales are float32"};
    if (divides_otherwise(node)) return outcome::Unsupported{"it divides in float32"};
    const ReorderProblem linear = linear_of(test_case, node);
    auto quantization = quantization_of(linear, engine_);
    if (!quantization) return outcome::Unsupported{quantization.error()};
    return std::make_unique<PreparedPrimitive<PackedReorder>>(
        std::make_unique<PackedReorder>(engine_, stream_, linear, std::move(*quantization), inputs.bytes(0),
                                        test_case.input(0)->shape),
        test_case);
  }

  BackendInfo info_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

// The library fixes the instruction set at its first use, for the life of the process.
std::optional<std::string> choose(std::string_view variant) {
  static std::optional<std::string> chosen;
  if (chosen && *chosen != variant) return "one instruction set of oneDNN per process, and it has one already";
  if (chosen) return std::nullopt;
  (void)use_threads(1);
  for (const InstructionSet& set : dnn::instruction_sets()) {
    if (set.name != variant) continue;
    if (dnnl::set_max_cpu_isa(set.isa) != dnnl::status::success) return "the library is in use already";
    if (dnnl::get_effective_cpu_isa() != set.isa) return std::string(variant) + " is not in this CPU";
  }
  chosen = variant;
  return std::nullopt;
}

// The word `graph` and the key: graphs of several nodes, in place of the primitives.
constexpr std::string_view kGraph = "graph";
constexpr std::string_view kFusion = "fusion";
constexpr std::string_view kDebug = "debug";

// How the graph interface cuts graphs; empty where it is not asked for.
Result<std::string_view> policy_of(const backend::Specification& what) {
  if (what.settings.empty()) return what.word == kGraph ? kFusion : std::string_view();
  const std::string& value = what.settings.front().value;
  for (const std::string_view policy : {kFusion, kDebug}) {
    if (value == policy) return policy;
  }
  return fail("--backend", fmt::format("\"{}\": no policy \"{}\" of graphs; expected {} or {}", backend::text_of(what),
                                       value, kFusion, kDebug));
}

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  QCONFORM_ASSIGN(const std::string_view policy, policy_of(what));
  const std::string_view set = what.word == kGraph ? std::string_view() : what.word;
  if (const auto problem = choose(set)) return fail("--backend", backend::text_of(what) + ": " + *problem);
  BackendInfo info{backend::text_of(what), version(), "library"};
  info.pinned = {"threads=1", "precision=float32"};
  // The environment variable ONEDNN_DEFAULT_FPMATH_MODE would choose another.
  dnnl::set_default_fpmath_mode(dnnl::fpmath_mode::strict);
  try {
    if (!policy.empty()) return dnn::graph_backend(std::move(info), policy == kFusion);
    return std::make_unique<OneDnn>(std::move(info));
  } catch (const dnnl::error& error) {
    return fail("--backend", std::string("oneDNN does not start: ") + error.what());
  }
}

}  // namespace

backend::Library onednn() {
  backend::Accepted accepted;
  for (const InstructionSet& set : dnn::instruction_sets()) accepted.words.push_back(set.name);
  if (dnn::kHasGraphs) {
    accepted.words.push_back(kGraph);
    accepted.keys = {{kGraph, "fusion or debug"}};
  }
  return {"onednn",
          "convolutions, and linear operators by its reorder; version 3 also graphs",
          std::move(accepted),
          [] {
            return backend::LibraryState{version(), {}};
          },
          open,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          {},
          {kGraph},
          {{kGraph, kDebug}}};
}

}  // namespace qconform::libraries
