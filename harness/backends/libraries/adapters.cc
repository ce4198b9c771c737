#include "harness/backends/libraries/adapters.h"

#include "harness/operators/operator.h"

namespace qconform::libraries {

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

Preparation refused(const Case& test_case, std::string message) {
  return refused_as<Preparation>(test_case, std::move(message));
}

Outcome refusal(const Case& test_case, std::string message) {
  return refused_as<Outcome>(test_case, std::move(message));
}

std::string one_line(std::string message) {
  constexpr std::size_t kLongest = 200;
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  while (!message.empty() && message.back() == ' ') message.pop_back();
  if (message.size() > kLongest) message = message.substr(0, kLongest - 3) + "...";
  return message;
}

}  // namespace qconform::libraries
