#include "harness/backends/own_tensors.h"

#include <memory>
#include <utility>

namespace qconform {
namespace {

class CaseOnOwnTensors final : public PreparedCase {
 public:
  CaseOnOwnTensors(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PreparedCase> prepared)
      : inputs_(std::move(inputs)), prepared_(std::move(prepared)) {}
  void run(OutputSink& sink) override { prepared_->run(sink); }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PreparedCase> prepared_;
};

}  // namespace

Preparation prepare_on_own_tensors(Backend& backend, const Case& test_case) {
  auto inputs = std::make_unique<PlainInputs>(test_case);
  Preparation preparation = backend.prepare_at(test_case, *inputs);
  auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
  if (prepared == nullptr) return preparation;
  return std::make_unique<CaseOnOwnTensors>(std::move(inputs), std::move(*prepared));
}

}  // namespace qconform
