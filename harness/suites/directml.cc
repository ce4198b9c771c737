#include "harness/suites/directml.h"

#include "harness/forms/directml/description_json.h"
#include "harness/forms/directml/lower.h"

namespace qconform {

Result<std::vector<Case>> DirectMlSuite::load(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto descriptions, directml::load_descriptions(path));
  std::vector<Case> cases;
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    QCONFORM_ASSIGN(auto lowered, in_context(path.string(), directml::lower(descriptions[i])));
    if (lowered.id.empty()) {
      lowered.id = path.stem().string() + (descriptions.size() == 1 ? "" : "-" + std::to_string(i));
    }
    cases.push_back(std::move(lowered));
  }
  return cases;
}

Result<std::unique_ptr<DirectMlSuite>> DirectMlSuite::open(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(auto cases, load(path));
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].provenance = {path.filename().string(), 0, i};
  return std::unique_ptr<DirectMlSuite>(new DirectMlSuite("dml:" + path.string(), std::move(cases)));
}

Result<std::optional<Case>> DirectMlSuite::next() {
  if (next_case_ == cases_.size()) return std::optional<Case>();
  return std::move(cases_[next_case_++]);
}

}  // namespace qconform
