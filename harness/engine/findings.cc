#include "harness/engine/findings.h"

#include <algorithm>
#include <utility>

namespace qconform {
namespace {

std::size_t size_of(const Case& test_case) {
  std::size_t bytes = 0;
  for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
  return bytes;
}

// Of what a picture shows whole.
constexpr std::uint64_t kMostElements = 4096;
constexpr std::size_t kMostInputBytes = std::size_t{64} << 10;

void note_telling(const Case& test_case, const Verdict& verdict, std::optional<RepresentativeCase>& telling) {
  if (verdict.kind != VerdictKind::wrong || verdict.elements > kMostElements) return;
  if (verdict.elements < 2 || size_of(test_case) > kMostInputBytes) return;
  RepresentativeCase candidate{.right_elements = verdict.elements - verdict.wrong_elements,
                               .wrong_elements = verdict.wrong_elements};
  if (telling && !candidate.tells_more_than(*telling)) return;
  candidate.test_case = test_case;
  telling = std::move(candidate);
}

// What a finding is about: an operator; of a real model, the node, so that every layer is told by itself.
std::string subject_of(const Case& test_case) {
  const auto& tags = test_case.tags;
  const bool of_model = std::find(tags.begin(), tags.end(), "model") != tags.end();
  return of_model ? test_case.op_type + " " + test_case.id : test_case.op_type;
}

}  // namespace

std::string Findings::add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                          const std::vector<Case>& related, const Waiver* waiver, std::string signature) {
  if (signature.empty()) {
    signature = std::string(name_of(verdict.kind)) + (verdict.rule.empty() ? "" : ":" + verdict.rule);
  }
  const Key key{backend, subject_of(test_case), signature, waiver == nullptr ? "" : waiver->id};
  const auto [at, is_new] = positions_.try_emplace(key, findings_.size());
  if (is_new) {
    Finding finding;
    finding.id = "F" + std::to_string(findings_.size() + 1);
    finding.backend = backend;
    finding.op_type = test_case.op_type;
    if (waiver != nullptr) finding.waiver = WaivedBy{waiver->id, waiver->reason, waiver->reference};
    finding.signature = std::move(signature);
    findings_.push_back(std::move(finding));
  }
  Finding& finding = findings_[at->second];
  finding.cases += is_new ? 0 : 1;
  note_telling(test_case, verdict, finding.telling);
  if (!is_new && size_of(test_case) >= size_of(finding.example)) return finding.id;
  finding.kind = verdict.kind;
  finding.verdict = verdict;
  finding.example = test_case;
  finding.related = related;
  return finding.id;
}

std::vector<Finding> Findings::take() {
  positions_.clear();
  return std::exchange(findings_, {});
}

}  // namespace qconform
