#include "harness/diagnose/models/modelled_case.h"

#include "harness/mutate/case_mutator.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/pipeline.h"
#include "harness/operators/linear/pipeline.h"

namespace qconform::diagnose {
namespace {

constexpr std::int64_t kDefaultAxis = 1;

// The alternatives of NodeDescription, in their order.
Op op_of(const NodeDescription& node) {
  return kAllOps[node.index()];
}

class Run {
 public:
  Run(const Case& test_case, const Lowered& lowered, const Stages& stages)
      : case_(test_case), lowered_(lowered), stages_(stages), x_(*test_case.input(0)) {}

  std::optional<Tensor> operator()(const reference::QLinearConv* node) const {
    return convolve(node->operands, node, *case_.input(3));
  }
  std::optional<Tensor> operator()(const reference::ConvInteger* node) const {
    return convolve(node->operands, nullptr, *case_.input(1));
  }
  std::optional<Tensor> operator()(const reference::QuantizeLinear* node) const {
    Tensor y = empty_output(x_.shape);
    run_quantize(stages_, *node, placement(node->layout), x_.bytes, y.bytes);
    return y;
  }
  std::optional<Tensor> operator()(const reference::DequantizeLinear* node) const {
    Tensor y = empty_output(x_.shape);
    run_dequantize(stages_, *node, placement(node->layout), x_.bytes, y.bytes);
    return y;
  }

 private:
  [[nodiscard]] std::optional<Tensor> convolve(const ConvolutionOperands& operands, const QLinearConv* quantized,
                                               const Tensor& w) const {
    const ConvolutionAttributes attributes = stated_attributes(case_);
    ConvolutionOperands changed = operands;
    if (!apply_geometry(stages_.convolution, {attributes, x_.shape}, changed.geometry)) return std::nullopt;
    Tensor y = empty_output(changed.geometry.output_shape());
    ConvolutionPipeline(stages_, changed, quantized, x_.bytes, w.bytes).run(y.bytes);
    return y;
  }

  [[nodiscard]] LinearPlacement placement(const QuantizationLayout& layout) const {
    const Attribute* axis = case_.attribute("axis");
    return {layout, x_.shape, axis == nullptr ? kDefaultAxis : std::get<std::int64_t>(axis->value)};
  }

  [[nodiscard]] Tensor empty_output(std::vector<std::int64_t> shape) const {
    Tensor y{lowered_.output_type(), std::move(shape), {}};
    y.bytes.resize(static_cast<std::size_t>(bytes_for(y.type, y.elements())));
    return y;
  }

  const Case& case_;
  const Lowered& lowered_;
  const Stages& stages_;
  const Tensor& x_;
};

// Measured: a product takes 1 to 3 ns, an element some 40, and a run some 2 us.
std::uint64_t expense_of(std::int64_t work, const Lowered& lowered) {
  constexpr std::int64_t kOfARun = 1000;
  constexpr std::int64_t kOfAnElement = 20;
  std::int64_t elements = 1;
  for (const std::int64_t dimension : lowered.output_shape()) elements *= dimension;
  return static_cast<std::uint64_t>(kOfARun + work + kOfAnElement * elements);
}

bool can_be_modelled(const Classification& classification) {
  return classification.lowered != nullptr && !classification.value_is_open;
}

}  // namespace

ModelledCase::ModelledCase(const Case& test_case, const Lowered& lowered, std::unique_ptr<Classification> owned)
    : case_(test_case),
      owned_(std::move(owned)),
      lowered_(lowered),
      node_(description_of(lowered)),
      op_(op_of(node_)),
      work_(lowered.work()),
      expense_(expense_of(work_, lowered)) {}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case) {
  auto owned = std::make_unique<Classification>(classify(test_case));
  if (!can_be_modelled(*owned)) return nullptr;
  const Lowered& lowered = *owned->lowered;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, lowered, std::move(owned)));
}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case, const Classification& classification) {
  if (!can_be_modelled(classification)) return nullptr;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, *classification.lowered, nullptr));
}

std::optional<Tensor> ModelledCase::run(const Model& model) const {
  return run(model.stages(op_));
}

std::optional<Tensor> ModelledCase::run(const Stages& stages) const {
  return std::visit(Run(case_, lowered_, stages), node_);
}

std::optional<Tensor> ModelledCase::run(const Defect& defect) const {
  Stages stages = reference_stages(reference::RoundingProfile::correctly_rounded);
  if (defect.operators.contains(op_)) defect.replace(stages);
  return run(stages);
}

}  // namespace qconform::diagnose
