// oneDNN's convolution primitive, with the instruction set chosen.
#include <dlfcn.h>

#include <dnnl.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/onednn_convolution.h"
#include "harness/operators/operator.h"
#include "reference/conv_integer/conv_integer.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::libraries {
namespace {

using dnn::Convolution;
using dnn::Data;
using dnn::PackedConvolution;

struct InstructionSet {
  std::string_view name;
  dnnl::cpu_isa isa;
};
constexpr std::array kInstructionSets{
    InstructionSet{"avx2", dnnl::cpu_isa::avx2},
    InstructionSet{"avx2_vnni", dnnl::cpu_isa::avx2_vnni},
    InstructionSet{"avx512_core", dnnl::cpu_isa::avx512_core},
    InstructionSet{"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
    InstructionSet{"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx},
};

// Of the OpenMP runtime that the library brings along. That has read its environment when the program was
// loaded: OMP_NUM_THREADS would come too late. Holds for what is prepared and run from now on; returns the
// number, or 1 where the runtime is another one.
int use_threads(int count) {
  // POSIX: a function's address comes as an object's.
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set == nullptr) return 1;
  set(count);
  return count;
}

class PreparedConvolution final : public PreparedCase {
 public:
  PreparedConvolution(std::unique_ptr<PackedConvolution> packed, const Case& test_case, ElementType y_type)
      : packed_(std::move(packed)), case_(test_case), y_type_(y_type) {}

  void run(OutputSink& sink) override {
    try {
      packed_->write_to(sink.allocate(y_type_, packed_->y_shape()));
      packed_->run();
    } catch (const dnnl::error& error) {
      sink.refuse(refusal(case_, error.what()));
    }
  }

 private:
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  ElementType y_type_;
};

class RepeatedConvolution final : public RepeatedRun {
 public:
  RepeatedConvolution(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PackedConvolution> packed,
                      const Case& test_case, ElementType y_type)
      : inputs_(std::move(inputs)), packed_(std::move(packed)), case_(test_case), y_type_(y_type) {}

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
    Tensor output{y_type_, packed_->y_shape(), {}};
    if (packed_->setting().layout == Layout::channels_last) {
      to_channels_first(y, output);
    } else {
      output.bytes.assign(y.begin(), y.end());
    }
    return outcome::Produced{std::move(output)};
  }
  [[nodiscard]] RunSetting setting() const override { return packed_->setting(); }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  ElementType y_type_;
  std::optional<Outcome> refusal_;
};

// oneDNN takes one multiplier for each channel: the exact product and quotient, rounded to double and
// then to float. nullopt where that leaves float32's normal range.
std::optional<std::vector<float>> multipliers(const reference::QLinearConv& node) {
  std::vector<float> result;
  for (const float w_scale : node.w_scale) {
    const auto value = static_cast<float>(static_cast<double>(node.x_scale) * w_scale / node.y_scale);
    if (!std::isnormal(value)) return std::nullopt;
    result.push_back(value);
  }
  return result;
}

std::span<std::byte> x_of(const Case& test_case, Layout layout, InputMemory& inputs) {
  if (layout == Layout::channels_first) return inputs.bytes(0);
  const Tensor& x = *test_case.input(0);
  return inputs.converted(0, x.bytes.size(), 0, [&](std::span<std::byte> memory) { to_channels_last(x, memory); });
}

class OneDnn final : public Backend {
 public:
  explicit OneDnn(BackendInfo info) : info_(std::move(info)), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_as<Preparation>(test_case, inputs, {}, [&](auto packed, ElementType y_type) {
      return std::make_unique<PreparedConvolution>(std::move(packed), test_case, y_type);
    });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    const int threads = use_threads(wanted.threads);
    auto inputs = std::make_unique<PlainInputs>(test_case);
    const RunSetting granted{wanted.layout, threads};
    return prepare_as<RepeatedPreparation>(test_case, *inputs, granted, [&](auto packed, ElementType y_type) {
      return std::make_unique<RepeatedConvolution>(std::move(inputs), std::move(packed), test_case, y_type);
    });
  }

 private:
  template <typename Either, typename Make>
  Either prepare_as(const Case& test_case, InputMemory& inputs, const RunSetting& setting, Make make) {
    try {
      return prepare_described<Either>(test_case, [&](const auto& node) -> Either {
        const Lowering lowering = lower(test_case, node);
        if (!lowering) return outcome::Unsupported{lowering.error()};
        const Data data = data_of(test_case, *lowering, setting.layout, inputs);
        auto packed = std::make_unique<PackedConvolution>(engine_, stream_, lowering->node, test_case.input(0)->type,
                                                          data, setting);
        return make(std::move(packed), lowering->node.output_type);
      });
    } catch (const dnnl::error& error) {
      return refused_as<Either>(test_case, std::string("oneDNN: ") + error.what());
    }
  }

  struct Lowered {
    Convolution node;
    std::size_t w;  // the position
  };
  using Lowering = tl::expected<Lowered, std::string>;  // or what the interface has no form for

  static Data data_of(const Case& test_case, const Lowered& lowered, Layout layout, InputMemory& inputs) {
    constexpr std::size_t kBias = 8;
    Data data{x_of(test_case, layout, inputs), inputs.bytes(lowered.w), {}};
    if (!lowered.node.operands.bias.empty()) data.bias = inputs.bytes(kBias);
    return data;
  }

  static Lowering lower(const Case& test_case, const reference::QLinearConv& node) {
    auto scales = multipliers(node);
    if (!scales) return tl::unexpected<std::string>("multiplier outside float32's normal range");
    if (test_case.input(4)->is_scalar()) scales->resize(std::min<std::size_t>(scales->size(), 1));
    const ElementType y_type = test_case.input(7)->type;
    return lower({node.operands, y_type, std::move(*scales), node.y_zero_point}, test_case, 3);
  }
  static Lowering lower(const Case& test_case, const reference::ConvInteger& node) {
    return lower({node.operands, ElementType::int32, {}, 0}, test_case, 1);
  }
  static Lowering lower(const Case&, const reference::QuantizeLinear&) {
    return tl::unexpected<std::string>("its reorder multiplies by the reciprocal of a scale");
  }
  static Lowering lower(const Case&, const reference::DequantizeLinear&) {
    return tl::unexpected<std::string>("only convolutions are lowered to oneDNN");
  }
  static Lowering lower(Convolution node, const Case& test_case, std::size_t w) {
    const ElementType w_type = test_case.input(w)->type;
    if (w_type != ElementType::int8) return tl::unexpected<std::string>("weights of type " + name_of(w_type));
    for (const std::int32_t zero_point : node.operands.w_zero_point) {
      if (zero_point != 0) return tl::unexpected<std::string>("weight zero points");
    }
    if (node.operands.geometry.axes.size() > 3) return tl::unexpected<std::string>("more than 3 spatial dimensions");
    return Lowered{std::move(node), w};
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
  for (const InstructionSet& set : kInstructionSets) {
    if (set.name != variant) continue;
    if (dnnl::set_max_cpu_isa(set.isa) != dnnl::status::success) return "the library is in use already";
    if (dnnl::get_effective_cpu_isa() != set.isa) return std::string(variant) + " is not in this CPU";
  }
  chosen = variant;
  return std::nullopt;
}

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  if (const auto problem = choose(what.word)) return fail("--backend", backend::text_of(what) + ": " + *problem);
  try {
    return std::make_unique<OneDnn>(BackendInfo{backend::text_of(what), version(), "library"});
  } catch (const dnnl::error& error) {
    return fail("--backend", std::string("oneDNN does not start: ") + error.what());
  }
}

}  // namespace

backend::Library onednn() {
  backend::Accepted accepted;
  for (const InstructionSet& set : kInstructionSets) accepted.words.push_back(set.name);
  return {"onednn", "convolutions with int8 weights and no weight zero point", std::move(accepted),
          [] {
            return backend::LibraryState{version(), {}};
          },
          open};
}

}  // namespace qconform::libraries
