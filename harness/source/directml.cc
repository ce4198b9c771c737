#include "harness/source/directml.h"

#include "harness/directml/description_json.h"
#include "harness/directml/lower.h"

namespace qconform {

Result<std::vector<Case>> DirectMlSource::load(const std::filesystem::path& path) {
  const Result<std::vector<directml::Description>> descriptions = directml::load_descriptions(path);
  if (!descriptions) return tl::unexpected<Error>(descriptions.error());
  std::vector<Case> cases;
  for (std::size_t i = 0; i < descriptions->size(); ++i) {
    Result<Case> lowered = directml::lower((*descriptions)[i]);
    if (!lowered) return tl::unexpected<Error>(lowered.error().in(path.string()));
    if (lowered->id.empty()) {
      lowered->id = path.stem().string() + (descriptions->size() == 1 ? "" : "-" + std::to_string(i));
    }
    cases.push_back(std::move(*lowered));
  }
  return cases;
}

Result<std::unique_ptr<DirectMlSource>> DirectMlSource::open(const std::filesystem::path& path) {
  Result<std::vector<Case>> loaded = load(path);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  std::vector<Case> cases = std::move(*loaded);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].provenance = {path.filename().string(), 0, i};
  return std::unique_ptr<DirectMlSource>(new DirectMlSource("dml:" + path.string(), std::move(cases)));
}

Result<std::optional<Case>> DirectMlSource::next() {
  if (next_case_ == cases_.size()) return std::optional<Case>();
  return std::move(cases_[next_case_++]);
}

}  // namespace qconform
