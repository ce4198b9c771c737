#include "harness/engine/waivers.h"

#include <algorithm>
#include <cctype>

#include "harness/backends/specification.h"
#include "harness/base/bytes.h"
#include "harness/base/number.h"
#include "harness/engine/environment.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"

namespace qconform {
namespace {

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
    const auto number_a = number_in<std::uint64_t>(part_a);
    const auto number_b = number_in<std::uint64_t>(part_b);
    if (number_a && number_b) {
      if (*number_a != *number_b) return *number_a < *number_b ? -1 : 1;
    } else if (part_a != part_b) {
      return part_a < part_b ? -1 : 1;
    }
  }
}

bool Waivers::is_of(const Waiver& waiver, const BackendInfo& backend) {
  const auto& names = waiver.backends;
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return (has(backend.name) || has(backend.on_command_line()) ||
          has(name_of_every_release(backend.on_command_line()))) &&
         compare_versions(waiver.first_version, backend.version) <= 0 &&
         compare_versions(backend.version, waiver.last_version) <= 0;
}

bool Waivers::applies(const Waiver& waiver, const BackendInfo& backend) const {
  const auto& cpus = waiver.cpus;
  const bool is_here = cpus.empty() || std::find(cpus.begin(), cpus.end(), cpu_level()) != cpus.end();
  return is_here && is_of(waiver, backend) && !is_expired(waiver);
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

std::filesystem::path waivers_file() {
  return corpus_folder().parent_path() / "waivers" / "libraries.json";
}

}  // namespace qconform
