#include "reference/graph/interpreter.h"

#include <utility>

#include "harness/backends/interpreted_graph.h"
#include "harness/backends/kinds.h"
#include "harness/core/version.h"

namespace qconform::backend {
namespace {

using reference::graph::Arithmetic;
using reference::graph::SumOrder;

class InterpreterBackend final : public Backend {
 public:
  InterpreterBackend(const Arithmetic& arithmetic, std::string name)
      : arithmetic_(arithmetic), info_{std::move(name), kVersion, "in-tree", true} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    auto taken = interpretable(test_case, "the interpreter");
    if (auto* refusal = std::get_if<outcome::Unsupported>(&taken)) return std::move(*refusal);
    if (auto* refusal = std::get_if<outcome::Rejected>(&taken)) return std::move(*refusal);
    return std::make_unique<InterpretedGraph>(std::move(std::get<GraphProgram>(taken)), arithmetic_,
                                              std::vector<reference::graph::StepResult>());
  }

 private:
  Arithmetic arithmetic_;
  BackendInfo info_;
};

Result<SumOrder> order_named(std::string_view name) {
  if (name == "forward") return SumOrder::forward;
  if (name == "backward") return SumOrder::backward;
  if (name == "pairwise") return SumOrder::pairwise;
  if (name == "blocked") return SumOrder::blocked;
  return fail("--backend", "order: expected forward, backward, pairwise or blocked, got " + std::string(name));
}

Result<Arithmetic> arithmetic_of(const Specification& what) {
  Arithmetic arithmetic;
  for (const auto& [key, value] : what.settings) {
    if (key == "order") {
      QCONFORM_ASSIGN(arithmetic.order, order_named(value));
      continue;
    }
    if (value != "0" && value != "1") return fail("--backend", key + ": expected 0 or 1, got " + value);
    bool& chosen = key == "fma"           ? arithmetic.fma
                   : key == "double-sums" ? arithmetic.double_sums
                                          : arithmetic.flush_subnormals;
    chosen = value == "1";
  }
  return arithmetic;
}

}  // namespace

Accepted accepted_by_interpreter() {
  return {{},
          {{"order", "forward, backward, pairwise or blocked"},
           {"fma", "0 or 1"},
           {"flush-subnormals", "0 or 1"},
           {"double-sums", "0 or 1"}}};
}

Result<std::unique_ptr<Backend>> interpreter(const Specification& what) {
  QCONFORM_TRY(check_version(what, kVersion));
  QCONFORM_TRY(check_settings(what, accepted_by_interpreter()));
  QCONFORM_ASSIGN(const auto arithmetic, arithmetic_of(what));
  return std::make_unique<InterpreterBackend>(arithmetic, text_of(what));
}

}  // namespace qconform::backend
