#include "corpus/killers/killers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/base/set_cover.h"
#include "harness/core/profile.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"

namespace qconform::killers {
namespace {

using diagnose::MutantTable;

// Candidates for each target: among so many the greedy choice finds cases that kill many mutants.
constexpr std::size_t kCandidates = 24;
// Bytes of inputs of a case that is read and judged in microseconds. Larger ones are for what no smaller one kills.
constexpr std::uint64_t kSmall = 1024;
constexpr std::uint64_t kLarge = std::uint64_t{1} << 14;
constexpr std::uint64_t kLargeVector = std::uint64_t{1} << 18;  // of the corpus, in which such sums are of equal values
// Expense of running mutants on large cases: minutes, once.
constexpr std::uint64_t kForLargeCases = 20'000'000'000;

// Whether a right output is one that many wrong kernels give too.
bool proves_nothing(const Case& test_case) {
  Expected expected = expect(test_case, {});
  assess(test_case, expected);
  if (!expected.output) return true;
  std::vector<Tensor> outputs{*expected.output};
  outputs.insert(outputs.end(), expected.further_outputs.begin(), expected.further_outputs.end());
  return judge(expected, outcome::Produced{std::move(outputs)}).kind != VerdictKind::pass;
}

// Gathers cases that kill something.
class Candidates {
 public:
  // Cases whose inputs have so many bytes, and that kill what too few of those before did.
  Result<void> draw(std::string_view suite, const SuiteOptions& options, std::uint64_t least_bytes,
                    std::uint64_t most_bytes) {
    QCONFORM_ASSIGN(const auto sources, open_suite(suite, options));
    for (const auto& source : sources) {
      while (true) {
        QCONFORM_ASSIGN(auto next, source->next());
        if (!next) break;
        const std::uint64_t bytes = input_bytes(*next);
        if (bytes >= least_bytes && bytes <= most_bytes) add(std::move(*next));
      }
    }
    return {};
  }

  // Small cases first; others for what none of these kills.
  [[nodiscard]] std::vector<Case> choose() const {
    std::vector<CoverSet> sets;
    CoverWants wants;
    for (const KillingCase& candidate : candidates_) {
      sets.push_back({candidate.targets, static_cast<std::size_t>(input_bytes(candidate.test_case))});
      for (const std::uint32_t target : candidate.targets) wants[target] = 1;
    }
    std::vector<CoverSet> small = sets;
    for (CoverSet& set : small) {
      if (set.bytes > kSmall) set.numbers.clear();
    }
    std::vector<std::size_t> chosen = greedy_cover(small, wants);
    const std::vector<std::size_t> large = greedy_cover(sets, wants);
    chosen.insert(chosen.end(), large.begin(), large.end());
    std::vector<Case> cases;
    for (const std::size_t position : chosen) cases.push_back(labelled(candidates_[position], cases.size()));
    return cases;
  }

 private:
  struct KillingCase {
    Case test_case;
    std::vector<std::uint32_t> targets;  // numbers
  };

  void add(Case test_case) {
    if (operator_of(test_case) == nullptr || proves_nothing(test_case)) return;
    const std::string types = types_of(test_case);
    std::set<std::uint32_t> settled;
    for (const auto& [target, found] : found_) {
      if (target.types == types && found.second >= kCandidates) settled.insert(target.mutant);
    }
    // Few cases are of use. Those are to count for all that they kill, what has candidates enough included.
    if (table_.killed_by(test_case, settled).empty()) return;
    std::vector<std::uint32_t> targets;
    for (const std::uint32_t mutant : table_.killed_by(test_case, {})) {
      if (table_.mutants()[mutant].is_admitted()) continue;
      auto& [number, count] = found_.try_emplace({mutant, types}, found_.size(), 0).first->second;
      ++count;
      targets.push_back(number);
    }
    if (!targets.empty()) candidates_.push_back({std::move(test_case), std::move(targets)});
  }

  // A vector of the corpus says what it is for.
  [[nodiscard]] Case labelled(const KillingCase& candidate, std::size_t number) const {
    Case test_case = candidate.test_case;
    std::set<std::string> rules;
    std::vector<std::string> names;
    for (const auto& [target, found] : found_) {
      if (std::find(candidate.targets.begin(), candidate.targets.end(), found.first) == candidate.targets.end())
        continue;
      const diagnose::Defect& defect = *table_.mutants()[target.mutant].defect;
      names.emplace_back(defect.id);
      if (defect.rule != "formula") rules.emplace(defect.rule);  // that is no rule of a page
    }
    const Classification classification = classify(test_case);
    if (const auto* remark = classification.deciding_remark()) rules.emplace(remark->rule);
    constexpr std::size_t kNamed = 4;
    const std::size_t further = names.size() - std::min(names.size(), kNamed);
    names.resize(std::min(names.size(), kNamed));
    test_case.note =
        fmt::format("kills {}{}", fmt::join(names, ", "), further == 0 ? "" : fmt::format(" and {} more", further));
    test_case.id = fmt::format("killer-{:03}", number + 1);
    test_case.rules.assign(rules.begin(), rules.end());
    test_case.tags.clear();
    test_case.provenance = {};
    return test_case;
  }

  MutantTable table_{Policy{}, kForLargeCases};
  std::map<Target, std::pair<std::uint32_t, std::size_t>> found_;  // its number, and how many candidates it has
  std::vector<KillingCase> candidates_;
};

}  // namespace

std::string types_of(const Case& test_case) {
  const Operator& op = *operator_of(test_case);
  if (op.judges_graphs) return {};
  std::vector<std::string> types;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].role != InputRole::parameter && test_case.inputs[i])
      types.push_back(name_of(test_case.inputs[i]->type));
  }
  return fmt::format("{}", fmt::join(types, " "));
}

Result<std::vector<Case>> solve() {
  constexpr std::uint64_t kSeed = 1;
  Candidates candidates;
  for (const auto& [least, most] : {std::pair{std::uint64_t{0}, kSmall}, std::pair{kSmall + 1, kLarge}}) {
    for (const std::string_view suite : {"directed", "sweep", "sizes", "qdq"}) {
      QCONFORM_TRY(candidates.draw(suite, {.seed = kSeed, .cases = {}}, least, most));
    }
    QCONFORM_TRY(candidates.draw("graphs", {.seed = kSeed, .cases = 4000}, least, most));
    QCONFORM_TRY(candidates.draw("fuzz", {.seed = kSeed, .cases = 20'000}, least, most));
  }
  QCONFORM_TRY(candidates.draw("corpus", {.seed = kSeed, .cases = {}}, 0, kLargeVector));
  return candidates.choose();
}

Result<std::vector<std::string>> survivors(const std::filesystem::path& file) {
  QCONFORM_ASSIGN(auto sources, open_suite(file.string(), {}));
  const diagnose::AuditOptions options{.policy = {}, .until_killed = true};
  QCONFORM_ASSIGN(const auto audited, diagnose::audit("killers", sources, options));
  std::vector<std::string> names;
  for (const diagnose::Mutant& mutant : audited.mutants) {
    if (!mutant.is_admitted() && !mutant.first)
      names.push_back(fmt::format("{} in {}", mutant.defect->id, mutant.op->name));
  }
  return names;
}

}  // namespace qconform::killers
