#include "harness/backend/in_tree.h"

#include <utility>

#include "harness/core/version.h"
#include "harness/operators/operator.h"

namespace qconform::backend {
namespace {

class PreparedInTree final : public PreparedCase {
 public:
  PreparedInTree(const Case& test_case, const Lowered& lowered, std::unique_ptr<reference::PreparedNode> node)
      : x_(*test_case.input(0)), type_(lowered.output_type()), shape_(lowered.output_shape()), node_(std::move(node)) {}

  void run(OutputSink& sink) override { node_->run(x_.bytes, sink.allocate(type_, shape_)); }

 private:
  const Tensor& x_;
  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::unique_ptr<reference::PreparedNode> node_;
};

class InTree final : public Backend {
 public:
  InTree(const reference::KernelSet& kernels, RoundingProfile profile, std::string name)
      : kernels_(kernels), profile_(profile), info_{std::move(name), kVersion, "in-tree"} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Classification classification = classify(test_case);
    if (!classification.lowered || classification.value_is_open) {
      return outcome::Rejected{classification.deciding_remark()->text()};
    }
    const Lowered& lowered = *classification.lowered;
    return std::make_unique<PreparedInTree>(test_case, lowered, lowered.prepare(kernels_, profile_));
  }

 private:
  const reference::KernelSet& kernels_;
  RoundingProfile profile_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> in_tree(const reference::KernelSet& kernels, RoundingProfile profile, std::string name) {
  return std::make_unique<InTree>(kernels, profile, std::move(name));
}

}  // namespace qconform::backend
