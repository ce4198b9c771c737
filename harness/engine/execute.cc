#include "harness/engine/execute.h"

namespace qconform {

Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output) {
  if (Worker* worker = backend.worker()) return worker->examine(test_case);
  Preparation preparation = backend.prepare(test_case);
  if (auto* unsupported = std::get_if<outcome::Unsupported>(&preparation)) return std::move(*unsupported);
  if (auto* rejected = std::get_if<outcome::Rejected>(&preparation)) return std::move(*rejected);
  std::get<std::unique_ptr<PreparedCase>>(preparation)->run(output);
  return output.finish();
}

}  // namespace qconform
