#include "harness/engine/waivers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "harness/backends/specification.h"
#include "harness/base/bytes.h"
#include "harness/engine/environment.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"

namespace qconform {
namespace {

constexpr std::string_view kUnexplainedPrefix = "unexplained:";

bool is_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// The next run of letters and digits, taken off the front of `version`.
std::string_view next_part(std::string_view& version) {
  const auto begin = std::find_if(version.begin(), version.end(), is_part);
  const auto end = std::find_if_not(begin, version.end(), is_part);
  const std::string_view part(begin, end);
  version = std::string_view(end, version.end());
  return part;
}

std::optional<std::uint64_t> number(std::string_view part) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return value;
}

bool is_pinned(const std::vector<WaivedCase>& cases, const Case& test_case, const Outcome& outcome) {
  const std::uint64_t digest = digest_of(test_case);
  const Tensor* answer = output_of(outcome);
  return std::any_of(cases.begin(), cases.end(), [&](const WaivedCase& waived) {
    if (waived.digest != digest) return false;
    return !waived.answer || (answer != nullptr && *waived.answer == digest_of(*answer));
  });
}

// The case that the backend computes instead.
Case replaced(const Case& test_case, const std::vector<Replacement>& replacements) {
  Case result = test_case;
  for (const Replacement& replacement : replacements) {
    if (replacement.input) {
      if (test_case.input(*replacement.input) == nullptr) continue;
      Tensor& tensor = *result.inputs[*replacement.input];
      if (tensor.elements() == 0) continue;
      const int bits = bits_of(tensor.type);
      const std::uint64_t value =
          replacement.filled ? static_cast<std::uint64_t>(*replacement.filled) : raw_bits_at(tensor.bytes, bits, 0);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) set_raw_bits_at(tensor.bytes, bits, i, value);
      continue;
    }
    const auto attribute = std::find_if(result.node().attributes.begin(), result.node().attributes.end(),
                                        [&](const Attribute& a) { return a.name == replacement.name; });
    if (attribute == result.node().attributes.end()) continue;
    if (replacement.text) {
      attribute->value = *replacement.text;
    } else {
      result.node().attributes.erase(attribute);
    }
  }
  return result;
}

bool has_form_of(const Tensor& got, const Lowered& right) {
  return got.type == right.output_type() && got.shape == right.output_shape();
}

// The answers that a waiver says the backend gives, for one case.
class WaiverExplanation {
 public:
  WaiverExplanation(const Waiver& waiver, const Case& test_case)
      : case_(replaced(test_case, waiver.instead)),
        modelled_(diagnose::ModelledCase::prepare(case_)),
        is_replaced_(!waiver.instead.empty()) {
    if (!modelled_) return;
    for (const diagnose::DefectModel& model : waiver.models) {
      if (auto answer = modelled_->run(model)) answers_.push_back(std::move(*answer));
    }
  }

  [[nodiscard]] bool gives(const Tensor& got, std::int64_t index, const Policy& policy) const {
    if (!modelled_) return false;
    const Lowered& right = modelled_->lowered();
    if (is_replaced_ && has_form_of(got, right) && right.examine(index, got, policy).right) return true;
    const int bits = bits_of(got.type);
    return std::any_of(answers_.begin(), answers_.end(), [&](const Tensor& answer) {
      return answer.type == got.type && answer.shape == got.shape &&
             raw_bits_at(answer.bytes, bits, index) == raw_bits_at(got.bytes, bits, index);
    });
  }

 private:
  Case case_;
  std::unique_ptr<diagnose::ModelledCase> modelled_;
  bool is_replaced_;
  std::vector<Tensor> answers_;
};

// Whether the case has every feature that the waiver asks for.
bool lies_in(const std::vector<std::string>& region, const Case& test_case, const Policy& policy) {
  if (region.empty()) return true;
  Expected expected = expect(test_case, policy);
  if (!expected.classification.lowered) return false;
  assess(test_case, expected);
  const diagnose::CaseTraits traits = diagnose::features_of(test_case, expected);
  return std::all_of(region.begin(), region.end(), [&](const std::string& text) {
    const auto condition = diagnose::Condition::parse(text);
    return condition && condition->holds(traits);
  });
}

// The defects of a model as a finding's signature names them.
std::string signature_of(const diagnose::DefectModel& model) {
  std::string ids;
  for (const diagnose::Defect* defect : model.defects()) ids += (ids.empty() ? "" : "+") + std::string(defect->id);
  return ids;
}

// Whether the report shows that the waiver speaks of all of the finding: it names it, or one of its models computes it.
bool accounts_for(const Waiver& waiver, const Finding& finding) {
  const auto& diagnosis = finding.diagnosis;
  if (!waiver.instead.empty() || (waiver.detail && *waiver.detail != finding.verdict.detail)) return false;
  const auto is_met = [&](const std::string& condition) {
    return diagnosis && std::find(diagnosis->when.begin(), diagnosis->when.end(), condition) != diagnosis->when.end();
  };
  if (!std::all_of(waiver.region.begin(), waiver.region.end(), is_met)) return false;
  if (!waiver.findings.empty()) {
    // Conditions of large outputs alone, or of some of the cases, say nothing of the others.
    const bool are_of_all =
        waiver.region.empty() || (diagnosis->when_elements == 0 && diagnosis->examined == finding.cases);
    if (!are_of_all || finding.kind == VerdictKind::inconsistent) return false;
    return std::find(waiver.findings.begin(), waiver.findings.end(), finding.signature) != waiver.findings.end();
  }
  return diagnosis && diagnosis->status == "explained" && diagnosis->examined == finding.cases &&
         std::any_of(waiver.models.begin(), waiver.models.end(),
                     [&](const diagnose::DefectModel& model) { return signature_of(model) == finding.signature; });
}

// One cause gives wrong values in one case and a wrong shape in another.
bool is_of_kind(VerdictKind kind, VerdictKind other) {
  return kind == other || (has_wrong_output(kind) && has_wrong_output(other));
}

bool is_of(const Waiver& waiver, const BackendInfo& backend) {
  const auto& names = waiver.backends;
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return (has(backend.name) || has(backend.on_command_line()) ||
          has(name_of_every_release(backend.on_command_line()))) &&
         compare_versions(waiver.first_version, backend.version) <= 0 &&
         compare_versions(backend.version, waiver.last_version) <= 0;
}

// Whether every element that is wrong (all of them, in an answer of another form) is what the waiver says.
bool is_explained(const Waiver& waiver, const Case& test_case, const Tensor& got, const Policy& policy) {
  const auto modelled = diagnose::ModelledCase::prepare(test_case);
  if (!modelled || got.elements() == 0) return false;
  const Lowered& right = modelled->lowered();
  const bool is_formed = has_form_of(got, right);
  const WaiverExplanation explanation(waiver, test_case);
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    if (is_formed && right.examine(i, got, policy).right) continue;
    if (!explanation.gives(got, i, policy)) return false;
  }
  return true;
}

}  // namespace

std::uint64_t digest_of(const Tensor& tensor) {
  Digest digest;
  digest.add(static_cast<std::int64_t>(tensor.type));
  digest.add(std::string_view(shape_text(tensor.shape)));
  digest.add(std::span<const std::byte>(tensor.bytes));
  return digest.value();
}

std::string name_of_every_release(const std::string& backend) {
  auto what = backend::parse_specification(backend);
  if (!what || what->version.empty()) return backend;
  what->version.clear();
  return backend::text_of(*what);
}

int compare_versions(std::string_view a, std::string_view b) {
  for (;;) {
    const std::string_view part_a = next_part(a);
    const std::string_view part_b = next_part(b);
    if (part_a.empty() && part_b.empty()) return 0;
    const auto number_a = number(part_a);
    const auto number_b = number(part_b);
    if (number_a && number_b) {
      if (*number_a != *number_b) return *number_a < *number_b ? -1 : 1;
    } else if (part_a != part_b) {
      return part_a < part_b ? -1 : 1;
    }
  }
}

bool Waivers::applies(const Waiver& waiver, const BackendInfo& backend) const {
  const auto& cpus = waiver.cpus;
  const bool is_here = cpus.empty() || std::find(cpus.begin(), cpus.end(), cpu_level()) != cpus.end();
  return is_here && is_of(waiver, backend) && !is_expired(waiver);
}

std::vector<const Waiver*> Waivers::speaking_of(const BackendInfo& backend, const Finding& finding) const {
  std::vector<const Waiver*> result;
  for (const Waiver& waiver : waivers_) {
    const bool is_of_verdict =
        waiver.findings.empty() ? waiver.verdict == finding.kind : is_of_kind(waiver.verdict, finding.kind);
    if (waiver.op_type != finding.op_type || !is_of_verdict || !is_of(waiver, backend)) continue;
    if (finding.waiver ? finding.waiver->id == waiver.id : accounts_for(waiver, finding)) result.push_back(&waiver);
  }
  return result;
}

std::vector<const Waiver*> Waivers::of(const BackendInfo& backend) const {
  std::vector<const Waiver*> result;
  for (const Waiver& waiver : waivers_) {
    if (applies(waiver, backend)) result.push_back(&waiver);
  }
  return result;
}

const Waiver* Waivers::covering(const BackendInfo& backend, const Case& test_case, const Outcome& outcome,
                                const Verdict& verdict, const Policy& policy) const {
  const Tensor* answer = output_of(outcome);
  for (const Waiver& waiver : waivers_) {
    if (waiver.op_type != test_case.subject() || waiver.verdict != verdict.kind || !applies(waiver, backend)) continue;
    if (waiver.detail && *waiver.detail != verdict.detail) continue;
    if (is_pinned(waiver.cases, test_case, outcome)) return &waiver;
    // A profile that pins one expression has no sets to examine elements by.
    if (!waiver.cases.empty() || !waiver.findings.empty() || answer == nullptr || !tier_of(policy.profile)) continue;
    const Policy own = policy_for(test_case, policy);
    if (is_explained(waiver, test_case, *answer, own) && lies_in(waiver.region, test_case, own)) return &waiver;
  }
  return nullptr;
}

namespace {

bool names(const Waiver& waiver, const Finding& finding) {
  const auto& all = waiver.findings;
  if (finding.kind == VerdictKind::inconsistent) return false;  // of a relation
  return waiver.op_type == finding.op_type && is_of_kind(waiver.verdict, finding.kind) &&
         (!waiver.detail || *waiver.detail == finding.verdict.detail) &&
         std::find(all.begin(), all.end(), finding.signature) != all.end();
}

// Counts cases of a finding that is waived: first those of its example's verdict. A campaign tells how many there are
// by a sample: where every finding of the kind is waived, all of its cases are.
void count_waived(const Finding& finding, bool are_all, OperatorResult& result) {
  std::uint64_t left = finding.cases;
  const auto take = [&](VerdictKind kind) {
    std::uint64_t& waived = result.waived[static_cast<std::size_t>(kind)];
    const std::uint64_t more = result.count(kind) - std::min(result.count(kind), waived);
    const std::uint64_t taken = are_all ? more : std::min(more, left);
    waived += taken;
    left -= std::min(left, taken);
  };
  take(finding.kind);
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    if (is_of_kind(static_cast<VerdictKind>(kind), finding.kind)) take(static_cast<VerdictKind>(kind));
  }
}

void count_waived(const Finding& finding, Report& report) {
  for (BackendResult& backend : report.backends) {
    const auto found = backend.operators.find(finding.op_type);
    if (backend.info.name != finding.backend || found == backend.operators.end()) continue;
    const bool are_all = std::all_of(report.findings.begin(), report.findings.end(), [&](const Finding& other) {
      return other.backend != finding.backend || other.op_type != finding.op_type ||
             !is_of_kind(other.kind, finding.kind) || other.waiver || !other.met_while_shrinking.empty();
    });
    count_waived(finding, report.campaign && are_all && found->second.undetermined == 0, found->second);
  }
}

// Tells why a waiver does not cover a finding that it names; empty where it does.
std::string obstacle(const Waiver& waiver, const Finding& finding, const CasesOutside& outside) {
  if (waiver.region.empty()) return {};
  const RegionCheck check = outside ? outside(finding, waiver.region) : RegionCheck{};
  if (check.known == 0) return fmt::format("does not cover {}: what its cases have in common is not known", finding.id);
  if (check.outside == 0) return {};
  return fmt::format("does not cover {}: {} of its cases lie outside of the waiver's region ({})", finding.id,
                     check.outside, fmt::join(waiver.region, ", "));
}

// Tells of how many cases of a waived finding it is not known whether they lie in the region.
std::string unchecked_cases(const Waiver& waiver, const Finding& finding, const CasesOutside& outside) {
  if (waiver.region.empty() || !outside) return {};
  const RegionCheck check = outside(finding, waiver.region);
  if (check.known >= finding.cases) return {};
  return fmt::format("covers {} cases of {}, of which {} were checked against its region", finding.cases, finding.id,
                     check.known);
}

// Tells of conditions under which alone a waived finding fails, and which its waiver does not demand.
std::string unsaid_conditions(const Waiver& waiver, const Finding& finding) {
  if (!finding.diagnosis || finding.diagnosis->precision < 1 || finding.diagnosis->when_elements > 0) return {};
  std::vector<std::string> unsaid;
  for (const std::string& condition : finding.diagnosis->when) {
    const auto& said = waiver.region;
    if (std::find(said.begin(), said.end(), condition) == said.end()) unsaid.push_back(condition);
  }
  if (unsaid.empty()) return {};
  return fmt::format("covers more than was seen: {} fails only when {}", finding.id, fmt::join(unsaid, ", "));
}

// Describes what the waiver did of one backend's findings.
WaiverUse use_of(const Waiver& waiver, const BackendInfo& backend, const CasesOutside& outside, const Report& report) {
  WaiverUse use{.id = waiver.id, .backend = backend.name};
  std::vector<std::string> notes;
  for (const Finding& finding : report.findings) {
    if (finding.backend != backend.name) continue;
    std::string note;
    if (finding.waiver && finding.waiver->id == waiver.id) {
      use.cases += finding.cases;
      if (!waiver.findings.empty()) note = unsaid_conditions(waiver, finding);
      if (std::string unchecked = unchecked_cases(waiver, finding, outside); !unchecked.empty())
        note += (note.empty() ? "" : "; ") + unchecked;
    } else if (!finding.waiver && names(waiver, finding)) {
      note = obstacle(waiver, finding, outside);
    }
    if (!note.empty()) notes.push_back(std::move(note));
  }
  if (notes.empty() && use.cases == 0) notes.emplace_back(kWaivesNothing);
  use.note = fmt::format("{}", fmt::join(notes, "; "));
  return use;
}

}  // namespace

void waive_findings(const Waivers& waivers, const CasesOutside& outside, Report& report) {
  report.waivers.clear();
  for (const BackendResult& backend : report.backends) {
    for (const Waiver* waiver : waivers.of(backend.info)) {
      for (Finding& finding : report.findings) {
        if (finding.waiver || finding.backend != backend.info.name || !names(*waiver, finding)) continue;
        if (!obstacle(*waiver, finding, outside).empty()) continue;
        finding.waiver = WaivedBy{waiver->id, waiver->reason, waiver->reference};
        if (finding.met_while_shrinking.empty()) count_waived(finding, report);
      }
    }
  }
  for (const BackendResult& backend : report.backends) {
    for (const Waiver* waiver : waivers.of(backend.info)) {
      const auto asked = backend.operators.find(waiver->op_type);
      if (asked == backend.operators.end() || asked->second.cases() == 0) continue;
      report.waivers.push_back(use_of(*waiver, backend.info, outside, report));
    }
  }
}

bool names_a_cause(std::string_view signature) {
  return !signature.starts_with(kUnexplainedPrefix) && !verdict_named(signature);
}

bool Waivers::may_cover(const BackendInfo& backend, const Case& test_case, const Verdict& verdict) const {
  return std::any_of(waivers_.begin(), waivers_.end(), [&](const Waiver& waiver) {
    return !waiver.findings.empty() && waiver.op_type == test_case.subject() &&
           is_of_kind(waiver.verdict, verdict.kind) && applies(waiver, backend);
  });
}

std::filesystem::path waivers_file() {
  return corpus_folder().parent_path() / "waivers" / "libraries.json";
}

}  // namespace qconform
