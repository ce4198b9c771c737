#include <string>
#include <utility>

#include "harness/backends/kinds.h"
#include "harness/backends/plain_memory.h"
#include "harness/base/bytes.h"
#include "harness/core/backend.h"
#include "harness/core/version.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/convolution.h"

namespace qconform::backend {
namespace {

class PreparedInTree final : public PreparedCase {
 public:
  PreparedInTree(std::span<const std::byte> x, const Lowered& lowered, std::unique_ptr<reference::PreparedNode> node)
      : x_(x), type_(lowered.output_type()), shape_(lowered.output_shape()), node_(std::move(node)) {}

  void run(OutputSink& sink) override { node_->run(x_, sink.allocate(type_, shape_)); }

 private:
  std::span<const std::byte> x_;
  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::unique_ptr<reference::PreparedNode> node_;
};

// In memory of its own, aligned as a framework's. The node has the setting's layout.
class RepeatedInTree final : public RepeatedRun {
 public:
  RepeatedInTree(const Case& test_case, const Lowered& lowered, std::unique_ptr<reference::PreparedNode> node,
                 const RunSetting& setting)
      : output_{lowered.output_type(), lowered.output_shape(), {}},
        node_(std::move(node)),
        setting_(setting),
        x_(test_case.input(0)->bytes),
        y_(static_cast<std::size_t>(bytes_for(output_.type, output_.elements()))) {
    if (setting_.layout == Layout::channels_last) to_channels_last(*test_case.input(0), x_.bytes());
  }

  void run() override { node_->run_on(setting_.threads, x_.bytes(), y_.bytes()); }
  [[nodiscard]] Outcome outcome() override {
    if (setting_.layout == Layout::channels_last) {
      to_channels_first(y_.bytes(), output_);
    } else {
      output_.bytes.assign(y_.bytes().begin(), y_.bytes().end());
    }
    return outcome::Produced{output_};
  }
  [[nodiscard]] RunSetting setting() const override { return setting_; }
  [[nodiscard]] std::string implementation() const override { return std::string(node_->implementation()); }

 private:
  Tensor output_;
  std::unique_ptr<reference::PreparedNode> node_;
  RunSetting setting_;
  AlignedBytes x_;
  AlignedBytes y_;
};

// "avx2 has no kernel for DequantizeLinear: float8e4m3fn to float16 [block_size 32]"
std::string no_kernel(const char* kernels, const Case& test_case, const Lowered& lowered) {
  if (test_case.nodes.size() != 1) return std::string(kernels) + " takes no graphs";
  std::string text = std::string(kernels) + " has no kernel for " + test_case.node().op_type + ": " +
                     name_of(test_case.input(0)->type) + " to " + name_of(lowered.output_type());
  const auto block_size = test_case.node().get_or<std::int64_t>("block_size", 0);
  if (block_size != 0) text += " [block_size " + std::to_string(block_size) + "]";
  return text;
}

class InTree final : public Backend {
 public:
  InTree(const reference::KernelSet& kernels, RoundingProfile profile, std::string name)
      : kernels_(kernels), profile_(profile), info_{std::move(name), kVersion, "in-tree", true} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return prepare_classified(test_case, classify(test_case));
  }
  [[nodiscard]] Preparation prepare_classified(const Case& test_case, const Classification& classification) override {
    return prepare_on(test_case, classification, [&] { return std::span<const std::byte>(test_case.input(0)->bytes); });
  }
  // Weights are packed from the case's tensor.
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_on(test_case, classify(test_case), [&] { return inputs.bytes(0); });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    const Classification classification = classify(test_case);
    return prepare_as<RepeatedPreparation>(
        test_case, classification, [&](const Lowered& lowered) -> std::unique_ptr<RepeatedRun> {
          RunSetting setting = wanted;
          auto node = setting.layout == Layout::channels_last ? prepare_channels_last(test_case, lowered) : nullptr;
          if (!node) {
            setting.layout = Layout::channels_first;
            node = lowered.prepare(kernels_, profile_);
          }
          return node ? std::make_unique<RepeatedInTree>(test_case, lowered, std::move(node), setting) : nullptr;
        });
  }

 private:
  // x() is asked of cases that have one.
  template <typename X>
  Preparation prepare_on(const Case& test_case, const Classification& classification, X x) {
    return prepare_as<Preparation>(
        test_case, classification, [&](const Lowered& lowered) -> std::unique_ptr<PreparedCase> {
          auto node = lowered.prepare(kernels_, profile_);
          return node ? std::make_unique<PreparedInTree>(x(), lowered, std::move(node)) : nullptr;
        });
  }

  // Null where there is no such kernel.
  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare_channels_last(const Case& test_case,
                                                                               const Lowered& lowered) const {
    const reference::QLinearConv* node = qlinear_conv_of(lowered);
    if (node == nullptr || kernels_.qlinear_conv_channels_last == nullptr) return nullptr;
    return kernels_.qlinear_conv_channels_last(*node, profile_, test_case.input(3)->bytes);
  }

  // make(lowered) is null where the set has no kernel.
  template <typename Either, typename Make>
  Either prepare_as(const Case& test_case, const Classification& classification, Make make) {
    if (!classification.lowered || classification.value_is_open) {
      return outcome::Rejected{classification.deciding_remark()->text()};
    }
    auto prepared = make(*classification.lowered);
    if (!prepared) return outcome::Unsupported{no_kernel(kernels_.name, test_case, *classification.lowered)};
    return prepared;
  }

  const reference::KernelSet& kernels_;
  RoundingProfile profile_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> in_tree(const reference::KernelSet& kernels, RoundingProfile profile, std::string name) {
  return std::make_unique<InTree>(kernels, profile, std::move(name));
}

namespace {

class PreparedModel final : public PreparedCase {
 public:
  explicit PreparedModel(std::vector<Tensor> outputs) : produced_(std::move(outputs)) {}

  void run(OutputSink& sink) override { copy_outputs(produced_, sink); }

 private:
  outcome::Produced produced_;
};

// Refuses a case that no model computes: out of contract, or open, or of a family without stages.
Preparation refusal_of(const Case& test_case, const Classification& classification) {
  const reference::Remark* remark = classification.deciding_remark();
  if (remark != nullptr) return outcome::Rejected{remark->text()};
  return outcome::Unsupported{"no model of " + operator_name(test_case)};
}

class DefectBackend final : public Backend {
 public:
  DefectBackend(diagnose::DefectModel model, std::string name)
      : model_(std::move(model)), info_{std::move(name), kVersion, "defect"} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Classification classification = classify(test_case);
    const auto modelled = diagnose::ModelledCase::prepare(test_case, classification);
    if (!modelled) return refusal_of(test_case, classification);
    std::optional<std::vector<Tensor>> outputs = modelled->outputs(model_);
    if (!outputs) return outcome::Unsupported{"the model's geometry has no output for this case"};
    return std::make_unique<PreparedModel>(std::move(*outputs));
  }

 private:
  diagnose::DefectModel model_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> defect_model(diagnose::DefectModel model, std::string name) {
  return std::make_unique<DefectBackend>(std::move(model), std::move(name));
}

}  // namespace qconform::backend
