#include "harness/suites/newer_opsets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "harness/model/operator.h"

namespace qconform {
namespace {

class CountedSuite final : public Suite {
 public:
  CountedSuite(std::unique_ptr<Suite> source, NewerOpsets& newer) : source_(std::move(source)), newer_(newer) {}

  [[nodiscard]] std::string name() const override { return source_->name(); }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    auto result = source_->next();
    if (result && *result) newer_.add(**result);
    return result;
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return source_->size(); }
  [[nodiscard]] const SkippedCounts& skipped() const override { return source_->skipped(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override { return source_->coverage(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override {
    return source_->coverage_of(chosen);
  }
  [[nodiscard]] std::optional<NodeCoverage> node_coverage(const std::vector<std::string>* why_not) const override {
    return source_->node_coverage(why_not);
  }

 private:
  std::unique_ptr<Suite> source_;
  NewerOpsets& newer_;
};

}  // namespace

void NewerOpsets::add(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr || test_case.node().opset_version <= kNewestOpset) return;
  ++cases_;
  opsets_.insert(test_case.node().opset_version);
  versions_[std::string(known->name)] = known->version_at(test_case.node().opset_version);
}

std::string NewerOpsets::text() const {
  if (cases_ == 0) return {};
  std::vector<std::string> versions;
  for (const auto& [name, version] : versions_) versions.push_back(fmt::format("{} {}", name, version));
  return fmt::format("{} case{} opset{} {}, newer than {}, the newest known: judged by {}", cases_,
                     cases_ == 1 ? " has" : "s have", opsets_.size() == 1 ? "" : "s", fmt::join(opsets_, ", "),
                     kNewestOpset, fmt::join(versions, ", "));
}

std::unique_ptr<Suite> counted(std::unique_ptr<Suite> source, NewerOpsets& newer) {
  return std::make_unique<CountedSuite>(std::move(source), newer);
}

}  // namespace qconform
