#include "harness/engine/findings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

std::size_t size_of(const Case& test_case) {
  std::size_t bytes = 0;
  for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
  return bytes;
}

bool has_tag(const Case& test_case, std::string_view tag) {
  return std::find(test_case.tags.begin(), test_case.tags.end(), tag) != test_case.tags.end();
}

// Whether `other` is the better example: as its suite made it, so that its note is true of it, or smaller.
bool is_better_example(const Case& other, const Case& example) {
  const bool is_derived = has_tag(other, kAnotherXTag);
  if (is_derived != has_tag(example, kAnotherXTag)) return !is_derived;
  return size_of(other) < size_of(example);
}

// Bounds on a representative case: an element map shows an output of this size whole.
constexpr std::uint64_t kMostElements = 4096;
constexpr std::size_t kMostInputBytes = std::size_t{64} << 10;

void note_representative(const Case& test_case, const Verdict& verdict, const std::optional<DefectAnswer>& answer,
                         std::optional<RepresentativeCase>& representative) {
  if (verdict.kind != VerdictKind::wrong || verdict.elements > kMostElements) return;
  if (verdict.elements < 2 || size_of(test_case) > kMostInputBytes) return;
  RepresentativeCase candidate{.right_elements = verdict.elements - verdict.wrong_elements,
                               .wrong_elements = verdict.wrong_elements};
  if (representative && !candidate.is_clearer_than(*representative)) return;
  candidate.test_case = test_case;
  if (answer) candidate.test_case.defect = answer;
  representative = std::move(candidate);
}

// The subject of a finding: an operator; for a real model the node, so that each layer has findings of its own.
std::string subject_of(const Case& test_case) {
  return has_tag(test_case, "model") ? test_case.subject() + " " + test_case.id : test_case.subject();
}

std::string id_of(std::size_t position) {
  return "F" + std::to_string(position + 1);
}

// Conditions and a place that were learnt from some of the cases are not told of the others.
void unite(Diagnosis& diagnosis, const Diagnosis& later) {
  diagnosis.examined += later.examined;
  if (diagnosis.where != later.where) diagnosis.where = "no place that is known";
  if (diagnosis.when == later.when) return;
  diagnosis.when.clear();
  diagnosis.failing = diagnosis.passing = diagnosis.passing_inside = 0;
}

// Keeps the earlier finding, with the smaller case of the two.
void unite(Finding& finding, Finding later) {
  const bool is_of_suite = later.met_while_shrinking.empty();
  if (is_of_suite) finding.cases += later.cases;
  if (later.first_case)
    finding.first_case = std::min(finding.first_case.value_or(*later.first_case), *later.first_case);
  if (is_of_suite && finding.diagnosis && later.diagnosis) unite(*finding.diagnosis, *later.diagnosis);
  if (later.representative &&
      (!finding.representative || later.representative->is_clearer_than(*finding.representative))) {
    finding.representative = std::move(later.representative);
  }
  if (!is_better_example(later.example, finding.example)) return;
  finding.kind = later.kind;
  finding.verdict = std::move(later.verdict);
  finding.example = std::move(later.example);
  finding.related = std::move(later.related);
  finding.shrinking = std::move(later.shrinking);
}

bool has_defects(const Finding& finding) {
  return finding.diagnosis && !finding.diagnosis->defects.empty();
}

bool are_one(const Finding& a, const Finding& b) {
  const bool may_be = a.backend == b.backend && a.op_type == b.op_type && a.kind == b.kind && !a.waiver && !b.waiver;
  if (!may_be || has_tag(a.example, "model") || has_tag(b.example, "model")) return false;
  if (a.signature == b.signature) return true;
  return !has_defects(a) && !has_defects(b) && digest_of(a.example) == digest_of(b.example);
}

}  // namespace

std::string signature_of(const Verdict& verdict) {
  std::string signature(name_of(verdict.kind));
  for (const std::string& part : {verdict.rule, verdict.place}) signature += part.empty() ? "" : ":" + part;
  return signature;
}

std::string Findings::add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                          const std::vector<Case>& related, const Waiver* waiver, std::string signature,
                          const std::optional<DefectAnswer>& answer) {
  if (signature.empty()) signature = signature_of(verdict);
  const std::size_t position =
      position_of({backend, subject_of(test_case), signature, waiver == nullptr ? "" : waiver->id});
  const bool is_new = position == findings_.size();
  if (is_new) {
    Finding finding;
    finding.id = id_of(position);
    finding.backend = backend;
    finding.op_type = test_case.subject();
    if (waiver != nullptr) finding.waiver = WaivedBy{waiver->id, waiver->reason, waiver->reference};
    finding.signature = std::move(signature);
    findings_.push_back(std::move(finding));
  }
  Finding& finding = findings_[position];
  finding.cases += is_new ? 0 : 1;
  note_representative(test_case, verdict, answer, finding.representative);
  if (!is_new && !is_better_example(test_case, finding.example)) return finding.id;
  finding.kind = verdict.kind;
  finding.verdict = verdict;
  finding.example = test_case;
  if (answer) finding.example.defect = answer;
  finding.related = related;
  return finding.id;
}

std::map<std::string, std::string> Findings::settle(const std::function<std::string(const Finding&)>& signature_of) {
  std::vector<const Key*> keys(findings_.size());
  const std::map<Key, std::size_t> before = std::exchange(positions_, {});
  for (const auto& [key, position] : before) keys[position] = &key;
  std::map<std::string, std::string> ids;
  std::vector<Finding> settled;
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    Finding& finding = findings_[i];
    Key key = *keys[i];
    if (!finding.waiver) key.signature = finding.signature = signature_of(finding);
    if (key.signature == kUndetermined) {
      ids[finding.id] = "";
      continue;
    }
    const std::size_t position = position_of(key);
    ids[finding.id] = id_of(position);
    if (position == settled.size()) {
      finding.id = id_of(position);
      settled.push_back(std::move(finding));
    } else {
      unite(settled[position], std::move(finding));
    }
  }
  findings_ = std::move(settled);
  return ids;
}

std::vector<Finding> Findings::take() {
  positions_.clear();
  return std::exchange(findings_, {});
}

void join_findings(Report& report) {
  std::map<std::string, std::string> ids;
  std::vector<Finding> joined;
  for (Finding& finding : report.findings) {
    const auto at =
        std::find_if(joined.begin(), joined.end(), [&](const Finding& other) { return are_one(other, finding); });
    ids[finding.id] = id_of(static_cast<std::size_t>(at - joined.begin()));
    if (at != joined.end()) {
      unite(*at, std::move(finding));
      continue;
    }
    finding.id = ids[finding.id];
    joined.push_back(std::move(finding));
  }
  report.findings = std::move(joined);
  for (Finding& finding : report.findings) {
    const auto id = ids.find(finding.met_while_shrinking);
    if (id != ids.end()) finding.met_while_shrinking = id->second;
  }
  if (!report.results) return;
  for (CaseResult& row : report.results->rows) {
    for (CaseResult::OfBackend& of : row.backends) {
      const auto id = ids.find(of.finding);
      if (id != ids.end()) of.finding = id->second;
    }
  }
}

void count_undetermined(Report& report) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
  for (const Finding& finding : report.findings) {
    if (finding.met_while_shrinking.empty()) counted[{finding.backend, finding.op_type}] += finding.cases;
  }
  for (BackendResult& backend : report.backends) {
    for (auto& [op_type, result] : backend.operators) {
      result.undetermined = result.failing() - std::min(result.failing(), counted[{backend.info.name, op_type}]);
    }
  }
}

}  // namespace qconform
