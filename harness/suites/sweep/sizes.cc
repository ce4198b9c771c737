#include "harness/suites/sweep/sizes.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "harness/model/draws/rng.h"
#include "harness/model/sweep/constraint_solver.h"
#include "harness/suites/sweep/suite.h"

namespace qconform::sweep {
namespace {

// Rows tried for a case of a size.
constexpr std::uint64_t kRows = 24;

class SizesSuite final : public Suite {
 public:
  SizesSuite(std::string name, const std::vector<Contract>& contracts, std::uint64_t seed)
      : name_(std::move(name)),
        prefix_(contracts.empty() ? "sizes" : "sizes-within-" + digest_of(contracts)),
        seed_(seed) {
    for (std::size_t i = 0; i < plans().size(); ++i) {
      const SweptModel& swept = plans()[i].swept;
      const Contract contract = contracts.empty() ? whole_contract(swept.model()) : contracts[i];
      if (swept.sized.sizes > 0 && contract.takes_anything())
        parts_.push_back({&swept, restricted(swept.model(), contract)});
    }
  }

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Result<std::optional<Case>> next() override {
    for (; part_ < parts_.size(); ++part_, size_ = 0) {
      for (; size_ < parts_[part_].swept->sized.sizes; ++size_, context_ = 0) {
        while (context_ < kCasesOfSize) {
          if (auto test_case = draw(parts_[part_])) return test_case;
        }
      }
    }
    return std::nullopt;
  }

 private:
  struct Part {
    const SweptModel* swept;
    Model inside;
    std::optional<ConstraintSolver> solver = std::nullopt;
  };

  std::optional<Case> draw(Part& part) {
    const std::uint64_t context = context_++;
    if (!part.solver) part.solver.emplace(part.inside);
    const SizedModel& sized = part.swept->sized;
    const auto takes = [&](const Row& row) { return part.inside.allows(row); };
    for (std::uint64_t i = 0; i < kRows; ++i) {
      Rng rng(seed_, (size_ * kCasesOfSize + context) * kRows + i);
      const auto row = part.solver->draw(begun(part, context), rng);
      if (!row) continue;
      auto test_case = sized.realise(*row, size_, seed_, (size_ * kCasesOfSize + context) * kRows + i, takes);
      if (!test_case) continue;
      test_case->id =
          fmt::format("{}-{}-{}-{}-{}", prefix_, test_case->node().op_type, sized.name(size_), seed_, context);
      test_case->expectation = Expectation::valid;
      test_case->provenance = {name_, seed_, size_ * kCasesOfSize + context};
      test_case->tags = {"size=" + sized.name(size_)};
      return test_case;
    }
    return std::nullopt;
  }

  // The first context is as plain as it can be but for the parameters by which backends choose; the others are not.
  [[nodiscard]] static PartialRow begun(const Part& part, std::uint64_t context) {
    PartialRow partial = part.solver->start();
    for (std::size_t p = 0; p < part.inside.parameters.size(); ++p) {
      const Parameter& parameter = part.inside.parameters[p];
      const bool stays_plain =
          parameter.role == ParameterRole::extent || (context == 0 && parameter.role == ParameterRole::geometry);
      if (!stays_plain) continue;
      PartialRow deeper = partial;
      if (part.solver->decide(deeper, p, parameter.plain)) partial = std::move(deeper);
    }
    return partial;
  }

  std::string name_;
  std::string prefix_;  ///< prefix of its cases' names
  std::uint64_t seed_;
  std::vector<Part> parts_;
  std::size_t part_ = 0;
  std::size_t size_ = 0;
  std::uint64_t context_ = 0;
};

}  // namespace

std::unique_ptr<Suite> sizes_suite(std::string name, const std::vector<Contract>& contracts, std::uint64_t seed) {
  return std::make_unique<SizesSuite>(std::move(name), contracts, seed);
}

}  // namespace qconform::sweep
