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

#include "harness/libraries/adapters.h"
#include "harness/libraries/onednn_convolution.h"
#include "harness/operators/operator.h"
#include "reference/conv_integer/conv_integer.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::libraries {
namespace {

using dnn::Convolution;
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
      const Tensor& x = *case_.input(0);
      if (!x.bytes.empty()) std::memcpy(packed_->x().data(), x.bytes.data(), x.bytes.size());
      packed_->run();
    } catch (const dnnl::error& error) {
      sink.refuse(refusal(case_, error.what()));
      return;
    }
    const std::span<std::byte> output = sink.allocate(y_type_, packed_->y_shape());
    if (!output.empty()) std::memcpy(output.data(), packed_->y().data(), output.size());
  }

 private:
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  ElementType y_type_;
};

class RepeatedConvolution final : public RepeatedRun {
 public:
  RepeatedConvolution(std::unique_ptr<PackedConvolution> packed, const Case& test_case, ElementType y_type)
      : packed_(std::move(packed)), case_(test_case), y_type_(y_type) {
    const Tensor& x = *case_.input(0);
    if (packed_->setting().layout == Layout::channels_last) {
      to_channels_last(x, packed_->x());
    } else if (!x.bytes.empty()) {
      std::memcpy(packed_->x().data(), x.bytes.data(), x.bytes.size());
    }
  }

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

class OneDnn final : public Backend {
 public:
  explicit OneDnn(BackendInfo info) : info_(std::move(info)), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return prepare_as<PreparedConvolution, Preparation>(test_case, {});
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    const int threads = use_threads(wanted.threads);
    return prepare_as<RepeatedConvolution, RepeatedPreparation>(test_case, {wanted.layout, threads});
  }

 private:
  template <typename Prepared, typename Either>
  Either prepare_as(const Case& test_case, const RunSetting& setting) {
    try {
      return prepare_described<Either>(test_case, [&](const auto& node) -> Either {
        const Lowering lowering = lower(test_case, node);
        if (!lowering) return outcome::Unsupported{lowering.error()};
        const Tensor& x = *test_case.input(0);
        auto packed = std::make_unique<PackedConvolution>(engine_, stream_, lowering->node, x, *lowering->w, setting);
        return std::make_unique<Prepared>(std::move(packed), test_case, lowering->node.output_type);
      });
    } catch (const dnnl::error& error) {
      return refused_as<Either>(test_case, std::string("oneDNN: ") + error.what());
    }
  }

  struct Lowered {
    Convolution node;
    const Tensor* w;
  };
  using Lowering = tl::expected<Lowered, std::string>;  // or what the interface has no form for

  static Lowering lower(const Case& test_case, const reference::QLinearConv& node) {
    auto scales = multipliers(node);
    if (!scales) return tl::unexpected<std::string>("multiplier outside float32's normal range");
    if (test_case.input(4)->is_scalar()) scales->resize(std::min<std::size_t>(scales->size(), 1));
    const ElementType y_type = test_case.input(7)->type;
    return lower({node.operands, y_type, std::move(*scales), node.y_zero_point}, *test_case.input(3));
  }
  static Lowering lower(const Case& test_case, const reference::ConvInteger& node) {
    return lower({node.operands, ElementType::int32, {}, 0}, *test_case.input(1));
  }
  static Lowering lower(const Case&, const reference::QuantizeLinear&) {
    return tl::unexpected<std::string>("its reorder multiplies by the reciprocal of a scale");
  }
  static Lowering lower(const Case&, const reference::DequantizeLinear&) {
    return tl::unexpected<std::string>("only convolutions are lowered to oneDNN");
  }
  static Lowering lower(Convolution node, const Tensor& w) {
    if (w.type != ElementType::int8) return tl::unexpected<std::string>("weights of type " + name_of(w.type));
    for (const std::int32_t zero_point : node.operands.w_zero_point) {
      if (zero_point != 0) return tl::unexpected<std::string>("weight zero points");
    }
    if (node.operands.geometry.axes.size() > 3) return tl::unexpected<std::string>("more than 3 spatial dimensions");
    return Lowered{std::move(node), &w};
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

Result<std::unique_ptr<Backend>> open(std::string_view variant, std::string name) {
  if (const auto problem = choose(variant)) return fail("--backend", name + ": " + *problem);
  try {
    return std::make_unique<OneDnn>(BackendInfo{std::move(name), version(), "library"});
  } catch (const dnnl::error& error) {
    return fail("--backend", std::string("oneDNN does not start: ") + error.what());
  }
}

}  // namespace

backend::Library onednn() {
  std::vector<std::string_view> variants;
  for (const InstructionSet& set : kInstructionSets) variants.push_back(set.name);
  return {"onednn", "convolutions with int8 weights and no weight zero point", std::move(variants),
          [] {
            return backend::LibraryState{version(), {}};
          },
          open};
}

}  // namespace qconform::libraries
